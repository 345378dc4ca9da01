//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// volume is a folder with the TLS files of an exporter, which are replaced as administrators and as Kubernetes do it.
type volume struct {
	dir     string
	first   map[string]string // what the files held at first
	current map[string]string
	number  int
}

// newVolume holds the cluster's CA and a client certificate of it.
func newVolume(t *testing.T, s *security) *volume {
	t.Helper()
	v := &volume{dir: t.TempDir(), first: pairFiles(t, s.CA)}
	v.first["ca.pem"] = string(s.CA.PEM)
	v.current = maps.Clone(v.first)
	v.rename(t, v.first)
	return v
}

func (v *volume) path(name string) string { return filepath.Join(v.dir, name) }

// rename writes new files beside the old ones and moves them over.
func (v *volume) rename(t *testing.T, files map[string]string) {
	t.Helper()
	for name, content := range files {
		v.current[name] = content
		write(t, v.path(name+".new"), content)
		v.must(t, os.Rename(v.path(name+".new"), v.path(name)))
	}
}

// link makes the files symbolic links into the folder ..data, itself a link to a folder of a version, and swaps that one link, so that
// all files change at once.
func (v *volume) link(t *testing.T, files map[string]string) {
	t.Helper()
	maps.Copy(v.current, files)
	v.number++
	version := fmt.Sprintf("..version-%d", v.number)
	v.must(t, os.Mkdir(v.path(version), 0o755))
	for name, content := range v.current {
		write(t, v.path(filepath.Join(version, name)), content)
	}
	v.must(t, os.Symlink(version, v.path("..tmp")))
	v.must(t, os.Rename(v.path("..tmp"), v.path("..data")))
	if v.number > 1 {
		return
	}
	for name := range v.current {
		v.must(t, os.Remove(v.path(name)))
		v.must(t, os.Symlink(filepath.Join("..data", name), v.path(name)))
	}
}

func (v *volume) must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
