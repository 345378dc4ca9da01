//go:build e2e

package kerberos

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"kafka_connection_exporter/e2e/freeport"
	"kafka_connection_exporter/e2e/need"
	"kafka_connection_exporter/e2e/proc"
)

// Realm is the realm of every KDC.
const Realm = "E2E.TEST"

// Tools are the commands of MIT Kerberos that a KDC needs.
var Tools = []string{"kdb5_util", "krb5kdc", "kadmin.local"}

// ErrMissing is what Open returns when MIT Kerberos is not installed.
var ErrMissing = errors.New("MIT Kerberos is not installed")

// KDC is a running key distribution centre with a database of its own.
type KDC struct {
	// ConfigFile is the krb5.conf that a client and a broker need.
	ConfigFile string
	dir        string
	port       int
	env        []string
	proc       *proc.Process
	mu         sync.Mutex // one change of the database at a time
}

// Open makes a database in dir and starts a KDC on loopback, TCP only. The caller closes it.
func Open(dir string) (*KDC, error) {
	port, err := freeport.Pick()
	if err != nil {
		return nil, err
	}
	k := &KDC{dir: dir, port: port, ConfigFile: filepath.Join(dir, "krb5.conf")}
	profile := filepath.Join(dir, "kdc.conf")
	k.env = []string{"KRB5_CONFIG=" + k.ConfigFile, "KRB5_KDC_PROFILE=" + profile}
	if err := errors.Join(
		os.WriteFile(k.ConfigFile, []byte(clientConfig(port)), 0o644),
		os.WriteFile(profile, []byte(kdcConfig(dir, port)), 0o600),
	); err != nil {
		return nil, fmt.Errorf("kerberos: %w", err)
	}
	if err := k.run("kdb5_util", "create", "-s", "-r", Realm, "-P", "master"); err != nil {
		return nil, err
	}
	if err := k.Start(); err != nil {
		return nil, err
	}
	return k, nil
}

// Close kills the KDC; Start brings it back.
func (k *KDC) Close() error { return k.proc.Kill() }

// Pause sends SIGSTOP: the kernel still accepts connections, nobody answers.
func (k *KDC) Pause() error { return k.proc.Signal(syscall.SIGSTOP) }

// Resume sends SIGCONT.
func (k *KDC) Resume() error { return k.proc.Signal(syscall.SIGCONT) }

// Keytab adds a principal of Realm (without the @) with a random key and returns the file that holds it.
func (k *KDC) Keytab(principal string) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	file := filepath.Join(k.dir, strings.ReplaceAll(principal, "/", "_")+".keytab")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	if err := k.run("kadmin.local", "-r", Realm, "addprinc", "-randkey", principal); err != nil {
		return "", err
	}
	return file, k.run("kadmin.local", "-r", Realm, "ktadd", "-k", file, principal)
}

// StaleKeytab adds a principal and returns a file with a key that it has no more.
func (k *KDC) StaleKeytab(principal string) (string, error) {
	file, err := k.Keytab(principal)
	if err != nil {
		return "", err
	}
	return file, k.Rekey(principal, file+".new")
}

// Rekey gives a principal another key, which is added to the file alone.
func (k *KDC) Rekey(principal, file string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.run("kadmin.local", "-r", Realm, "ktadd", "-k", file, principal)
}

// Start launches the KDC unless it runs, and returns when it listens.
func (k *KDC) Start() error {
	if k.proc != nil && k.proc.Running() {
		return nil
	}
	path, err := find("krb5kdc")
	if err != nil {
		return err
	}
	k.proc, err = proc.Start(proc.Spec{
		Name: "krb5kdc", Path: path, Args: []string{"-n", "-r", Realm}, Env: k.env, Dir: k.dir,
		Log: filepath.Join(k.dir, "krb5kdc.out"),
	})
	if err != nil {
		return err
	}
	addr := fmt.Sprintf("127.0.0.1:%d", k.port)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if !k.proc.Running() {
			return fmt.Errorf("krb5kdc ended:\n%s", k.proc.Log())
		}
		if c, err := net.Dial("tcp4", addr); err == nil {
			return c.Close()
		}
	}
	return errors.Join(fmt.Errorf("krb5kdc does not listen on %s:\n%s", addr, k.proc.Log()), k.proc.Kill())
}

func (k *KDC) run(tool string, args ...string) error {
	path, err := find(tool)
	if err != nil {
		return err
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), k.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", tool, strings.Join(args, " "), err, out)
	}
	return nil
}

func find(tool string) (string, error) {
	path, found := need.Find(tool)
	if !found {
		return "", fmt.Errorf("%w: no %s", ErrMissing, tool)
	}
	return path, nil
}

func clientConfig(port int) string {
	return fmt.Sprintf(`[libdefaults]
 default_realm = %[1]s
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
[realms]
 %[1]s = {
  kdc = 127.0.0.1:%[2]d
 }
[domain_realm]
 localhost = %[1]s
`, Realm, port)
}

func kdcConfig(dir string, port int) string {
	return fmt.Sprintf(`[kdcdefaults]
 kdc_listen = ""
 kdc_tcp_listen = 127.0.0.1:%[3]d
[realms]
 %[1]s = {
  database_name = %[2]s/principal
  key_stash_file = %[2]s/stash
  acl_file = %[2]s/acl
  max_life = 1h
  max_renewable_life = 1d
  supported_enctypes = aes256-cts-hmac-sha1-96:normal
 }
[logging]
 kdc = FILE:%[2]s/krb5kdc.log
 admin_server = FILE:%[2]s/kadmin.log
`, Realm, dir, port)
}
