package security

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// maxFile is far above the size of any certificate bundle, keytab or token.
const maxFile = 16 << 20

// readFile returns the content of a regular file, so that a directory, a pipe or an endless device is an error and not a
// hang. The error names the path; the content is never empty.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path) // first, as to open a pipe waits for who writes to it
	if err != nil {
		return nil, plainPathError(path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, plainPathError(path, err)
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		return nil, plainPathError(path, err)
	case len(content) == 0:
		return nil, fmt.Errorf("%s is empty", path)
	case len(content) > maxFile:
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return content, nil
}

// plainPathError says "path: cause", without the name of a system call.
func plainPathError(path string, err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// version tells whether a file was replaced or rewritten, without reading it.
func version(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return path + " unreadable"
	}
	return fmt.Sprintf("%s %d %d %d", path, info.ModTime().UnixNano(), info.Size(), inode(info))
}

func versions(paths []string) string {
	all := make([]string, len(paths))
	for i, path := range paths {
		all[i] = version(path)
	}
	return strings.Join(all, "\n")
}
