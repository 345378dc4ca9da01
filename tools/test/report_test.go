package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

const some = `{"Action":"start","Package":"kafka_connection_exporter/wire"}
go: downloading something
{"Action":"run","Package":"kafka_connection_exporter/wire","Test":"TestA"}
{"Action":"run","Package":"kafka_connection_exporter/wire","Test":"TestA/one"}
{"Action":"output","Package":"kafka_connection_exporter/wire","Test":"TestA/one","Output":"fine\n"}
{"Action":"pass","Package":"kafka_connection_exporter/wire","Test":"TestA/one"}
{"Action":"pass","Package":"kafka_connection_exporter/wire","Test":"TestA"}
{"Action":"pass","Package":"kafka_connection_exporter/wire","Elapsed":1.5}
`

const lacking = `{"Action":"run","Package":"kafka_connection_exporter/e2e","Test":"TestB"}
{"Action":"run","Package":"kafka_connection_exporter/e2e","Test":"TestB/ticket"}
{"Action":"output","Package":"kafka_connection_exporter/e2e","Test":"TestB/ticket","Output":"x_test.go:7: left out, this machine lacks kdb5_util, krb5kdc\n"}
{"Action":"skip","Package":"kafka_connection_exporter/e2e","Test":"TestB/ticket"}
{"Action":"pass","Package":"kafka_connection_exporter/e2e","Test":"TestB"}
`

const bad = `{"Action":"run","Package":"kafka_connection_exporter/app","Test":"TestC"}
{"Action":"run","Package":"kafka_connection_exporter/app","Test":"TestC/sub"}
{"Action":"output","Package":"kafka_connection_exporter/app","Test":"TestC/sub","Output":"c_test.go:9: it is 3, want 4\n"}
{"Action":"fail","Package":"kafka_connection_exporter/app","Test":"TestC/sub"}
{"Action":"fail","Package":"kafka_connection_exporter/app","Test":"TestC"}
{"Action":"output","Package":"kafka_connection_exporter/app","Output":"-test.shuffle 17\n"}
{"Action":"fail","Package":"kafka_connection_exporter/app","Elapsed":2}
`

const unbuilt = `{"ImportPath":"kafka_connection_exporter/seeds","Action":"build-output","Output":"seeds/list.go:3: syntax error\n"}
{"ImportPath":"kafka_connection_exporter/seeds","Action":"build-fail"}
{"Action":"fail","Package":"kafka_connection_exporter/seeds","FailedBuild":"kafka_connection_exporter/seeds"}
`

func TestReport(t *testing.T) {
	const installs = "All of it runs after: apt-get install -y kcat krb5-kdc"
	for _, tc := range []struct {
		name, ci, said string
		well           bool
		wants          []string
	}{
		{"all well", "true", some, true, []string{"go: downloading something", "1 passed, 0 failed, 0 skipped"}},
		{"a tool is missing", "", some + lacking, true, []string{"left out without krb5kdc: e2e TestB (1 of its parts)\n", installs, "1 passed, 0 failed, 1 skipped"}},
		{"a tool is missing in CI", "true", some + lacking, false, []string{installs, "CI=true, so nothing may be left out", "1 passed, 0 failed, 1 skipped"}},
		{"a test fails", "", some + bad, false, []string{"app TestC/sub", "it is 3, want 4", "-test.shuffle 17", "1 passed, 1 failed, 0 skipped"}},
		{"one does not build", "", some + unbuilt, false, []string{"seeds/list.go:3: syntax error", "1 passed, 1 failed, 0 skipped"}},
		{"nothing ran", "", "", false, []string{"0 passed, 0 failed, 0 skipped"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("CI", tc.ci)
			var out bytes.Buffer
			r := newReport(&out)
			r.others = func() []string { return []string{"kcat"} }
			r.follow(strings.NewReader(tc.said))
			if well := r.close(time.Second); well != tc.well {
				t.Errorf("all is well: %v, want %v", well, tc.well)
			}
			for _, want := range tc.wants {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%q is missing in:\n%s", want, &out)
				}
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if last := lines[len(lines)-1]; !strings.HasSuffix(last, " skipped") {
				t.Errorf("the last line is %q", last)
			}
		})
	}
}
