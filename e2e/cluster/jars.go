//go:build e2e

package cluster

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"kafka_connection_exporter/e2e/need"
)

// CacheEnv names the environment variable that moves the folder of the jars.
const CacheEnv = "KAFKA_E2E_CACHE"

//go:embed poms/*.xml
var poms embed.FS

// jars returns the folder that holds the jars of a version, after fetching them if they are not there or were fetched by another pom.
// A folder under its final name is complete: it is filled under another name and renamed.
func jars(version string) (string, error) {
	pom, err := poms.ReadFile("poms/" + version + ".xml")
	if err != nil {
		return "", fmt.Errorf("no pom for Kafka %s in e2e/cluster/poms", version)
	}
	dir := filepath.Join(cacheDir(), version)
	if complete(dir, pom) {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("cache of Kafka jars: %w", err)
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), version+".part-")
	if err != nil {
		return "", fmt.Errorf("cache of Kafka jars: %w", err)
	}
	defer os.RemoveAll(temp)
	if err := fetch(temp, pom); err != nil {
		return "", fmt.Errorf("jars of Kafka %s: %w", version, err)
	}
	_ = os.RemoveAll(dir)
	if err := os.Rename(temp, dir); err != nil && !complete(dir, pom) {
		return "", fmt.Errorf("cache of Kafka jars: %w", err)
	}
	return dir, nil
}

// Need leaves the test out if this machine cannot run a version: without Java, and without Maven if its jars are not there yet.
func Need(t testing.TB, version string) {
	t.Helper()
	tools := []string{"java"}
	if pom, err := poms.ReadFile("poms/" + version + ".xml"); err == nil && !complete(filepath.Join(cacheDir(), version), pom) {
		tools = append(tools, "mvn")
	}
	need.Tool(t, tools...)
}

func fetch(dir string, pom []byte) error {
	maven, found := need.Find("mvn")
	if !found {
		return errors.New("there is no mvn")
	}
	file := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(file, pom, 0o644); err != nil {
		return err
	}
	out, err := exec.Command(maven, "-q", "-B", "-f", file, "dependency:copy-dependencies",
		"-DincludeScope=runtime", "-DoutputDirectory="+dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("mvn: %w\n%s", err, out)
	}
	return nil
}

func complete(dir string, pom []byte) bool {
	used, err := os.ReadFile(filepath.Join(dir, "pom.xml"))
	return err == nil && bytes.Equal(used, pom)
}

func cacheDir() string {
	if dir := os.Getenv(CacheEnv); dir != "" {
		return dir
	}
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", ".cache", "kafka")
}

func findJava() (string, error) {
	java, found := need.Find("java")
	if !found {
		return "", errors.New("there is no java")
	}
	return java, nil
}
