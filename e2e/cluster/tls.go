//go:build e2e

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"kafka_connection_exporter/e2e/pki"
)

// issue makes the certificate of one listener of one broker.
func (c *Cluster) issue(b *Broker, l Listener) error {
	leaf := pki.Leaf{CommonName: fmt.Sprintf("broker-%d", b.ID), Hosts: []string{"localhost", "127.0.0.1"}}
	if l.Leaf != nil {
		leaf = *l.Leaf
	}
	ca := c.CA
	if l.CA != nil {
		ca = l.CA
	}
	pair, err := ca.Issue(leaf)
	if err != nil {
		return err
	}
	return writePair(b.keystore(l.Name), pair)
}

// ClientPair writes a client certificate of the cluster's CA to two files that live as long as the test.
func (c *Cluster) ClientPair(t testing.TB, leaf pki.Leaf) (certFile, keyFile string) {
	t.Helper()
	pair, err := c.CA.Issue(leaf)
	check(t, err)
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "client.pem"), filepath.Join(dir, "client.key")
	check(t, os.WriteFile(certFile, pair.Cert, 0o644))
	check(t, os.WriteFile(keyFile, pair.Key, 0o600))
	return certFile, keyFile
}
