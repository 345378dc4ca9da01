//go:build e2e

package exporter

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"kafka_connection_exporter/e2e/need"
)

// BinaryEnv names the environment variable that makes the tests run another binary than the one they would build.
const BinaryEnv = "KAFKA_E2E_EXPORTER"

var (
	buildDir string
	built    = sync.OnceValues(build)
)

// Binary is the path of the exporter under test, built once per run, with the race detector where there is gcc, which that needs. The error names what the compiler said.
func Binary() (string, error) { return built() }

// Cleanup removes what Binary built.
func Cleanup() {
	if buildDir != "" {
		_ = os.RemoveAll(buildDir)
	}
}

func build() (string, error) {
	if path := os.Getenv(BinaryEnv); path != "" {
		return filepath.Abs(path)
	}
	var err error
	if buildDir, err = os.MkdirTemp("", "exporter-e2e-"); err != nil {
		return "", err
	}
	path := filepath.Join(buildDir, "kafka_connection_exporter")
	args := []string{"build", "-o", path, "."}
	if _, found := need.Find("gcc"); found {
		args = slices.Insert(args, 1, "-race")
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = root()
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the exporter: %w\n%s", err, out)
	}
	return path, nil
}

// root is the repository, which is two folders above this file.
func root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..")
}
