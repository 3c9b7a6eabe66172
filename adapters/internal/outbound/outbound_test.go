package outbound_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
)

func TestAnAnswerIsJSONAndBounded(t *testing.T) {
	for _, tt := range []struct {
		name, kind, body string
		status           int
		want             string // part of the error; "" for no error
	}{
		{"JSON", "application/json;charset=UTF-8", `{}`, 200, ""},
		{"as large as may be", "application/json", strings.Repeat("1", 10), 200, ""},
		{"too large", "application/json", strings.Repeat("1", 11), 200, "larger than 10 bytes"},
		{"an error that is too large", "text/html", strings.Repeat("1", 11), 503, "larger than 10 bytes"},
		{"a page", "text/html", "<html>", 200, `"text-html", not JSON`},
		{"a page of an error", "text/html", "<html>", 503, ""},
		{"no kind", "", "{}", 200, "not JSON"},
		{"a kind that says too much", "mere/o'brien@example.nz", "{}", 200, `"", not JSON`},
		{"nothing", "", "", 204, ""},
	} {
		got, err := outbound.ReadBody(&http.Response{StatusCode: tt.status, Header: http.Header{"Content-Type": {tt.kind}},
			Body: io.NopCloser(strings.NewReader(tt.body))}, 10)
		if tt.want == "" && (err != nil || string(got) != tt.body) || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %q, %v; want the error %q", tt.name, got, err, tt.want)
		}
	}
}

func TestErrorsRepeatNothing(t *testing.T) {
	var into struct{ Name int }
	for _, body := range []string{`{"Name":"Mere"}`, `{"Name":Mere}`, `["Mere"]`} {
		err := outbound.WithoutText(json.Unmarshal([]byte(body), &into))
		if err == nil || strings.Contains(err.Error(), "Mere") {
			t.Errorf("%s: %v", body, err)
		}
	}
	for _, cause := range []error{io.EOF, &net.DNSError{Name: "mere.example", Err: "no such host"}} {
		err := outbound.Cause(t.Context(), &url.Error{Op: "Get", URL: "https://mere.example", Err: cause})
		if strings.Contains(err.Error(), "mere") {
			t.Errorf("%v", err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := outbound.Cause(ended, io.EOF); !errors.Is(err, context.Canceled) {
		t.Errorf("cause %v, want that the context has ended", err)
	}
}

func TestAWordIsPlainAndShort(t *testing.T) {
	for text, want := range map[string]string{"UNABLE_TO_LOCK_ROW": "UNABLE_TO_LOCK_ROW", "DISHONOUR-AC05": "DISHONOUR-AC05", "v1.2": "v1.2",
		"two words": "", "tāne": "", "a\nb": "", strings.Repeat("a", 101): ""} {
		if got := outbound.Word(text); got != want {
			t.Errorf("Word(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestLoopbackIsThisMachine(t *testing.T) {
	for host, want := range map[string]bool{"localhost": true, "127.0.0.1": true, "127.8.0.1": true, "::1": true, "10.0.0.1": false,
		"localhost.example": false, "127.0.0.1.example": false, "": false} {
		if got := outbound.Loopback(host); got != want {
			t.Errorf("Loopback(%q) = %v", host, got)
		}
	}
}

func TestJitterIsFromHalfToTheWhole(t *testing.T) {
	for entropy, want := range map[byte]time.Duration{0: 50 * time.Millisecond, 0xff: 0} {
		got := outbound.Jitter(bytes.NewReader(bytes.Repeat([]byte{entropy}, 8)), 100*time.Millisecond)
		if got < 50*time.Millisecond || got > 100*time.Millisecond || want != 0 && got != want {
			t.Errorf("Jitter = %s", got)
		}
	}
	if got := outbound.Jitter(strings.NewReader(""), time.Second); got != time.Second {
		t.Errorf("Jitter without entropy = %s, want the whole", got)
	}
}

func TestAPauseEndsWithItsContext(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if outbound.Pause(ended, time.Hour) || !outbound.Pause(t.Context(), time.Nanosecond) {
		t.Error("Pause reports what was not")
	}
}
