// Package need leaves out the tests whose tools a machine does not have, and keeps the list of what Debian calls them.
package need

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// packages are the Debian packages that bring a command. Every command that a test asks for is here.
var packages = map[string][]string{
	"amtool":                  {"prometheus-alertmanager"},
	"cargo":                   {"cargo"},
	"chromium":                {"chromium"},
	"gcc":                     {"gcc", "libc6-dev"},
	"haproxy":                 {"haproxy"},
	"java":                    {"openjdk-17-jre-headless"},
	"kadmin.local":            {"krb5-admin-server"},
	"kcat":                    {"kcat"},
	"kdb5_util":               {"krb5-kdc"},
	"krb5kdc":                 {"krb5-kdc"},
	"mvn":                     {"maven"},
	"nginx":                   {"nginx-light", "libnginx-mod-stream"},
	"prometheus":              {"prometheus"},
	"prometheus-alertmanager": {"prometheus-alertmanager"},
	"promtool":                {"prometheus"},
	"sh":                      {"dash"},
	"ss":                      {"iproute2"},
	"stunnel":                 {"stunnel4"},
	"stunnel4":                {"stunnel4"},
}

// beyond are folders where Debian and cargo keep commands, and where only some users' PATH leads.
var beyond = []string{"/usr/sbin", "/usr/local/sbin", "/sbin", filepath.Join(os.Getenv("HOME"), ".cargo/bin")}

// marker begins the reason of every test that is left out; Missing finds it again.
const marker = "left out, this machine lacks "

// Tool skips the test if one of the commands is missing. With CI=true it fails it: there everything must run.
func Tool(t testing.TB, commands ...string) {
	t.Helper()
	missing := slices.DeleteFunc(slices.Clone(commands), func(command string) bool {
		if packages[command] == nil {
			t.Fatalf("%s is in no row of the table of e2e/need", command)
		}
		_, found := Find(command)
		return found
	})
	switch {
	case len(missing) == 0:
	case CI():
		t.Fatalf("CI=true, and %s is missing (Debian: %s)", strings.Join(missing, ", "), Install(missing))
	default:
		t.Skip(marker + strings.Join(missing, ", "))
	}
}

// Path is Tool for one command, and returns where it is.
func Path(t testing.TB, command string) string {
	t.Helper()
	Tool(t, command)
	path, _ := Find(command)
	return path
}

// Find looks for a command on PATH, and then beyond it.
func Find(command string) (path string, found bool) {
	if path, err := exec.LookPath(command); err == nil {
		return path, true
	}
	for _, folder := range beyond {
		if path, err := exec.LookPath(filepath.Join(folder, command)); err == nil {
			return path, true
		}
	}
	return "", false
}

// CI says whether nothing may be left out.
func CI() bool {
	ci, err := strconv.ParseBool(os.Getenv("CI"))
	return ci && err == nil
}

// Missing returns the commands that a line of a test's output says are missing, if it is the reason of one that was left out.
func Missing(line string) []string {
	_, names, found := strings.Cut(strings.TrimSpace(line), marker)
	if !found {
		return nil
	}
	return strings.Split(names, ", ")
}

// Lacking are all commands that some test needs and this machine does not have. A test that was left out has named only those that it came to.
func Lacking() []string {
	var all []string
	for command := range packages {
		if _, found := Find(command); !found {
			all = append(all, command)
		}
	}
	return all
}

// Install is the one Debian command that brings all these commands.
func Install(commands []string) string {
	var all []string
	for _, command := range commands {
		all = append(all, packages[command]...)
	}
	slices.Sort(all)
	return fmt.Sprintf("apt-get install -y %s", strings.Join(slices.Compact(all), " "))
}
