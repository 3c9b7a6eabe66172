// Package proc builds the program and runs it in separate processes, for tests that need a real process.
package proc

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
)

// Binary is the path of the program.
type Binary string

// BuildIn builds the program as a release does, and puts it into a folder. The process may run anywhere in the module.
func BuildIn(folder string) (Binary, error) {
	if err := depend(); err != nil {
		return "", err
	}
	path := filepath.Join(folder, "provider-checkout")
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, "github.com/provider-checkout/provider-checkout/cmd/provider-checkout")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return Binary(path), nil
}

// depend has the results of the tests depend on every file of the module: go test would otherwise answer from its cache, for
// it does not see what go build reads.
func depend() error {
	root, err := testlevel.Root()
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), ".") {
			return filepath.SkipDir
		}
		return err // a folder that is read is an input of the test, with the size and time of its files
	})
}

// Command returns a command that runs the program, without any environment variable.
func (b Binary) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(string(b), args...)
	cmd.Env = []string{}
	return cmd
}

// Run runs a command that ends by itself and must succeed, and returns its standard output.
func (b Binary) Run(t testing.TB, args ...string) string {
	t.Helper()
	cmd := b.Command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, stderr.String())
	}
	return string(out)
}

// ServeArgs returns the arguments of a server over the store, which sends events to loopback addresses too.
func ServeArgs(store string) []string {
	return []string{"serve", "--store", store, "--addr", "127.0.0.1:0",
		"--allow-private-destinations", "--rate-limit", "0"}
}

// Serve starts a server over the store.
func (b Binary) Serve(t testing.TB, store string) *Process {
	t.Helper()
	return Start(t, b.Command(ServeArgs(store)...))
}

// TempFile writes a file that is removed at the end of the test, and returns its path.
func TempFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ReadUntil returns the lines before the first one with the prefix.
func ReadUntil(lines *bufio.Scanner, prefix string) string {
	var text strings.Builder
	for lines.Scan() && !strings.HasPrefix(lines.Text(), prefix) {
		text.WriteString(lines.Text() + "\n")
	}
	return text.String()
}

// QuietAddr returns a free address with a port that the kernel does not assign by itself, so that the port refuses
// connections once its process has ended.
func QuietAddr(t testing.TB, rng *rand.Rand) string {
	t.Helper()
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 20000+rng.IntN(12000))
		if ln, err := net.Listen("tcp", addr); err == nil {
			ln.Close()
			return addr
		}
	}
	t.Fatal("no port is free")
	return ""
}
