//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"kafka_connection_exporter/e2e/cluster"
	"kafka_connection_exporter/e2e/exporter"
	"kafka_connection_exporter/e2e/gateway"
	"kafka_connection_exporter/e2e/proxy"
)

// checkLimit is far beyond what any check may take.
const checkLimit = time.Minute

// commandCheck runs the command on the seeds and returns its status and what it wrote. Nothing may be on stderr, which is no terminal.
func commandCheck(t *testing.T, a access, seeds []string, more ...string) (code int, text string) {
	t.Helper()
	path, err := exporter.Binary()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), checkLimit)
	defer cancel()
	args := slices.Concat([]string{"check"}, a.flags, more)
	for _, seed := range seeds {
		args = append(args, "--kafka.seed="+seed)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = slices.Concat(os.Environ(), []string{"LC_ALL=C.UTF-8", "GORACE=atexit_sleep_ms=100"}, a.env)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if stderr.Len() > 0 || strings.ContainsRune(stdout.String(), '\x1b') {
		t.Errorf("on stderr, or in colours:\n%s%s", stderr.String(), stdout.String())
	}
	for _, secret := range a.secrets {
		if strings.Contains(stdout.String(), secret) {
			t.Errorf("a secret is shown:\n%s", stdout.String())
		}
	}
	return cmd.ProcessState.ExitCode(), stdout.String()
}

// verdict is what a test reads of the JSON.
type verdict struct {
	Status   string
	Clusters []struct {
		ClusterID string `json:"cluster_id"`
		Seeds     []checkedTarget
		Brokers   []checkedTarget
		Views     struct {
			DescribeCluster string `json:"describe_cluster"`
		}
	}
}

type checkedTarget struct {
	State    string
	Fenced   bool
	Identity string
	Like     string `json:"like_kafka"`
	Failure  *struct{ Phase, Reason string }
}

// brokers writes one word for each broker, "well" or "phase/reason".
func (v verdict) brokers() string {
	var all []string
	for _, b := range v.Clusters[0].Brokers {
		word := b.State
		if b.Failure != nil {
			word = b.Failure.Phase + "/" + b.Failure.Reason
		}
		all = append(all, word)
	}
	return strings.Join(all, " ")
}

// wantCheck runs the command twice, for text and for JSON, and wants the brokers' words, parts of the text, and the status: 0 if all
// brokers are well.
func wantCheck(t *testing.T, a access, seeds []string, brokers string, says ...string) verdict {
	t.Helper()
	code := 1
	if brokers == "well well well" {
		code = 0
	}
	gotCode, text := commandCheck(t, a, seeds)
	t.Logf("status %d\n%s", gotCode, text)
	if gotCode != code {
		t.Errorf("status %d, want %d", gotCode, code)
	}
	oneLine := strings.Join(strings.Fields(text), " ")
	for _, part := range says {
		if !strings.Contains(oneLine, part) {
			t.Errorf("nothing says %q", part)
		}
	}
	gotCode, document := commandCheck(t, a, seeds, "--output=json")
	v := readVerdict(t, document)
	if gotCode != code || v.brokers() != brokers {
		t.Errorf("as JSON: status %d, want %d, brokers %q, want %q", gotCode, code, v.brokers(), brokers)
	}
	return v
}

// readVerdict reads a document that follows the published schema.
func readVerdict(t *testing.T, document string) (v verdict) {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("../docs/check.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(document))
	if err == nil {
		err = schema.Validate(value)
	}
	if err == nil {
		err = json.Unmarshal([]byte(document), &v)
	}
	if err != nil {
		t.Fatalf("%v:\n%s", err, document)
	}
	return v
}

// TestCheckWell: all is well on every version, and the check says which.
func TestCheckWell(t *testing.T) {
	for version, like := range map[string]string{cluster.V44: "4.4", cluster.V39: "3.9", cluster.V23: "2.3"} {
		t.Run(version, func(t *testing.T) {
			c := unbroken(t, version)
			v := wantCheck(t, access{}, c.Addrs("PLAINTEXT"), "well well well", "3 of 3 seeds and 3 of 3 brokers can be reached", "no fault", "like Kafka "+like)
			for _, b := range v.Clusters[0].Brokers {
				if b.Identity != "verified" || b.Like != like {
					t.Errorf("%+v", b)
				}
			}
			if v.Clusters[0].ClusterID != c.ID {
				t.Errorf("cluster %q, want %q", v.Clusters[0].ClusterID, c.ID)
			}
		})
	}
}

// TestCheckKilled: a dead broker is named while it is in the metadata, and afterwards, where the cluster says that it is fenced.
func TestCheckKilled(t *testing.T) {
	c := shared(t, cluster.V44)
	c.Broker(3).Kill(t)
	seeds := c.Addrs("PLAINTEXT")[:2]
	v := wantCheck(t, access{}, seeds, "well well dial/refused", "3 "+c.Broker(3).Addr("PLAINTEXT"), "nothing listens on "+c.Broker(3).Addr("PLAINTEXT"), "Start the broker")
	c.Broker(1).AwaitFenced(t, noticeTimeout, 3)
	if v = wantCheck(t, access{}, seeds, "well well dial/refused", "fenced: it is registered"); !v.Clusters[0].Brokers[2].Fenced {
		t.Errorf("%+v", v)
	}
}

// TestCheckMajorityLost: without a majority of controllers the metadata goes on naming the dead brokers, and only the check's own
// connections know better.
func TestCheckMajorityLost(t *testing.T) {
	c := shared(t, cluster.V44)
	c.Broker(1).Kill(t)
	c.Broker(2).Kill(t)
	wantCheck(t, access{}, c.Addrs("PLAINTEXT"), "dial/refused dial/refused well", "1 of 3 seeds and 1 of 3 brokers can be reached", "brokers 1, 2")
	if err := c.Heal(); err != nil {
		t.Error(err)
	}
}

// TestCheckStopped: a broker that hangs is silent for the time of one connection, and no longer.
func TestCheckStopped(t *testing.T) {
	c := shared(t, cluster.V44)
	c.Broker(3).Pause(t)
	t.Cleanup(func() { c.Broker(3).Resume(t) })
	wantCheck(t, access{flags: []string{"--connect.timeout=2s"}}, c.Addrs("PLAINTEXT")[:1], "well well api_versions/timeout", "api_versions/timeout:")
}

// TestCheckPassword: one wrong password over three brokers is one attempt, counted in the brokers' logs.
func TestCheckPassword(t *testing.T) {
	s := beside(t, cluster.V44)
	seeds := s.seeds(typing)
	wantCheck(t, password(t, cluster.Plain, userName, userPassword), seeds, "well well well", "sasl ")
	before := rejections(s, typing)
	code, text := commandCheck(t, password(t, cluster.Plain, userName, "wrong-donkey-91Cd"), seeds)
	t.Logf("status %d\n%s", code, text)
	oneLine := strings.Join(strings.Fields(text), " ")
	for _, part := range []string{"sasl/credentials_rejected:", "not tried, the credentials were rejected at seed localhost:", "0 of 3 seeds can be reached · 1 fault"} {
		if code != 1 || !strings.Contains(oneLine, part) {
			t.Errorf("status %d, and nothing says %q", code, part)
		}
	}
	eventually(t, settleTimeout, func() error {
		if n := rejections(s, typing) - before; n != 1 {
			return fmt.Errorf("the brokers have logged %d rejections, want 1", n)
		}
		return nil
	})
}

// TestCheckTLS: what is wrong with a certificate is said with what is to be done about it.
func TestCheckTLS(t *testing.T) {
	s := beside(t, cluster.V44)
	for _, tc := range []struct {
		listener string
		a        access
		brokers  string
		says     []string
	}{
		{sslOnly, trusting(s.Cluster), "well well well", []string{"TLS 1.3", "certificate until"}},
		{expired, trusting(s.Cluster), "", []string{"tls/certificate_expired: its certificate, issued by CN=e2e, has ended", "CN=old", "Renew the certificate"}},
		{foreignTLS, trusting(s.Cluster), "", []string{"tls/certificate_untrusted: the chain ends at", "somebody else", "--tls.ca-file"}},
		{wrongName, trusting(s.Cluster), "", []string{"tls/certificate_name_mismatch:", "is for b.test, and not for", "--tls.server-name-override"}},
		{mutualTLS, trusting(s.Cluster), "", []string{"tls/client_certificate_rejected:", "--tls.cert-file"}},
		{sslOnly, access{}, "", []string{"seeds localhost:", "Compare the listener's protocol", "--tls"}},
		{"PLAINTEXT", trusting(s.Cluster), "", []string{"tls/peer_is_plaintext:", "Leave --tls out"}},
	} {
		t.Run(tc.listener, func(t *testing.T) {
			seeds := s.seeds(tc.listener)
			if tc.listener == "PLAINTEXT" {
				seeds = s.Addrs(tc.listener)
			}
			if len(tc.a.flags) == 0 { // Kafka hangs up on a client without TLS, or answers by an alert
				tc.says = []string{"api_versions/"}
			}
			wantCheck(t, tc.a, seeds, tc.brokers, tc.says...)
		})
	}
}

// TestCheckAdvertised: the way in works, and what a broker advertises does not.
func TestCheckAdvertised(t *testing.T) {
	c := unbroken(t, cluster.V44)
	wantCheck(t, access{}, c.Addrs(badName), "well resolve/dns_not_found well", "the cluster advertises "+unresolvable+", and this name does not resolve here")
	wantCheck(t, access{}, c.Addrs(badPort), "well dial/refused well", "nothing listens on "+c.Broker(2).Advertised(badPort))
}

// TestCheckMisrouted: two brokers have changed places, on every version.
func TestCheckMisrouted(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			c, proxies := proxiedCluster(t, version)
			proxy.Swap(proxies[0], proxies[1])
			wantCheck(t, access{}, c.Addrs(proxied), "identity/misrouted identity/misrouted", "Give every broker its own host or port")
		})
	}
}

// TestCheckGateway: a gateway that rewrites Metadata alone is no fault, and is seen.
func TestCheckGateway(t *testing.T) {
	c := unbroken(t, cluster.V44)
	g := gateway.Start(t, c.Addrs("PLAINTEXT"))
	v := wantCheck(t, access{}, g.Addrs()[:1], "well well well", "DescribeCluster names other addresses", "a gateway in between rewrites Metadata only")
	if v.Clusters[0].Views.DescribeCluster != "differs" {
		t.Errorf("%+v", v)
	}
}

// TestCheckWaits: --wait waits for Kafka that starts.
func TestCheckWaits(t *testing.T) {
	c := shared(t, cluster.V44)
	for _, b := range c.Brokers {
		b.Kill(t)
	}
	if code, text := commandCheck(t, access{}, c.Addrs("PLAINTEXT")); code != 1 {
		t.Errorf("status %d:\n%s", code, text)
	}
	healed := make(chan error, 1)
	go func() { healed <- c.Heal() }()
	code, text := commandCheck(t, access{}, c.Addrs("PLAINTEXT"), "--wait=50s", "--expect-brokers=3")
	t.Logf("status %d\n%s", code, text)
	if code != 0 {
		t.Errorf("status %d", code)
	}
	if err := <-healed; err != nil {
		t.Error(err)
	}
}
