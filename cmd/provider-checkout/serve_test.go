package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
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
