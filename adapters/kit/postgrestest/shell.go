package postgrestest

import (
	"os"
	"path/filepath"
	"testing"
)

// Folder returns a folder that is the server's user's own, and is removed with the server. Its data folder, "data", is in it.
func (s *Server) Folder() string { return s.folder }

// Address returns a connection string of the server's superuser, without a schema of a test.
func (s *Server) Address() string { return s.url }

// Shell runs a script as an administrator of the server would, as its user and with its programs in PATH. Variables are
// NAME=value. It returns what the script printed.
func (s *Server) Shell(t testing.TB, script string, variables ...string) string {
	t.Helper()
	cmd, err := s.command("/bin/sh", "-e", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append([]string{"PATH=" + s.programs + string(filepath.ListSeparator) + os.Getenv("PATH"), "LC_ALL=C",
		"PGDATA=" + filepath.Join(s.folder, "data"), "SERVER=" + s.url}, variables...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return string(out)
}
