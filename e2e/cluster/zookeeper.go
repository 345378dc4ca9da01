//go:build e2e

package cluster

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"kafka_connection_exporter/e2e/freeport"
	"kafka_connection_exporter/e2e/proc"
)

// zookeeperProperties makes a broker of Kafka 2.3; its session ends 5 s after its last heartbeat.
func (c *Cluster) zookeeperProperties(b *Broker) properties {
	return properties{
		"broker.id":                       strconv.Itoa(b.ID),
		"zookeeper.connect":               c.zookeeperAddr,
		"zookeeper.session.timeout.ms":    "5000",
		"zookeeper.connection.timeout.ms": "20000",
	}
}

func (c *Cluster) startZooKeeper() error {
	port, err := freeport.Pick()
	if err != nil {
		return err
	}
	c.zookeeperAddr = fmt.Sprintf("127.0.0.1:%d", port)
	config := properties{
		"dataDir":                filepath.Join(c.Dir, "zookeeper"),
		"clientPort":             strconv.Itoa(port),
		"clientPortAddress":      "127.0.0.1",
		"tickTime":               "500",
		"maxClientCnxns":         "0",
		"admin.enableServer":     "false",
		"preAllocSize":           "1024",
		"4lw.commands.whitelist": "ruok",
	}
	file := filepath.Join(c.Dir, "zookeeper.properties")
	if err := config.write(file); err != nil {
		return err
	}
	c.zookeeper, err = proc.Start(proc.Spec{
		Name: "ZooKeeper", Path: c.java, Dir: c.Dir, Log: filepath.Join(c.Dir, "zookeeper.log"),
		Args: c.javaArgs("org.apache.zookeeper.server.quorum.QuorumPeerMain", file),
	})
	if err != nil {
		return err
	}
	return c.awaitZooKeeper()
}

func (c *Cluster) awaitZooKeeper() error {
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if !c.zookeeper.Running() {
			break
		}
		if conn, err := net.Dial("tcp4", c.zookeeperAddr); err == nil {
			return conn.Close()
		}
	}
	return fmt.Errorf("ZooKeeper does not listen on %s:\n%s", c.zookeeperAddr, c.zookeeper.Tail(20))
}
