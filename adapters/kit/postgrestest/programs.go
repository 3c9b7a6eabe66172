package postgrestest

import (
	"errors"
	"fmt"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// unprivilegedUser returns the user as whom a test that runs as root starts a server: PostgreSQL refuses to run as root.
func unprivilegedUser() (uid, gid int, err error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, lookupErr := user.Lookup(name)
		if lookupErr != nil {
			err = lookupErr
			continue
		}
		uid, uidErr := strconv.Atoi(u.Uid)
		gid, gidErr := strconv.Atoi(u.Gid)
		return uid, gid, errors.Join(uidErr, gidErr)
	}
	return 0, 0, fmt.Errorf("PostgreSQL does not run as root: %w", err)
}

// findPrograms returns the folder of the server's programs: from PATH, or else the newest that Debian installs. A link in PATH may
// stand alone, without the other programs beside it.
func findPrograms() (string, error) {
	path, err := exec.LookPath("initdb")
	if err != nil {
		found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
		if len(found) == 0 {
			return "", errors.Join(errors.New("initdb is neither in PATH nor in /usr/lib/postgresql"), err)
		}
		version := func(path string) int {
			n, _ := strconv.Atoi(strings.Split(path, "/")[4])
			return n
		}
		path = slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
	}
	path, err = filepath.EvalSymlinks(path)
	return filepath.Dir(path), err
}
