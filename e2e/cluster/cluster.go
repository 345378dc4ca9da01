//go:build e2e

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"kafka_connection_exporter/e2e/freeport"
	"kafka_connection_exporter/e2e/pki"
	"kafka_connection_exporter/e2e/proc"
)

// KeepEnv names the environment variable that keeps the logs of a run that passed.
const KeepEnv = "KAFKA_E2E_KEEP"

// Cluster is a set of brokers on loopback.
type Cluster struct {
	// ID is the cluster id.
	ID string
	// Brokers are in the order of their ids, which start at 1.
	Brokers []*Broker
	// CA signs the certificates of the listeners, and those of clients.
	CA *pki.CA
	// CAFile is the certificate of CA.
	CAFile string
	// Dir holds configuration, data and logs.
	Dir string

	opts          Options
	java          string
	classpath     string
	zookeeperAddr string
	zookeeper     *proc.Process
}

// Start opens a cluster for one test: it is up when Start returns and gone when the test ends. Logs stay if the test failed.
func Start(t testing.TB, opts Options) *Cluster {
	t.Helper()
	Need(t, opts.Version)
	c, err := Open(opts)
	check(t, err)
	t.Cleanup(func() {
		if kept := c.Close(t.Failed()); kept != "" {
			t.Logf("logs of Kafka %s: %s", opts.Version, kept)
		}
	})
	return c
}

// starting lets one cluster start at a time: they are up sooner than side by side, and what runs already is not slowed as much.
var starting = make(chan struct{}, 1)

// Open is Start for a cluster that outlives one test. The caller closes it.
func Open(opts Options) (*Cluster, error) {
	opts, err := opts.filled()
	if err != nil {
		return nil, err
	}
	c := &Cluster{opts: opts, CA: opts.CA}
	if c.java, err = findJava(); err != nil {
		return nil, err
	}
	dir, err := jars(opts.Version)
	if err != nil {
		return nil, err
	}
	c.classpath = filepath.Join(dir, "*")
	starting <- struct{}{}
	defer func() { <-starting }()
	if err := c.open(); err != nil {
		return nil, fmt.Errorf("start Kafka %s: %w\nlogs: %s", opts.Version, err, c.Close(true))
	}
	return c, nil
}

// Version is the version of Kafka.
func (c *Cluster) Version() string { return c.opts.Version }

// Broker returns the broker with the id.
func (c *Cluster) Broker(id int) *Broker { return c.Brokers[id-1] }

// Addrs are the addresses where the brokers listen, in the order of their ids.
func (c *Cluster) Addrs(listener string) []string {
	addrs := make([]string, len(c.Brokers))
	for i, b := range c.Brokers {
		addrs[i] = b.Addr(listener)
	}
	return addrs
}

// IDs are the ids of all brokers.
func (c *Cluster) IDs() []int {
	ids := make([]int, len(c.Brokers))
	for i, b := range c.Brokers {
		ids[i] = b.ID
	}
	return ids
}

// Heal brings the cluster back to health after whatever a test did: stopped brokers go on, dead ones are launched, all together, and
// every broker names all of them when it returns.
func (c *Cluster) Heal() error {
	for _, b := range c.Brokers {
		switch {
		case !b.Running():
			if err := b.launch(); err != nil {
				return err
			}
		case b.paused:
			b.paused = false
			if err := b.proc.Signal(syscall.SIGCONT); err != nil {
				return err
			}
		}
	}
	deadline := time.Now().Add(startTimeout)
	for _, b := range c.Brokers {
		if err := b.await(deadline, c.IDs()); err != nil {
			return err
		}
	}
	return nil
}

// Close kills every process. It removes Dir, or if keepLogs is set only the data in it, and then returns its path.
func (c *Cluster) Close(keepLogs bool) string {
	for _, b := range c.Brokers {
		if b.proc != nil {
			_ = b.proc.Kill()
		}
	}
	if c.zookeeper != nil {
		_ = c.zookeeper.Kill()
	}
	if !keepLogs && os.Getenv(KeepEnv) == "" {
		_ = os.RemoveAll(c.Dir)
		return ""
	}
	for _, b := range c.Brokers {
		_ = os.RemoveAll(b.dataDir())
	}
	_ = os.RemoveAll(filepath.Join(c.Dir, "zookeeper"))
	return c.Dir
}

func (c *Cluster) open() (err error) {
	if c.Dir, err = os.MkdirTemp("", "kafka-"+c.opts.Version+"-"); err != nil {
		return err
	}
	if err := c.layOut(); err != nil {
		return err
	}
	if c.opts.Version == V23 {
		if err := c.startZooKeeper(); err != nil {
			return err
		}
	}
	for _, b := range c.Brokers {
		p, err := c.brokerProperties(b)
		if err == nil {
			err = p.write(b.configFile())
		}
		if err != nil {
			return err
		}
	}
	if c.opts.Version != V23 {
		if err := c.format(); err != nil {
			return err
		}
	}
	if err := c.Heal(); err != nil {
		return err
	}
	return c.learnID()
}

// layOut gives every broker its folder and its ports, and the cluster its CA.
func (c *Cluster) layOut() error {
	for id := range c.opts.Brokers {
		b := &Broker{ID: id + 1, cluster: c, ports: map[string]int{}, names: map[string]string{}}
		b.dir = filepath.Join(c.Dir, fmt.Sprintf("broker-%d", b.ID))
		if err := os.Mkdir(b.dir, 0o755); err != nil {
			return err
		}
		ports, err := freeport.PickN(len(c.opts.Listeners) + 1)
		if err != nil {
			return err
		}
		b.ports[controllerListener] = ports[0]
		for i, l := range c.opts.Listeners {
			b.ports[l.Name] = ports[i+1]
			if l.Advertise != nil {
				b.names[l.Name] = l.Advertise(b.ID, ports[i+1])
			}
		}
		c.Brokers = append(c.Brokers, b)
	}
	var err error
	if c.CA == nil {
		c.CA, err = pki.NewCA("e2e")
	}
	c.CAFile = filepath.Join(c.Dir, "ca.pem")
	return errors.Join(err, os.WriteFile(c.CAFile, c.CA.PEM, 0o644))
}

// javaArgs are the arguments of a small JVM that starts fast.
func (c *Cluster) javaArgs(class string, args ...string) []string {
	flags := []string{
		"-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xshare:auto",
		"-Djava.io.tmpdir=" + c.Dir,
		"-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
	}
	if c.opts.OAuth != nil {
		flags = append(flags, "-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=file://"+c.opts.OAuth.JWKSFile)
	}
	if c.opts.KDC != nil {
		flags = append(flags, "-Djava.security.krb5.conf="+c.opts.KDC.ConfigFile)
	}
	return slices.Concat(flags, []string{"-cp", c.classpath, class}, args)
}
