package security

import (
	"path/filepath"
	"sync"
	"testing"
)

// TestTLSShared lets many connections load the files while they change.
func TestTLSShared(t *testing.T) {
	ca := newAuthority(t, "ca")
	path := temp(t, "ca.pem", ca.pem)
	s := mustTLS(t, TLSOptions{CAFile: path, OnChange: func(FileStatus) {}})
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				if i == 0 {
					write(t, filepath.Clean(path), []byte("broken"))
					write(t, filepath.Clean(path), ca.pem, ca.pem)
				}
				if _, err := s.Config("a.test"); err != nil {
					t.Error(err)
				}
				s.Status()
			}
		})
	}
	wg.Wait()
}
