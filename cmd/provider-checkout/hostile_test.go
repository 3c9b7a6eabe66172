package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
)

const hostilesKey = "pck_sandbox_KOWHAI_0123456789abcdef_" + "0123456789abcdef0123456789abcdef"

func TestTheKeyFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s went elsewhere, with the key: %v", r.Method, r.URL, r.Header.Get("Authorization") != "")
	}))
	defer elsewhere.Close()
	hostile := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/v1/environment", http.StatusTemporaryRedirect))
	defer hostile.Close()
	got := try(t, []string{keyVariable + "=" + hostilesKey}, "", "listen", "--base-url", hostile.URL)
	if got.code != exitFailed || strings.Contains(got.stdout+got.stderr, catalogue.KeyID(hostilesKey)+"_") {
		t.Errorf("listen = %+v", got)
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
			fmt.Fprint(w, strings.ReplaceAll(`{"environment": "sandbox", "events": [{"cursor": "EVIL", "body": "EVIL"}], "next": "EVIL",
				"error": {"code": "EVIL", "message": "EVIL"}}`, "EVIL", evil))
		}))
		defer hostile.Close()
		got := try(t, []string{keyVariable + "=" + hostilesKey}, "", "listen", "--base-url", hostile.URL)
		if strings.ContainsAny(got.stdout+got.stderr, "\x1b\x07\u009b\u202e") || got.stdout+got.stderr == "" {
			t.Errorf("listen prints %q", got.stdout+got.stderr)
		}
	}
}
