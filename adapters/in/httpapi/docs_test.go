package httpapi

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

func TestDescriptionIsServedToAnybody(t *testing.T) {
	for _, tt := range []struct{ path, contentType, begins string }{
		{"/v1/openapi.json", "application/json", `{`},
		{"/v1/asyncapi.json", "application/json", `{`},
		{"/docs", "text/html; charset=utf-8", "<!doctype html>"},
		{"/docs.md", "text/markdown; charset=utf-8", "# "},
		{"/docs/docs.css", "text/css; charset=utf-8", ":root"},
		{"/docs/icon.svg", "image/svg+xml", "<svg "},
		{"/docs/docs.js", "text/javascript; charset=utf-8", "//"},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			w := do(handler(&stub{}), request(method, tt.path, "", header("Authorization")))
			h := w.Header()
			if w.Code != http.StatusOK || h.Get("Content-Type") != tt.contentType ||
				!strings.HasPrefix(w.Body.String(), tt.begins) {
				t.Errorf("%s %s: %d, %s, %.20q", method, tt.path, w.Code, h.Get("Content-Type"), w.Body)
			}
			if csp := h.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; style-src 'self'; script-src 'self'; ") ||
				strings.Contains(csp, "unsafe") || h.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s %s: headers %v", method, tt.path, h)
			}
		}
		w := do(handler(&stub{}), request(http.MethodPost, tt.path, ""))
		wantRefusal(t, w, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
		if got := w.Header().Get("Allow"); got != "GET, HEAD" {
			t.Errorf("POST %s: Allow %q", tt.path, got)
		}
	}
}

func TestASlashTooManyIsForgivenAReaderAndNamedToAProgram(t *testing.T) {
	w := do(handler(&stub{}), request(http.MethodGet, "/docs/", ""))
	if w.Code != http.StatusPermanentRedirect || w.Header().Get("Location") != "/docs" {
		t.Errorf("/docs/ is answered %d, Location %q", w.Code, w.Header().Get("Location"))
	}
	const slash = "there is nothing at this path; leave out the slash at its end"
	const other = "there is nothing at this path; the paths of the API begin with /v1"
	for path, want := range map[string]string{
		"/v1/": slash, "/v1/provider-checkouts/": slash, "/v1/provider-checkouts/id/confirm/": slash, "/docs/docs.css/": slash,
		"/v1//": other, "/v1/provider-checkouts//": other, "/v2/": other, "/v1/providers": other,
	} {
		w := do(handler(&stub{}), request(http.MethodPost, path, ""))
		e := wantRefusal(t, w, http.StatusNotFound, "NOT_FOUND")
		if e.Error.Message != want+"; see /docs#error-NOT_FOUND" {
			t.Errorf("%s: %q, want %q", path, e.Error.Message, want)
		}
	}
}

func TestPageIsSmallAndNeedsNothingFromElsewhere(t *testing.T) {
	page := string(docsHTML)
	if n := len(page) + len(docsCSS) + len(docsJS); n > 160<<10 {
		t.Errorf("the page, its stylesheet and its script are %d bytes", n)
	}
	sent := do(handler(&stub{}), request(http.MethodGet, "/docs", "", header("Accept-Encoding", "gzip")))
	if n := sent.Body.Len(); sent.Header().Get("Content-Encoding") != "gzip" || n > 32<<10 {
		t.Errorf("the page is sent as %d bytes of %q", n, sent.Header().Get("Content-Encoding"))
	}
	page = strings.Replace(page, `<script src="docs/docs.js" defer></script>`, "", 1)
	foreign := regexp.MustCompile(`(?i)<script|<style|\sstyle=|\son\w+=|(src|href)="(https?:)?//|@import|url\(`)
	if found := foreign.FindString(page + string(docsCSS)); found != "" {
		t.Errorf("the page has %q", found)
	}
	code := regexp.MustCompile(`(?s)<pre.*?</pre>`)
	if left := regexp.MustCompile("`|&lt;no value|\\{\\{|\\*\\*").FindString(code.ReplaceAllString(page, "")); left != "" {
		t.Errorf("the page shows %q", left)
	}
}

func TestADescriptionThatAClientHasIsNotSentAgain(t *testing.T) {
	h := handler(&stub{})
	for _, path := range []string{"/docs", "/docs.md", "/docs/docs.css", "/v1/openapi.json", "/v1/asyncapi.json"} {
		tag := do(h, request(http.MethodGet, path, "")).Header().Get("ETag")
		w := do(h, request(http.MethodGet, path, "", header("If-None-Match", tag)))
		if w.Code != http.StatusNotModified || w.Body.Len() != 0 || tag == "" {
			t.Errorf("%s with its tag %s: %d, %d bytes", path, tag, w.Code, w.Body.Len())
		}
		if w := do(h, request(http.MethodGet, path, "", header("If-None-Match", `W/"another"`))); w.Code != http.StatusOK {
			t.Errorf("%s with another tag: %d", path, w.Code)
		}
	}
}

func TestEveryDescriptionNamesTheServicesOwnAddress(t *testing.T) {
	h := handler(&stub{baseURL: "https://enrol.example/pay"})
	for _, path := range []string{"/docs", "/docs.md", "/v1/openapi.json", "/v1/asyncapi.json"} {
		body := do(h, request(http.MethodGet, path, "")).Body.String()
		if !strings.Contains(body, "https://enrol.example/pay") || strings.Contains(body, exampleBase) {
			t.Errorf("%s does not name its own address alone", path)
		}
	}
}

func TestEveryLinkAndIDOfThePageIsSound(t *testing.T) {
	page := string(docsHTML)
	var ids []string
	for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if slices.Contains(ids, m[1]) {
			t.Errorf("the id %s is there twice", m[1])
		}
		ids = append(ids, m[1])
	}
	for _, m := range regexp.MustCompile(` href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !slices.Contains(ids, m[1]) {
			t.Errorf("a link leads to %s, which is not there", m[1])
		}
	}
	for anchor := range anchors() {
		if !slices.Contains(ids, anchor) {
			t.Errorf("messages may point to %s, which is not there", anchor)
		}
	}
}

func TestWhatIsShownHasANameOfItsOwn(t *testing.T) {
	page := string(docsHTML)
	var names []string
	for _, m := range regexp.MustCompile(`<pre data-label="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if slices.Contains(names, m[1]) {
			t.Errorf("the name %q is there twice", m[1])
		}
		names = append(names, m[1])
	}
	if n := strings.Count(page, "<pre"); n != len(names) || n == 0 {
		t.Errorf("%d of %d shown texts have a name", len(names), n)
	}
	if bare := regexp.MustCompile(`<(h[23]|dt)(>| [^i])`).FindString(page); bare != "" {
		t.Errorf("a heading or a field has no id: %s", bare)
	}
}

func TestTheSignatureInThePageIsOneOfTheVectorsAndRight(t *testing.T) {
	text, err := os.ReadFile("../../../testdata/signatures.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Accepted []struct {
			Secret, Header, Body string
			Timestamp            int64
		}
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors.Accepted {
		shown := regexp.MustCompile("(?s)\n\n    " + regexp.QuoteMeta(v.Secret) + "\n\n[^\n]+\n\n    " + regexp.QuoteMeta(v.Header) +
			"\n\n[^\n]+\n\n    " + regexp.QuoteMeta(v.Body) + "\n")
		if !shown.Match(docsMarkdown) {
			continue
		}
		if got := events.Sign(v.Secret, time.Unix(v.Timestamp, 0), []byte(v.Body)); got != v.Header {
			t.Errorf("the page shows the signature %s, and it is %s", v.Header, got)
		}
		return
	}
	t.Error("the page shows the secret, the header and the body of no vector")
}

func TestEveryFieldOfARequestHasItsPlaceInThePage(t *testing.T) {
	for _, whole := range []string{wholeCreate, wholeConfirm} {
		body, err := parseBody([]byte(whole))
		if err != nil {
			t.Fatal(err)
		}
		for _, section := range body.Members {
			fields := []string{section.Name}
			for _, field := range section.Value.Members {
				fields = append(fields, section.Name+"."+field.Name)
			}
			for _, field := range fields {
				if link("", "field-"+field) == "" {
					t.Errorf("%s is not in the page", field)
				}
			}
		}
	}
}

func TestEveryCodeOfTheAPIHasItsPlaceInThePage(t *testing.T) {
	refusals := []*problem{notFound(false), methodNotAllowed(""), tooLarge(), unsupported(""), rateLimited(0), internal()}
	for _, code := range checkout.Codes() {
		if web.APIStatus(code) != 0 { // others are the setup page's
			p, _ := problemOf(&checkout.Error{Code: code})
			refusals = append(refusals, p)
		}
	}
	for _, p := range refusals {
		if link("", "error-"+p.code) == "" {
			t.Errorf("%s is not in the page", p.code)
		}
	}
}
