//go:build e2e

package cluster

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// kraftProperties makes every broker a controller that votes. A broker is fenced 5 s after its last heartbeat.
func (c *Cluster) kraftProperties(b *Broker) properties {
	voters := make([]string, len(c.Brokers))
	for i, v := range c.Brokers {
		voters[i] = fmt.Sprintf("%d@%s", v.ID, v.Addr(controllerListener))
	}
	return properties{
		"node.id":                       strconv.Itoa(b.ID),
		"process.roles":                 "broker,controller",
		"controller.quorum.voters":      strings.Join(voters, ","),
		"controller.listener.names":     controllerListener,
		"broker.session.timeout.ms":     "5000",
		"broker.heartbeat.interval.ms":  "1000",
		"metadata.max.idle.interval.ms": "5000", // else an idle cluster writes twice a second
	}
}

// format prepares the data folders of all brokers, and creates the SCRAM users. Kafka's tool takes a second of processor time, so it does the
// first broker's; those of the others differ in two ids.
func (c *Cluster) format() error {
	c.ID = clusterID()
	first := c.Brokers[0]
	if err := c.formatOne(first); err != nil {
		return err
	}
	for _, b := range c.Brokers[1:] {
		if err := os.CopyFS(b.dataDir(), os.DirFS(first.dataDir())); err != nil {
			return fmt.Errorf("format broker %d: %w", b.ID, err)
		}
		file := filepath.Join(b.dataDir(), "meta.properties")
		meta, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("format broker %d: %w", b.ID, err)
		}
		meta = nodeID.ReplaceAll(meta, fmt.Appendf(nil, "node.id=%d", b.ID))
		meta = directoryID.ReplaceAll(meta, []byte("directory.id="+clusterID()))
		if err := os.WriteFile(file, meta, 0o644); err != nil {
			return fmt.Errorf("format broker %d: %w", b.ID, err)
		}
	}
	return nil
}

var (
	nodeID      = regexp.MustCompile(`(?m)^node\.id=.*$`)
	directoryID = regexp.MustCompile(`(?m)^directory\.id=.*$`)
)

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
