package config

import (
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
)

// File is what a configuration file and the files that it names stand for.
type File struct {
	Clusters []Cluster // in the order of the files; none where there is a mistake
	Files    []string  // that were read, or could not be read, the first one first
	Hash     float64   // of the content of all files, as Alertmanager makes its config_hash

	at map[string]position // of clusters by name
}

// Load reads the file at path and those that it names. The error joins one *Problem for each thing that is wrong, sorted
// by position. The File is there in any case, and then tells which files to watch and whether they have changed.
func Load(path string) (*File, error) {
	l := newLoader()
	l.file(path, draft{Cluster: builtIn}, nil)
	l.finish()
	f := &File{Files: l.files, Hash: hashValue(l.sum), at: make(map[string]position)}
	if err := l.problems.join(); err != nil {
		return f, err
	}
	for i := range l.drafts {
		f.Clusters = append(f.Clusters, l.drafts[i].Cluster)
		f.at[l.drafts[i].Name] = l.drafts[i].at
	}
	return f, nil
}

func newLoader() *loader {
	return &loader{most: mostClusters, sum: md5.New(), seen: make(map[string]bool), problems: newProblems()}
}

// hashValue is Alertmanager's way to make a metric of a sum: 48 bits, as a float64 has no more than 53.
func hashValue(sum hash.Hash) float64 {
	var bytes [8]byte
	copy(bytes[:], sum.Sum(nil)[:6])
	return float64(binary.LittleEndian.Uint64(bytes[:]))
}

// CheckFiles reads every file that the clusters name, and returns what is wrong with any, one *Problem for each cluster.
func (f *File) CheckFiles() error {
	all := newProblems()
	for i := range f.Clusters {
		c := &f.Clusters[i]
		if err := c.CheckFiles(); err != nil {
			at, known := f.at[c.Name]
			if !known {
				return err // it is that of the flags
			}
			all.add(at, "%s", oneLine(err))
		}
	}
	return all.join()
}

// Blame returns err with the place of the cluster that it is about, or as it is where the cluster is not of a file.
func (f *File) Blame(cluster string, err error) error {
	at, known := f.at[cluster]
	if !known || err == nil {
		return err
	}
	one := newProblems()
	one.add(at, "%s", oneLine(err))
	return one.join()
}

// maxFile is far above 10,000 clusters with everything that can be said about them, and what a file of our own can hold
// without becoming a danger to the memory of the process.
const maxFile = 4 << 20

// readFile returns the content of a regular file. The error is a sentence that does not name the file.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path) // first, as to open a pipe waits for who writes to it
	if err != nil {
		return nil, fmt.Errorf("the file cannot be read: %w", cause(err))
	}
	switch {
	case info.IsDir():
		return nil, errors.New("this is a directory, name a file; several files are named by cluster_files")
	case !info.Mode().IsRegular():
		return nil, errors.New("this is no regular file, name one")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the file cannot be read: %w", cause(err))
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the file cannot be read: %w", cause(err))
	case len(content) > maxFile:
		return nil, errors.New("the file is larger than 4 MiB, share its clusters out over cluster_files")
	}
	return content, nil
}

// cause leaves out the path and the name of the system call.
func cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
