package hostedpages_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/ports"
)

// Programs that turn addresses in a text into links take what stands behind an address for a part of it.
func TestALinkOpensWithWhatStandsBehindItInASentence(t *testing.T) {
	b := newBench(t, setting{})
	for _, path := range []string{b.setupPath(), b.legalPath()} {
		for _, behind := range []string{".", ")", ">", "%20", ",", ").", "%C2%BB", "%E3%80%82"} {
			b.do(http.MethodGet, path+behind, "").is(t, http.StatusOK)
		}
	}
	for _, origin := range []string{"null", "", "https://pay.example"} { // of our own form, as browsers have it
		got := b.do(http.MethodPost, "/api/dd-setup", url.Values{"token": {b.token + "."}, "terms": {"x"}}.Encode(), func(r *http.Request) {
			r.Host = "pay.example"
			r.Header["Origin"] = []string{origin}
		})
		if got.status == http.StatusForbidden || got.status == http.StatusNotFound {
			t.Errorf("with Origin %q the form is answered %d", origin, got.status)
		}
	}
}

func TestFailures(t *testing.T) {
	const again = `<a class="button" href="">Try again</a>` // leads to the page's own address
	t.Run("a busy store asks for patience", func(t *testing.T) {
		b := newBench(t, setting{})
		b.store.err = ports.ErrBusy
		read, sent := b.get(b.setupPath()), b.begin()
		read.wants(t, again)
		sent.lacks(t, again)
		for _, got := range []answer{read, sent} {
			got.is(t, http.StatusServiceUnavailable)
			if got.header.Get("Retry-After") == "" {
				t.Error("Retry-After is missing")
			}
		}
	})
	t.Run("anything else is logged under the request id, and not shown", func(t *testing.T) {
		b := newBench(t, setting{})
		b.store.err = errors.New("disk of dbx is on fire")
		got := b.get(b.setupPath()).is(t, http.StatusInternalServerError)
		id := got.header.Get("X-Request-Id")
		got.wants(t, id, again)
		got.lacks(t, "dbx", b.token)
		for _, want := range []string{id, "disk of dbx is on fire"} {
			if !strings.Contains(b.log.String(), want) {
				t.Errorf("the log lacks %q:\n%s", want, &b.log)
			}
		}
		if strings.Contains(b.log.String(), b.token) {
			t.Errorf("the log holds the setup token:\n%s", &b.log)
		}
	})
}
