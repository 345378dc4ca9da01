package app

import (
	"fmt"
	"net"
	"path"
	"strings"
)

func wrong(flag string, value any, must string) error {
	return fmt.Errorf("--%s is %v, it must be %s", flag, value, must)
}

func (o *options) badWeb() (all []error) {
	p := o.telemetryPath
	if !strings.HasPrefix(p, "/") || p == "/" || path.Clean(p) != p || strings.HasPrefix(p, "/-/") || strings.ContainsAny(p, " {}?#%") {
		all = append(all, wrong("web.telemetry-path", fmt.Sprintf("%q", p), "a path such as /metrics"))
	}
	if o.systemdSocket() {
		return all
	}
	for _, address := range *o.web.WebListenAddresses {
		if _, _, err := net.SplitHostPort(address); err != nil {
			all = append(all, wrong("web.listen-address", fmt.Sprintf("%q", address), "of the form host:port or :port"))
		}
	}
	return all
}

func (o *options) systemdSocket() bool {
	return o.web.WebSystemdSocket != nil && *o.web.WebSystemdSocket
}
