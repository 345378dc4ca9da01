package need

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// recorder is a test that remembers how it ended.
type recorder struct {
	testing.TB
	said string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Skip(args ...any)          { r.end("skip: " + fmt.Sprint(args...)) }
func (r *recorder) Fatalf(f string, a ...any) { r.end("fatal: " + fmt.Sprintf(f, a...)) }

// end leaves the function under test, as the real ones do.
func (r *recorder) end(said string) {
	r.said = said
	panic(r)
}

func ask(t *testing.T, commands ...string) (said string) {
	r := &recorder{TB: t}
	defer func() {
		if got := recover(); got != nil && got != r {
			panic(got)
		}
		said = r.said
	}()
	Tool(r, commands...)
	return ""
}

// TestTool: a missing command leaves a test out, and is an error in CI; one beyond PATH is found.
func TestTool(t *testing.T) {
	here, there := t.TempDir(), t.TempDir()
	t.Setenv("PATH", here)
	defer func(old []string) { beyond = old }(beyond)
	beyond = []string{there}
	for _, path := range []string{filepath.Join(here, "java"), filepath.Join(there, "krb5kdc")} {
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		ci   string
		ask  []string
		want string
	}{
		{"", []string{"java", "krb5kdc"}, ""},
		{"true", []string{"java", "krb5kdc"}, ""},
		{"", []string{"java", "mvn", "kadmin.local"}, "skip: left out, this machine lacks mvn, kadmin.local"},
		{"false", []string{"mvn"}, "skip: left out, this machine lacks mvn"},
		{"true", []string{"mvn", "kadmin.local"}, "fatal: CI=true, and mvn, kadmin.local is missing (Debian: apt-get install -y krb5-admin-server maven)"},
		{"", []string{"emacs"}, "fatal: emacs is in no row of the table of e2e/need"},
	} {
		t.Setenv("CI", tc.ci)
		if got := ask(t, tc.ask...); got != tc.want {
			t.Errorf("CI=%s, %v: %q, want %q", tc.ci, tc.ask, got, tc.want)
		}
	}
	if got := Path(t, "krb5kdc"); got != filepath.Join(there, "krb5kdc") {
		t.Errorf("krb5kdc is at %s", got)
	}
}

// TestLacking: without any PATH all is lacking, but for what is beyond it.
func TestLacking(t *testing.T) {
	there := t.TempDir()
	t.Setenv("PATH", "")
	defer func(old []string) { beyond = old }(beyond)
	beyond = []string{there}
	if err := os.WriteFile(filepath.Join(there, "krb5kdc"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if all := Lacking(); len(all) != len(packages)-1 || slices.Contains(all, "krb5kdc") {
		t.Errorf("of %d commands it lacks %v", len(packages), all)
	}
}

// TestMissing: what Tool says can be read again.
func TestMissing(t *testing.T) {
	if got := Missing("    x_test.go:7: " + marker + "mvn, kcat\n"); !slices.Equal(got, []string{"mvn", "kcat"}) {
		t.Errorf("missing: %v", got)
	}
	if got := Missing("    x_test.go:7: too slow today\n"); got != nil {
		t.Errorf("missing: %v, want none", got)
	}
}
