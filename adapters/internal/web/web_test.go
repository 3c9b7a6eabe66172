package web_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
)

// clock is a clock that the test advances.
type clock struct{ now time.Time }

func newClock() *clock                   { return &clock{time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)} }
func (c *clock) Now() time.Time          { return c.now }
func (c *clock) Advance(d time.Duration) { c.now = c.now.Add(d) }

func options(log io.Writer, c *clock) web.Options {
	return web.Options{
		Log:  slog.New(slog.NewJSONHandler(log, nil)),
		Now:  c.Now,
		Rand: rand.NewChaCha8([32]byte{1}),
	}.Complete()
}

// failed is the failed handler of these tests.
func failed(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusInternalServerError)
	io.WriteString(w, "failed "+web.RequestID(r.Context()))
}

// served returns the answer to a request of a handler inside Wrap, and the lines of the log.
func served(t *testing.T, r *http.Request, h http.HandlerFunc) (*httptest.ResponseRecorder, []map[string]any) {
	t.Helper()
	var log bytes.Buffer
	w := httptest.NewRecorder()
	web.Wrap(options(&log, newClock()), h, failed).ServeHTTP(w, r)
	return w, lines(t, &log)
}

func get(path string) *http.Request { return httptest.NewRequest("GET", path, nil) }

// lines parses a JSON log.
func lines(t *testing.T, log *bytes.Buffer) []map[string]any {
	t.Helper()
	var all []map[string]any
	for dec := json.NewDecoder(log); dec.More(); {
		var line map[string]any
		if err := dec.Decode(&line); err != nil {
			t.Fatalf("the log is not JSON: %v", err)
		}
		all = append(all, line)
	}
	return all
}

func TestEveryAnswerSaysTheSameOfItself(t *testing.T) {
	o := options(io.Discard, newClock())
	o.BaseURL = "https://pay.example"
	var seen string
	h := web.Wrap(o, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = web.RequestID(r.Context())
	}), failed)
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-Request-Id", "req_of-the-client")
	h.ServeHTTP(w, r)

	id := w.Header().Get("X-Request-Id")
	if !regexp.MustCompile(`^req_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(id) || id != seen {
		t.Errorf("X-Request-Id = %q, the handler saw %q; want the same req_<uuid>", id, seen)
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options":    "nosniff",
		"Cache-Control":             "no-store",
		"Content-Security-Policy":   "default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
		"Strict-Transport-Security": "max-age=31536000",
		"Server":                    "",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}

func TestHandlerMayLetItsAnswerBeCached(t *testing.T) {
	w, _ := served(t, get("/style.css"), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=60")
	})
	if got := w.Header().Values("Cache-Control"); len(got) != 1 || got[0] != "public, max-age=60" {
		t.Errorf("Cache-Control = %q, want the handler's alone", got)
	}
	if got := w.Header().Get("Strict-Transport-Security"); got != "" {
		t.Errorf("Strict-Transport-Security = %q without https, want none", got)
	}
}

func TestPanicIsAnsweredAndLoggedWithoutTellingTheClient(t *testing.T) {
	w, all := served(t, get("/v1"), func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/half-done")
		panic("a broken invariant")
	})
	id := w.Header().Get("X-Request-Id")
	if w.Code != 500 || w.Body.String() != "failed "+id {
		t.Errorf("answer %d %q, want 500 and the request id alone", w.Code, w.Body)
	}
	if got := w.Header().Get("Location"); got != "" {
		t.Errorf("Location = %q, left over from the answer of the handler that panicked", got)
	}
	if len(all) != 2 {
		t.Fatalf("%d log lines, want the panic and the request: %v", len(all), all)
	}
	if all[0]["panic"] != "a broken invariant" || all[0]["request_id"] != id ||
		!strings.Contains(all[0]["stack"].(string), "web_test.go") {
		t.Errorf("panic line = %v, want the value, the stack and id %s", all[0], id)
	}
	if all[1]["status"] != 500.0 || all[1]["request_id"] != id {
		t.Errorf("request line = %v, want status 500 and id %s", all[1], id)
	}
}

func TestPanicBreaksAnAnswerThatHadBegun(t *testing.T) {
	defer func() {
		if v := recover(); v != http.ErrAbortHandler {
			t.Errorf("panicked with %v, want http.ErrAbortHandler", v)
		}
	}()
	served(t, get("/"), func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "half")
		panic("later")
	})
}

func TestAccessLogTellsWhatHappenedAndNoSecrets(t *testing.T) {
	var log bytes.Buffer
	c := newClock()
	h := web.Wrap(options(&log, c), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		web.RequestOf(r.Context()).Provider = "KOWHAI"
		c.Advance(1500 * time.Microsecond)
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusTeapot)
	}), failed)
	r := httptest.NewRequest("POST", "/api/dd-setup%0d%0aforged?token=secret-token", strings.NewReader("secret-body"))
	r.Header.Set("Authorization", "Bearer secret-key")
	h.ServeHTTP(httptest.NewRecorder(), r)

	if strings.Contains(log.String(), "secret") {
		t.Errorf("the log holds a secret: %s", &log)
	}
	line := lines(t, &log)[0]
	for name, want := range map[string]any{
		"msg": "request", "method": "POST", "path": "/api/dd-setup%0d%0aforged", "status": 418.0,
		"duration_ms": 1.5, "provider_code": "KOWHAI",
	} {
		if line[name] != want {
			t.Errorf("%s = %v, want %v", name, line[name], want)
		}
	}
}

func TestAccessLogNamesTheClientOnlyOfARefusedCaller(t *testing.T) {
	for status, want := range map[int]any{200: nil, 303: nil, 404: nil, 409: nil, 500: nil, 401: "192.0.2.1", 403: "192.0.2.1", 429: "192.0.2.1"} {
		_, log := served(t, get("/"), func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) })
		if got := log[0]["client"]; got != want {
			t.Errorf("of a %d the client is logged as %v, want %v", status, got, want)
		}
	}
}

func TestAccessLogBoundsThePathAndLeavesOutPartsThatMayBeATokenOrAKey(t *testing.T) {
	id := "/" + strings.Repeat("a", 64)
	for path, want := range map[string]string{
		strings.Repeat("/a", 4000):                  strings.Repeat("/a", 128),
		"/v1/provider-checkouts" + id + "/confirm":  "/v1/provider-checkouts" + id + "/confirm",
		"/v1/provider-checkouts" + id + "a/confirm": "/v1/provider-checkouts/.../confirm",
		id + "%41": "/...",
	} {
		if _, log := served(t, get(path), http.NotFound); log[0]["path"] != want {
			t.Errorf("of the path %s is logged %v, want %s", path, log[0]["path"], want)
		}
	}
}

func TestInsideAnotherWrapARequestKeepsItsIDAndIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	var outer, inner string
	page := web.Wrap(options(&log, newClock()), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if inner = web.RequestID(r.Context()); r.URL.Path == "/panic" {
			panic("broken")
		}
	}), func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusTeapot) })
	root := web.Wrap(options(&log, newClock()), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		outer = web.RequestID(r.Context())
		page.ServeHTTP(w, r)
	}), failed)
	for path, status := range map[string]int{"/": 200, "/panic": 418} {
		log.Reset()
		w := httptest.NewRecorder()
		root.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != status || outer != inner || w.Header().Get("X-Request-Id") != outer {
			t.Errorf("GET %s: %d, ids %q and %q; want %d and one id", path, w.Code, outer, inner, status)
		}
		requests := 0
		for _, line := range lines(t, &log) {
			if line["msg"] == "request" {
				requests++
			}
		}
		if requests != 1 {
			t.Errorf("GET %s is logged %d times, want once", path, requests)
		}
	}
}

func TestTheBasePathIsTakenOff(t *testing.T) {
	var got string
	o := options(io.Discard, newClock())
	o.BaseURL = "https://example.nz/pay"
	h := web.Wrap(o, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = r.URL.EscapedPath() }), failed)
	for path, want := range map[string]string{
		"/pay/v1": "/v1", "/pay": "/", "/pay/": "/", "/v1": "/v1", "/payments": "/payments", "/pay/a%2Fb": "/a%2Fb", "/pay/pay/v1": "/pay/v1",
	} {
		h.ServeHTTP(httptest.NewRecorder(), get(path))
		if got != want {
			t.Errorf("%s is served as %s, want %s", path, got, want)
		}
	}
}

func TestEveryLogLineOfARequestHasItsID(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(web.LogHandler(web.LogHandler(slog.NewJSONHandler(&log, nil)))).With("part", "test")
	var id string
	h := web.Wrap(options(io.Discard, newClock()), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id = web.RequestID(r.Context())
		logger.InfoContext(r.Context(), "inside")
	}), failed)
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	logger.Info("outside")
	all := lines(t, &log)
	if all[0]["request_id"] != id || all[1]["request_id"] != nil || all[0]["part"] != "test" {
		t.Errorf("logged %v, want request_id %s in the first line alone", all, id)
	}
}

func TestPanicBehindCompressIsAnsweredWhole(t *testing.T) {
	r := get("/")
	r.Header.Set("Accept-Encoding", "gzip")
	w, _ := served(t, r, web.Compress(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		panic("a broken invariant")
	})).ServeHTTP)
	if w.Code != http.StatusInternalServerError || !strings.HasPrefix(w.Body.String(), "failed req_") ||
		w.Header().Get("Content-Encoding") != "" {
		t.Errorf("answer %d %q in %q, want 500 and what failed says", w.Code, w.Body, w.Header().Get("Content-Encoding"))
	}
}
