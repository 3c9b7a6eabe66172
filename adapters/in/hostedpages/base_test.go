package hostedpages_test

import (
	"html"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/hostedpages"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
)

const (
	origin = "https://example.nz"
	base   = "/enrol/pay" // path of the base URL
)

// address finds the addresses that a page leads to or loads.
var address = regexp.MustCompile(`(?:href|src|action)="([^"]*)"`)

// browser loads pages as a payer's browser does, and notes every address of the service that it meets.
type browser struct {
	b     *bench
	strip bool // a proxy in front takes the base path off
	met   map[string]bool
}

// load sends a request, and checks every address of the answer.
func (w *browser) load(method, target, form string) answer {
	t := w.b.t
	t.Helper()
	target = strings.TrimPrefix(target, origin)
	path, ok := strings.CutPrefix(target, base+"/")
	if !ok {
		t.Fatalf("%s %s is not under %s", method, target, base)
	}
	if w.strip {
		target = "/" + path
	}
	page := w.b.do(method, target, form)
	for _, found := range address.FindAllStringSubmatch(page.body, -1) {
		w.meet(method+" "+target, html.UnescapeString(found[1]))
	}
	if at := page.header.Get("Location"); at != "" {
		w.meet(method+" "+target, at)
	}
	return page
}

// meet notes an address that a page holds: one of the service must be under its base URL.
func (w *browser) meet(page, found string) {
	w.b.t.Helper()
	switch {
	case found == "", strings.HasPrefix(found, "#"), strings.HasPrefix(found, "mailto:"), found == "https://www.privacy.org.nz", strings.HasPrefix(found, "https://enrol.kowhai.example/"):
	case strings.HasPrefix(found, origin+base+"/"), strings.HasPrefix(found, base+"/"):
		w.met[strings.TrimPrefix(found, origin)] = true
	default:
		w.b.t.Errorf("%s leads to %q, which is not under %s", page, found, origin+base)
	}
}

func TestEveryAddressIsUnderTheBaseURL(t *testing.T) {
	for _, tt := range []struct {
		name           string
		mounted, strip bool
	}{
		{"mounted in the API", true, false},
		{"mounted, behind a proxy that takes the path off", true, true},
		{"served alone", false, false},
		{"served alone, behind a proxy that takes the path off", false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, setting{baseURL: origin + base})
			if tt.mounted {
				b.hosted = httpapi.New(b.service, httpapi.Options{Mount: map[string]http.Handler{
					hostedpages.Prefix: b.hosted, fakeprocessor.Prefix: b.fake}})
				b.fake = b.hosted
			}
			w := &browser{b: b, strip: tt.strip, met: map[string]bool{}}
			setup := origin + base + b.setupPath()

			open := w.load(http.MethodGet, setup, "")
			open.wants(t, `<form method="post" action="`+base+`/api/dd-setup" target="_top">`)
			w.load(http.MethodGet, base+b.legalPath(), "").is(t, http.StatusOK)
			w.load(http.MethodGet, base+"/api/dd-setup", "").is(t, http.StatusNotFound)

			begun := w.load(http.MethodPost, base+"/api/dd-setup", b.pressed()).is(t, http.StatusSeeOther)
			bankPage := begun.header.Get("Location")
			form := w.load(http.MethodGet, bankPage, "").is(t, http.StatusOK)
			form.wants(t, `<form method="post" action="`+strings.TrimPrefix(bankPage, origin)+`"`)
			w.load(http.MethodPost, bankPage, "").is(t, http.StatusUnprocessableEntity)
			completed := w.load(http.MethodPost, bankPage, account().Encode()).is(t, http.StatusSeeOther)
			if at, want := completed.header.Get("Location"), origin+base+b.returnPath(); at != want {
				t.Errorf("the processor's page leads to %q, want %q", at, want)
			}
			back := w.load(http.MethodGet, origin+base+b.returnPath(), "").is(t, http.StatusSeeOther)
			if at := back.header.Get("Location"); at != base+b.setupPath() {
				t.Errorf("the way back leads to %q, want %q", at, setup)
			}
			w.load(http.MethodGet, setup, "").wants(t, "Your direct debit is set up")
			b.poll()
			b.confirm(order().First)
			w.load(http.MethodGet, setup, "").wants(t, "is confirmed.")

			kinds := map[string]bool{}
			for _, at := range slices.Sorted(maps.Keys(w.met)) {
				got := w.load(http.MethodGet, at, "")
				leads := got.status == http.StatusOK || got.status == http.StatusSeeOther
				if !leads && at != base+"/api/dd-setup" { // the form goes there, with the token in its body
					t.Errorf("GET %s: %d", at, got.status)
				}
				kinds[got.header.Get("Content-Type")] = true
			}
			for _, kind := range []string{"text/css; charset=utf-8", "text/javascript; charset=utf-8", "text/html; charset=utf-8"} {
				if !kinds[kind] {
					t.Errorf("no page led to %s; they led to %v", kind, w.met)
				}
			}
		})
	}
}

func TestPathsBesideTheBasePathAreNotServed(t *testing.T) {
	b := newBench(t, setting{baseURL: origin + base})
	for _, path := range []string{"/enrol", "/enrol/payments/api/dd-setup", "/other" + b.setupPath(), base + base + b.setupPath()} {
		b.do(http.MethodGet, path, "").is(t, http.StatusNotFound)
	}
}
