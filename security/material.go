package security

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
)

// File is a kind of TLS file.
type File uint8

// The kinds.
const (
	FileCA File = iota
	FileCert
	FileKey
)

const numFiles = int(FileKey) + 1

// String returns the name that metrics and logs use.
func (f File) String() string { return [numFiles]string{"ca", "cert", "key"}[f] }

// FileStatus is how loading a file went.
type FileStatus struct {
	File    File
	Path    string // empty: not configured
	Errors  uint64 // loads that failed
	Failure string // of the last load; empty: it succeeded. While there is one, what was loaded before is in use.
}

// material is what was loaded from the files, together with the content it was made of. It never changes.
type material struct {
	rawCA, rawCert, rawKey []byte
	roots                  *x509.CertPool
	pair                   *tls.Certificate
	failures               [numFiles]string
}

// Status returns the status of all kinds of files, in their order.
func (t *TLS) Status() []FileStatus {
	m := t.current.Load()
	all := make([]FileStatus, numFiles)
	for i := range all {
		all[i] = t.status(File(i), m)
	}
	return all
}

func (t *TLS) status(f File, m *material) FileStatus {
	path := [numFiles]string{t.options.CAFile, t.options.CertFile, t.options.KeyFile}[f]
	return FileStatus{File: f, Path: path, Errors: t.errors[f].Load(), Failure: m.failures[f]}
}

// load reads the files and returns what is to be used now. Several goroutines may do so at the same time; the one whose
// findings are stored reports them.
func (t *TLS) load() *material {
	old := t.current.Load()
	m := *old
	m.failures = [numFiles]string{}
	t.loadRoots(&m)
	t.loadPair(&m)
	for i, failure := range m.failures {
		if failure != "" {
			t.errors[i].Add(1)
		}
	}
	if m.same(old) {
		return old
	}
	if t.current.CompareAndSwap(old, &m) && t.options.OnChange != nil {
		for i := range m.failures {
			if m.failures[i] != old.failures[i] {
				t.options.OnChange(t.status(File(i), &m))
			}
		}
	}
	return &m
}

func (m *material) same(old *material) bool {
	return m.failures == old.failures && m.roots == old.roots && m.pair == old.pair
}

func (t *TLS) loadRoots(m *material) {
	if t.options.CAFile == "" {
		return
	}
	raw, err := readFile(t.options.CAFile)
	if err != nil {
		m.failures[FileCA] = err.Error()
		return
	}
	if bytes.Equal(raw, m.rawCA) {
		return
	}
	roots, err := parseRoots(raw)
	if err != nil {
		m.failures[FileCA] = t.options.CAFile + " " + err.Error()
		return
	}
	m.rawCA, m.roots = raw, roots
}

// loadPair takes over a certificate and its key together or not at all.
func (t *TLS) loadPair(m *material) {
	if t.options.CertFile == "" {
		return
	}
	cert, certErr := readFile(t.options.CertFile)
	if certErr != nil {
		m.failures[FileCert] = certErr.Error()
	}
	key, keyErr := readFile(t.options.KeyFile)
	if keyErr != nil {
		m.failures[FileKey] = keyErr.Error()
	}
	if certErr != nil || keyErr != nil || bytes.Equal(cert, m.rawCert) && bytes.Equal(key, m.rawKey) {
		return
	}
	pair, file, err := parsePair(cert, key)
	if err != nil {
		path := [numFiles]string{FileCert: t.options.CertFile, FileKey: t.options.KeyFile}[file]
		m.failures[file] = path + " " + err.Error()
		return
	}
	m.rawCert, m.rawKey, m.pair = cert, key, pair
}
