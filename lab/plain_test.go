package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func plainPath() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("kafka_connection_exporter-lab-%d.test", os.Getpid()))
}

var buildPlain = sync.OnceValue(func() error {
	if out, err := exec.Command("go", "test", "-c", "-race=false", "-o", plainPath(), ".").CombinedOutput(); err != nil {
		return fmt.Errorf("go test -c: %w\n%s", err, out)
	}
	return nil
})

// ranPlain runs the test in a binary without the race detector if this one has it: the detector keeps memory of its own, and
// makes what is done ten thousand times very slow.
func ranPlain(t *testing.T) bool {
	t.Helper()
	if !raceDetector {
		return false
	}
	if err := buildPlain(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(plainPath(), "-test.v", "-test.run=^"+t.Name()+"$", fmt.Sprint("-lab.failures=", *failures)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, " failures in ") {
			t.Log(strings.TrimSpace(line))
		}
	}
	return true
}
