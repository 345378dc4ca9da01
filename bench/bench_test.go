package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"kafka_connection_exporter/app"
	"kafka_connection_exporter/seeds"
)

// TestMain lets the test program be the fake cluster, as the bench is by its flag.
func TestMain(m *testing.M) {
	var n, dead, clusters int
	if _, err := fmt.Sscanf(strings.Join(os.Args[1:], " "), "-fake=%d -dead=%d -clusters=%d", &n, &dead, &clusters); err == nil {
		serveFakes(n, dead, clusters)
		return
	}
	os.Exit(m.Run())
}

// TestScenarios runs every scenario with next to nothing to do.
func TestScenarios(t *testing.T) {
	tiny := plan{
		runs: 1, limit: 2 * time.Second, seeds: []int{0, 1}, sizes: []int{4}, scrapes: 3,
		settle: time.Millisecond, window: 50 * time.Millisecond, rounds: 3, idle: 200 * time.Millisecond, faults: 1,
	}
	s := newStage()
	defer s.close()
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			var out bytes.Buffer
			sc.run(s, tiny, &out)
			text := out.String()
			if !strings.HasPrefix(text, "\n## ") || strings.Count(text, "\n| ") < 3 || strings.Contains(text, "NaN") {
				t.Errorf("no report:\n%s", text)
			}
			t.Log(text)
		})
	}
}

// TestDefaults compares the manager that is measured with the exporter's flags.
func TestDefaults(t *testing.T) {
	var help bytes.Buffer
	if code := app.Run(t.Context(), []string{"--help"}, &help, io.Discard); code != 0 {
		t.Fatalf("status %d", code)
	}
	cfg := defaults(seeds.List{}, nil)
	for flag, value := range map[string]any{
		"metadata.refresh-interval": cfg.RefreshInterval, "metadata.hedge-delay": cfg.HedgeDelay, "metadata.give-up-after": cfg.GiveUpAfter,
		"connect.timeout": cfg.Dialer.Timeout, "connect.attempt-delay": cfg.Dialer.AttemptDelay, "connect.rate": cfg.ConnectRate,
		"backoff.base": cfg.BackoffBase, "backoff.max": cfg.BackoffMax, "check.interval": cfg.CheckInterval, "check.timeout": cfg.CheckTimeout,
		"handshake.interval": cfg.HandshakeInterval, "seed.check-interval": cfg.SeedCheckInterval, "sasl.retry-interval": cfg.SASLRetryInterval,
		"broker.retention": cfg.Retention,
	} {
		_, rest, found := strings.Cut(help.String(), "--"+flag+"=")
		text, _, _ := strings.Cut(strings.ReplaceAll(rest, "\n", " "), " ")
		want := value
		if d, err := time.ParseDuration(text); err == nil {
			if d != value {
				t.Errorf("--%s is %v by default, here it is %v", flag, d, want)
			}
		} else if text != fmt.Sprint(want) || !found {
			t.Errorf("--%s is %q by default, here it is %v", flag, text, want)
		}
	}
}

// TestFakeIsUnderstood: the fake cluster says the same in every version that a client may choose.
func TestFakeIsUnderstood(t *testing.T) {
	s := newStage()
	defer s.close()
	addr := oneBroker(s)
	for _, c := range clients {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		stop, err := c.bootstrap(ctx, []string{addr})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		stop()
		cancel()
	}
}

func TestFigures(t *testing.T) {
	f := figures{5, 1, 4, 2, 3}
	if got := []time.Duration{f.at(0), f.median(), f.at(0.95), f.at(1)}; !reflect.DeepEqual(got, []time.Duration{1, 3, 5, 5}) {
		t.Errorf("quantiles %v", got)
	}
	for d, want := range map[time.Duration]string{1234567: "1.23ms", 12 * time.Nanosecond: "12ns", 1234567890: "1.23s", 61 * time.Second: "1m1s"} {
		if got := short(d); got != want {
			t.Errorf("%d is written %s, want %s", d, got, want)
		}
	}
}
