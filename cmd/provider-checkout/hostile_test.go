package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
)

// asProvider returns the commands of a provider against a server.
func asProvider(t *testing.T, url string) map[string][]string {
	t.Helper()
	return map[string][]string{
		"trigger":     {"trigger", "setup_fails", "--base-url", url, "--provider", "KOWHAI"},
		"conformance": {"conformance", "--base-url", url, "--provider", "KOWHAI"},
		"golive":      {"golive", "--base-url", url},
		"listen":      {"listen", "--base-url", url, "--state", filepath.Join(t.TempDir(), "place")},
	}
}

const hostilesKey = "pck_sandbox_KOWHAI_0123456789abcdef_" + "0123456789abcdef0123456789abcdef"

func TestTheKeyFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s went elsewhere, with the key: %v", r.Method, r.URL, r.Header.Get("Authorization") != "")
	}))
	defer elsewhere.Close()
	hostile := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/v1/environment", http.StatusTemporaryRedirect))
	defer hostile.Close()
	for name, args := range asProvider(t, hostile.URL) {
		if got := try(t, []string{keyVariable + "=" + hostilesKey}, "", args...); got.code != cli.ExitFailed || strings.Contains(got.stdout+got.stderr, catalogue.KeyID(hostilesKey)+"_") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAnAnswerWithoutEndIsLeft(t *testing.T) {
	t.Parallel()
	hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for err := error(nil); err == nil; {
			_, err = fmt.Fprint(w, strings.Repeat(" ", 1<<20))
		}
	}))
	defer hostile.Close()
	for name, args := range asProvider(t, hostile.URL) {
		if name == "listen" { // which asks again
			continue
		}
		if got := try(t, []string{keyVariable + "=" + hostilesKey}, "", args...); got.code != cli.ExitFailed {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestATerminalObeysNoServer(t *testing.T) {
	t.Parallel()
	const evil = `\u001b]0;evil\u0007\u009b2J\u202e`
	for _, status := range []int{http.StatusOK, http.StatusBadRequest} {
		hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.URL.Path != "/v1/environment" {
				w.WriteHeader(status)
			}
			environment := "sandbox"
			if r.Header.Get("Authorization") == "" { // conformance, which would wait for a payer in a sandbox
				environment = "EVIL"
			}
			fmt.Fprint(w, strings.ReplaceAll(`{"environment": "`+environment+`", "checkout": {"checkout_id": "KOWHAI-1-EVIL", "status": "EVIL"},
				"steps": [{"step": "EVIL", "done": true, "at": "2026-01-01T00:00:00Z", "request_id": "EVIL", "help": "EVIL"}, {"step": "EVIL"}],
				"events": [{"cursor": "EVIL", "body": "EVIL"}], "next": "EVIL", "error": {"code": "EVIL", "message": "EVIL"}}`, "EVIL", evil))
		}))
		defer hostile.Close()
		for name, args := range asProvider(t, hostile.URL) {
			got := try(t, []string{keyVariable + "=" + hostilesKey}, "", args...)
			if strings.ContainsAny(got.stdout+got.stderr, "\x1b\x07\u009b\u202e") || got.stdout+got.stderr == "" {
				t.Errorf("%s prints %q", name, got.stdout+got.stderr)
			}
		}
	}
}
