package web_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
)

func TestCompressGoesByWhatTheClientAccepts(t *testing.T) {
	page := strings.Repeat("A plan of years is mostly alike. ", 200)
	h := web.Compress(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusGone)
		io.WriteString(w, page)
	}))
	for _, tt := range []struct {
		accept []string
		gzip   bool
	}{
		{nil, false},
		{[]string{""}, false},
		{[]string{"gzip"}, true},
		{[]string{"gzip, deflate, br, zstd"}, true},
		{[]string{"br;q=1.0, gzip;q=0.8, *;q=0.1"}, true},
		{[]string{"GZIP"}, true},
		{[]string{"gzip;q=0.001"}, true},
		{[]string{"gzip;q=0"}, false},
		{[]string{"gzip; q=0"}, false},
		{[]string{"gzip;q=0.0"}, false},
		{[]string{"gzip;q=0.000, identity"}, false},
		{[]string{"br, zstd"}, false},
		{[]string{"identity"}, false},
		{[]string{"xgzip"}, false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header["Accept-Encoding"] = tt.accept
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		encoding, vary := w.Header().Get("Content-Encoding"), w.Header().Get("Vary")
		if (encoding == "gzip") != tt.gzip || !tt.gzip && encoding != "" {
			t.Errorf("Accept-Encoding %q: Content-Encoding = %q, want gzip: %v", tt.accept, encoding, tt.gzip)
		}
		if vary != "Accept-Encoding" {
			t.Errorf("Accept-Encoding %q: Vary = %q, want Accept-Encoding", tt.accept, vary)
		}
		var body io.Reader = w.Body
		if encoding == "gzip" {
			var err error
			if body, err = gzip.NewReader(w.Body); err != nil {
				t.Fatalf("Accept-Encoding %q: %v", tt.accept, err)
			}
		}
		if got, err := io.ReadAll(body); string(got) != page || err != nil || w.Code != http.StatusGone {
			t.Errorf("Accept-Encoding %q: status %d and %d bytes, %v; want 410 and the %d of the page", tt.accept, w.Code, len(got), err, len(page))
		}
	}
}

func TestPanicBehindCompressIsAnsweredWhole(t *testing.T) {
	h := web.Wrap(options(io.Discard, newClock()), web.Compress(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		panic("a broken invariant")
	})), failed)
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusInternalServerError || !strings.HasPrefix(w.Body.String(), "failed req_") || w.Header().Get("Content-Encoding") != "" {
		t.Errorf("answer %d %q in %q, want 500 and what failed says", w.Code, w.Body, w.Header().Get("Content-Encoding"))
	}
}
