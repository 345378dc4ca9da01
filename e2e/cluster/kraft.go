//go:build e2e

package cluster

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// kraftProperties makes every broker a controller that votes. A broker is fenced 3 s after its last heartbeat.
func (c *Cluster) kraftProperties(b *Broker) properties {
	voters := make([]string, len(c.Brokers))
	for i, v := range c.Brokers {
		voters[i] = fmt.Sprintf("%d@%s", v.ID, v.Addr(controllerListener))
	}
	return properties{
		"node.id":                      strconv.Itoa(b.ID),
		"process.roles":                "broker,controller",
		"controller.quorum.voters":     strings.Join(voters, ","),
		"controller.listener.names":    controllerListener,
		"broker.session.timeout.ms":    "3000",
		"broker.heartbeat.interval.ms": "500",
	}
}

// format prepares the data folders of all brokers, and creates the SCRAM users, in parallel.
func (c *Cluster) format() error {
	c.ID = clusterID()
	errs := make([]error, len(c.Brokers))
	var wg sync.WaitGroup
	for i, b := range c.Brokers {
		wg.Go(func() { errs[i] = c.formatOne(b) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (c *Cluster) formatOne(b *Broker) error {
	args := c.javaArgs("kafka.tools.StorageTool", "format", "-t", c.ID, "-c", b.configFile())
	for _, u := range c.opts.Users {
		for _, mechanism := range []string{SCRAM256, SCRAM512} {
			args = append(args, "--add-scram", fmt.Sprintf("%s=[name=%s,password=%s]", mechanism, u.Name, u.Password))
		}
	}
	cmd := exec.Command(c.java, args...)
	cmd.Dir = b.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("format broker %d: %w\n%s", b.ID, err, out)
	}
	return os.WriteFile(filepath.Join(b.dir, "format.log"), out, 0o644)
}

// clusterID is 16 random bytes in the form that Kafka gives them; a leading dash would be taken for an option.
func clusterID() string {
	var id [16]byte
	for {
		_, _ = rand.Read(id[:])
		if text := base64.RawURLEncoding.EncodeToString(id[:]); text[0] != '-' {
			return text
		}
	}
}
