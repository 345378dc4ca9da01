package security

import (
	"errors"
	"fmt"
	"strings"
)

// Secret is a password, a token or the like, either the content of a file, which is read whenever the secret is needed,
// or a fixed value. It can be printed without being told; the zero value is not set.
type Secret struct {
	file  string
	value func() string // a function, because fmt prints strings in unexported fields
}

// SecretFile is the content of the file at path without its trailing line break. An empty path is a secret that is not set.
func SecretFile(path string) Secret { return Secret{file: path} }

// SecretValue is value. An empty one is a secret that is not set.
func SecretValue(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{value: func() string { return value }}
}

// IsSet says whether there is a file or a value.
func (s Secret) IsSet() bool { return s.file != "" || s.value != nil }

// String says where the secret comes from.
func (s Secret) String() string {
	switch {
	case s.file != "":
		return "file " + s.file
	case s.value != nil:
		return "(hidden)"
	}
	return "(not set)"
}

// read returns the secret, which is one line that is not empty.
func (s Secret) read() (string, error) {
	if s.file == "" {
		if s.value == nil {
			return "", errors.New("is not set")
		}
		return oneLine("the value from the environment", s.value())
	}
	content, err := readFile(s.file)
	if err != nil {
		return "", err
	}
	return oneLine(s.file, string(content))
}

func oneLine(origin, content string) (string, error) {
	line := strings.TrimRight(content, "\r\n")
	if line == "" {
		return "", fmt.Errorf("%s is empty", origin)
	}
	if strings.ContainsAny(line, "\r\n\x00") {
		return "", fmt.Errorf("%s has more than one line, or a zero byte", origin)
	}
	return line, nil
}

// files returns the file to watch, if there is one.
func (s Secret) files() []string {
	if s.file == "" {
		return nil
	}
	return []string{s.file}
}
