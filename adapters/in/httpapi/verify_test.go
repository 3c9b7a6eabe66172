package httpapi

import (
	"crypto/sha256"
	"encoding/base64"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// The page of /verify and the same page as a file to keep.
func TestThePageThatChecksProofsIsOneFileThatSendsNothing(t *testing.T) {
	const key = "evidence.test+0a1b2c3d+AQ<&\">"
	for _, base := range []string{"http://pay.example", "https://pay.example/pay"} {
		h := handler(&stub{key: key, baseURL: base})
		page := do(h, request(http.MethodGet, "/verify", "", header("Authorization")))
		kept := do(h, request(http.MethodGet, "/verify/check-agreement.html", "", header("Authorization")))
		if page.Code != http.StatusOK || kept.Code != http.StatusOK || page.Body.String() != kept.Body.String() {
			t.Fatalf("/verify = %d with %d bytes, the file %d with %d", page.Code, page.Body.Len(), kept.Code, kept.Body.Len())
		}
		if got := kept.Header().Get("Content-Disposition"); got != `attachment; filename="check-agreement.html"` {
			t.Errorf("the file comes with %q", got)
		}
		body := page.Body.String()
		policy := "default-src 'none'; style-src " + sourceOf(t, body, "style") + "; script-src " + sourceOf(t, body, "script") +
			"; connect-src 'none'; form-action 'none'; base-uri 'none'"
		for name, want := range map[string]string{"Content-Security-Policy": policy + "; frame-ancestors 'none'", "Content-Type": "text/html; charset=utf-8",
			"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "X-Robots-Tag": "noindex, nofollow"} {
			for _, w := range []http.Header{page.Header(), kept.Header()} {
				if got := w.Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		}
		meta := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`).FindStringSubmatch(body)
		if len(meta) != 2 || html.UnescapeString(meta[1]) != policy {
			t.Errorf("the policy in the page is %q, want %q", meta, policy)
		}
		if filled := regexp.MustCompile(`<textarea id="key"[^>]*>([^<]*)</textarea>`).FindStringSubmatch(body); len(filled) != 2 || html.UnescapeString(filled[1]) != key {
			t.Error("the key of the server is not filled in")
		}
		for _, address := range regexp.MustCompile(`(?:href|src|action)="([^"]*)"`).FindAllStringSubmatch(body, -1) {
			if address[1] != "./verify/check-agreement.html" {
				t.Errorf("the page leads to %q", address[1])
			}
		}
	}
	wantRefusal(t, do(handler(&stub{}), request(http.MethodPost, "/verify", "")), http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
	wantRefusal(t, do(handler(&stub{}), request(http.MethodGet, "/verify/else", "")), http.StatusNotFound, "NOT_FOUND")
	if page := do(handler(&stub{}), request(http.MethodGet, "/verify", "")).Body.String(); !strings.Contains(page, "has no key") {
		t.Error("the page of a server without a key does not say so")
	}
}

// sourceOf returns the source of a policy that allows the page's one element of that name.
func sourceOf(t *testing.T, page, name string) string {
	t.Helper()
	found := regexp.MustCompile(`(?s)<`+name+`>(.*?)</`+name+`>`).FindAllStringSubmatch(page, -1)
	if len(found) != 1 || found[0][1] == "" {
		t.Fatalf("the page has %d elements %s", len(found), name)
	}
	sum := sha256.Sum256([]byte(found[0][1]))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
