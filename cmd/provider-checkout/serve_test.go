package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

// running is a run of "serve" on free ports.
type running struct {
	base string // URL of the public listener
	ops  string // of the operator's listener; "" without it
	desk string // of the web desk; "" without it
	stop func() (code int, stdout, stderr string)
}

// started runs "serve" on a new store. stop ends it and returns its status and its output.
func started(t *testing.T, args ...string) (s running) {
	t.Helper()
	return startedWith(t, nil, args...)
}

// startedWith is started with environment variables.
func startedWith(t *testing.T, env []string, args ...string) (s running) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	store := "sqlite:" + filepath.Join(t.TempDir(), "records.db")
	args = append([]string{"serve", "--addr", "127.0.0.1:0", "--store", store}, args...)
	out, in := io.Pipe()
	ended := make(chan int, 1)
	var stdout strings.Builder
	go func() {
		ended <- run(ctx, args, variables(env), nil, &stdout, in)
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	before := proc.ReadUntil(lines, `{"time"`)
	var listening struct {
		Msg     string
		Addr    string
		OpsAddr string `json:"ops_addr"`
		DeskURL string `json:"desk_url"`
	}
	if err := json.Unmarshal(lines.Bytes(), &listening); err != nil || listening.Msg != "listening" {
		t.Fatalf("stderr begins with %q %q", before, lines.Text())
	}
	rest := make(chan string)
	go func() { rest <- proc.ReadUntil(lines, "no line begins like this") }()
	s.base, s.desk = "http://"+listening.Addr, listening.DeskURL
	if listening.OpsAddr != "" {
		s.ops = "http://" + listening.OpsAddr
	}
	s.stop = func() (int, string, string) {
		cancel()
		said := <-rest
		return <-ended, stdout.String(), said
	}
	return s
}

func TestServeAnswersAndDrains(t *testing.T) {
	s := started(t)
	says(t, get(t, s.base+"/v1/environment"), `"api_base_url":"`+s.base+`"`)
	code, stdout, logged := s.stop()
	if code != exitDone || stdout != "" || !strings.Contains(logged, `"msg":"stopped"`) {
		t.Errorf("status %d, stdout %q, stderr %s", code, stdout, logged)
	}
	for line := range strings.Lines(logged) {
		if !json.Valid([]byte(line)) {
			t.Errorf("log line %q is not JSON", line)
		}
	}
}

// A proxy may serve the service under a path of another site.
func TestServeUnderABasePath(t *testing.T) {
	s := started(t, "--base-url", "http://pay.example/enrol/")
	defer s.stop()
	for path, want := range map[string]string{
		"/enrol/v1":                 `"base_url":"http://pay.example/enrol"`,
		"/enrol/docs":               `href="v1/openapi.json"`,
		"/enrol/api/dd-setup":       `href="/enrol/api/dd-setup/assets/style.css`,
		"/enrol/v1/nothing":         "/enrol/docs#error-NOT_FOUND",
		"/v1":                       `"success":true`, // from a proxy that strips the path
		"/enrol/sandbox/processor/": `href="/enrol/sandbox/processor/assets/style.css`,
	} {
		says(t, get(t, s.base+path), want)
	}
}

func TestBaseURLFollowsTheAddress(t *testing.T) {
	for _, tt := range []struct{ addr, baseURL, want string }{
		{"127.0.0.1:8080", "", "http://127.0.0.1:8080"},
		{"127.0.0.1:0", "", "http://127.0.0.1:4321"},
		{":8080", "", "http://localhost:8080"},
		{"[::1]:8080", "", "http://[::1]:8080"},
		{"127.0.0.1:8080", "https://pay.example/enrol", "https://pay.example/enrol"},
	} {
		s := server{ServerFlags: ServerFlags{Addr: tt.addr, BaseURL: tt.baseURL}}
		if got := s.base(boundTo{4321}); got != tt.want {
			t.Errorf("base of %s and %q = %s, want %s", tt.addr, tt.baseURL, got, tt.want)
		}
	}
}

// boundTo is a listener on a port.
type boundTo struct{ port int }

func (b boundTo) Addr() net.Addr          { return &net.TCPAddr{Port: b.port} }
func (boundTo) Accept() (net.Conn, error) { return nil, net.ErrClosed }
func (boundTo) Close() error              { return nil }

// Production refuses a secret in a file that every user of the machine can read, and the sandbox warns of it. A secret of
// Kubernetes is a link to a file for the group.
func TestSecretsThatEveryUserCanRead(t *testing.T) {
	folder := openFolder(t)
	path, link := filepath.Join(folder, "secret"), filepath.Join(folder, "link")
	if err := errors.Join(os.WriteFile(path, []byte("0123456789abcdef0123456789abcdef"), 0o600), os.Symlink(path, link)); err != nil {
		t.Fatal(err)
	}
	for mode, exposed := range map[os.FileMode]bool{0o600: false, 0o440: false, 0o644: true} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		env := []string{secretFileVariable + "=" + link}
		got := try(t, env, "", "serve", "--environment", "production", "--store", "sqlite:"+filepath.Join(folder, "none.db"))
		if refused := strings.Contains(got.stderr, secretFileVariable+": "+link+" can be read by every user"); refused != exposed {
			t.Errorf("mode %v in production: refused is %v, want %v: %s", mode, refused, exposed, got.stderr)
		}
		store := "sqlite:" + filepath.Join(t.TempDir(), "records.db")
		ctx, cancel := context.WithCancel(t.Context())
		var log strings.Builder
		cancel() // it starts, and drains at once
		run(ctx, []string{"serve", "--addr", "127.0.0.1:0", "--store", store}, variables(env), nil, io.Discard, &log)
		if warned := strings.Contains(log.String(), "every user of this machine can read a secret"); warned != exposed {
			t.Errorf("mode %v in the sandbox: warned is %v, want %v: %s", mode, warned, exposed, log.String())
		}
	}
}

// openFolder returns a folder that every user of the machine can pass.
func openFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := errors.Join(os.Chmod(folder, 0o755), os.Chmod(filepath.Dir(folder), 0o755)); err != nil {
		t.Fatal(err)
	}
	return folder
}
