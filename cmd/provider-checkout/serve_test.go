package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

// running is a run of "serve" on free ports.
type running struct {
	base string // URL of the public listener
	ops  string // of the operator's listener; "" without it
	stop func() (code int, stdout, stderr string)
}

// started runs "serve" on a new store. stop ends it and returns its status and its output.
func started(t *testing.T, args ...string) (s running) {
	t.Helper()
	return startedWith(t, nil, args...)
}

// startedWith is started with environment variables.
func startedWith(t *testing.T, env map[string]string, args ...string) (s running) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	store := "sqlite:" + filepath.Join(t.TempDir(), "records.db")
	args = append([]string{"serve", "--addr", "127.0.0.1:0", "--store", store}, args...)
	out, in := io.Pipe()
	ended := make(chan int, 1)
	var stdout strings.Builder
	go func() {
		ended <- run(ctx, args, func(name string) string { return env[name] }, nil, &stdout, in)
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	before := proc.ReadUntil(lines, `{"time"`)
	var listening struct {
		Msg     string
		Addr    string
		OpsAddr string `json:"ops_addr"`
	}
	if err := json.Unmarshal(lines.Bytes(), &listening); err != nil || listening.Msg != "listening" {
		t.Fatalf("stderr begins with %q %q", before, lines.Text())
	}
	rest := make(chan string)
	go func() { rest <- proc.ReadUntil(lines, "no line begins like this") }()
	s.base = "http://" + listening.Addr
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

// serving is started for tests of only the public listener.
func serving(t *testing.T, args ...string) (base string, stop func() (code int, stdout, stderr string)) {
	t.Helper()
	s := started(t, args...)
	return s.base, s.stop
}

func TestServeAnswersAndDrains(t *testing.T) {
	base, stop := serving(t)
	resp, err := http.Get(base + "/v1/environment")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `"api_base_url":"`+base+`"`) {
		t.Errorf("environment = %d %s, %v; want the base URL %s", resp.StatusCode, body, err, base)
	}
	code, stdout, logged := stop()
	if code != cli.ExitDone || stdout != "" || !strings.Contains(logged, `"msg":"stopped"`) {
		t.Errorf("status %d, stdout %q, stderr %s", code, stdout, logged)
	}
	for line := range strings.Lines(logged) {
		if !json.Valid([]byte(line)) {
			t.Errorf("log line %q is not JSON", line)
		}
	}
}

func TestServeKnowsItsPaths(t *testing.T) {
	base, stop := serving(t)
	defer stop()
	for _, tt := range []struct {
		method, path string
		status       int
		contentType  string
	}{
		{"GET", "/v1", http.StatusOK, "application/json"},
		{"GET", "/", http.StatusFound, "text/html"},
		{"GET", "/docs", http.StatusOK, "text/html"},
		{"POST", "//v1/provider-checkouts", http.StatusNotFound, "application/json"},
		{"GET", "/api/demos/", http.StatusNotFound, "application/json"},
		{"GET", "/api/dd-setup?token=forged", http.StatusNotFound, "text/html"},
		{"GET", "/api/dd-setup/legal?token=forged", http.StatusNotFound, "text/html"},
		{"GET", "/api/dd-setups", http.StatusNotFound, "application/json"},
		{"GET", "/sandbox/processor/", http.StatusNotFound, "text/html"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, base+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != tt.status || !strings.HasPrefix(resp.Header.Get("Content-Type"), tt.contentType) {
			t.Errorf("%s %s = %d %s, want %d %s", tt.method, tt.path, resp.StatusCode, resp.Header.Get("Content-Type"), tt.status, tt.contentType)
		}
	}
}

// A proxy may serve the service under a path of another site.
func TestServeUnderABasePath(t *testing.T) {
	server, stop := serving(t, "--base-url", "http://pay.example/enrol/")
	defer stop()
	for path, want := range map[string]string{
		"/enrol/v1":                 `"base_url":"http://pay.example/enrol"`,
		"/enrol/docs":               `href="v1/openapi.json"`,
		"/enrol/api/dd-setup":       `href="/enrol/api/dd-setup/assets/style.css`,
		"/enrol/v1/nothing":         "/enrol/docs#error-NOT_FOUND",
		"/v1":                       `"success":true`, // from a proxy that strips the path
		"/enrol/sandbox/processor/": `href="/enrol/sandbox/processor/assets/style.css`,
	} {
		resp, err := http.Get(server + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("GET %s: %v, want %s in\n%s", path, err, want, body)
		}
	}
}

func TestServeRefusesWhatNoClientSends(t *testing.T) {
	t.Parallel()
	base, stop := serving(t)
	defer stop()
	for _, tt := range []struct{ name, request, want string }{
		{"headers of 32 KiB", "GET /v1 HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("x", 32<<10) + "\r\n\r\n", "HTTP/1.1 431 "},
		{"the asterisk form", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 404 "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, tt.request); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(conn).ReadString('\n')
			if !strings.HasPrefix(line, tt.want) {
				t.Errorf("answer %q, %v; want %q", line, err, tt.want)
			}
		})
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
		s := server{addr: tt.addr, baseURL: tt.baseURL}
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
