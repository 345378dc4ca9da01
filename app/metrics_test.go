package app

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// scrapeAs scrapes with the headers and returns the answer's content type and its families.
func (p *process) scrapeAs(path, accept, encoding string) (contentType string, body []byte) {
	p.t.Helper()
	req, err := http.NewRequest(http.MethodGet, p.url+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("Accept-Encoding", encoding)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	reader := io.Reader(resp.Body)
	if got := resp.Header.Get("Content-Encoding"); got != strings.TrimSuffix(encoding, "identity") {
		p.t.Errorf("%s %s: Content-Encoding is %q", accept, encoding, got)
	} else if got == "gzip" {
		if reader, err = gzip.NewReader(resp.Body); err != nil {
			p.t.Fatal(err)
		}
	}
	if body, err = io.ReadAll(reader); err != nil || resp.StatusCode != http.StatusOK {
		p.t.Fatalf("%s %s: status %d, %v", accept, encoding, resp.StatusCode, err)
	}
	return resp.Header.Get("Content-Type"), body
}

// names returns the names of the families of an answer, sorted.
func names(t *testing.T, contentType string, body []byte) []string {
	t.Helper()
	header := http.Header{"Content-Type": {contentType}}
	decoder := expfmt.NewDecoder(bytes.NewReader(body), expfmt.ResponseFormat(header))
	var all []string
	for {
		var f dto.MetricFamily
		err := decoder.Decode(&f)
		if err == io.EOF {
			slices.Sort(all)
			return all
		}
		if err != nil {
			t.Fatalf("%s: %v\n%s", contentType, err, body)
		}
		all = append(all, f.GetName())
	}
}

const (
	askText        = "text/plain;version=0.0.4"
	askOpenMetrics = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
	askProtobuf    = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,text/plain;q=0.3"
)

// TestEveryFormatHasEverything: the text, which is ours, and protobuf, which is the library's, name the same families, with
// and without compression.
func TestEveryFormatHasEverything(t *testing.T) {
	c := newCluster(t, 2)
	p := start(t, "--kafka.seed="+c.addrs[0], "--handshake.interval=0s")
	p.wait(`kafka_connection_broker_reachable{broker_id="1",kafka_cluster=""} 1`)
	contentType, body := p.scrapeAs("/metrics", askProtobuf, "identity")
	want := names(t, contentType, body)
	if !strings.HasPrefix(contentType, "application/vnd.google.protobuf") || len(want) < 60 {
		t.Fatalf("%s: %d families", contentType, len(want))
	}
	for _, encoding := range []string{"identity", "gzip"} {
		contentType, body := p.scrapeAs("/metrics", askText, encoding)
		if got := names(t, contentType, body); !slices.Equal(got, want) {
			t.Errorf("%s %s: %q, want %q", contentType, encoding, got, want)
		}
		contentType, body = p.scrapeAs("/metrics", askOpenMetrics, encoding)
		if !strings.HasPrefix(contentType, "application/openmetrics-text; version=1.0.0") || !bytes.HasSuffix(body, []byte("\n# EOF\n")) {
			t.Errorf("%s %s ends with %q", contentType, encoding, body[max(0, len(body)-40):])
		}
		if n := bytes.Count(body, []byte("# TYPE ")); n != len(want) {
			t.Errorf("%s %s: %d families, want %d", contentType, encoding, n, len(want))
		}
	}
}

// TestChoiceOfFamilies: name[] is the library's.
func TestChoiceOfFamilies(t *testing.T) {
	c := newCluster(t, 1)
	p := start(t, "--kafka.seed="+c.addrs[0])
	p.wait(`kafka_connection_up{kafka_cluster=""} 1`)
	contentType, body := p.scrapeAs("/metrics?name[]=kafka_connection_up&name[]=go_goroutines", askText, "identity")
	if got := names(t, contentType, body); !slices.Equal(got, []string{"go_goroutines", "kafka_connection_up"}) {
		t.Errorf("%q", got)
	}
}

// TestOpenMetricsNamesOnce: in OpenMetrics a counter's family is called without _total, so that no other family may be called so.
func TestOpenMetricsNamesOnce(t *testing.T) {
	p := start(t, "--kafka.seed=127.0.0.1:1")
	for _, path := range []string{"/metrics", "/metrics?name[]=go_memstats_alloc_bytes&name[]=go_memstats_alloc_bytes_total"} {
		_, body := p.scrapeAs(path, askOpenMetrics, "identity")
		kinds := make(map[string]string)
		for line := range strings.Lines(string(body)) {
			if f := strings.Fields(line); len(f) == 4 && f[1] == "TYPE" {
				if kinds[f[2]] != "" {
					t.Errorf("%s: %s is a %s and a %s", path, f[2], kinds[f[2]], f[3])
				}
				kinds[f[2]] = f[3]
			}
		}
		for _, sample := range []string{"\ngo_memstats_alloc_bytes ", "\ngo_memstats_alloc_bytes_total "} {
			if !bytes.Contains(body, []byte(sample)) {
				t.Errorf("%s: no sample %q", path, sample)
			}
		}
	}
}
