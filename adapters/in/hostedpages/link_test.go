package hostedpages_test

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// mailer is a notifier that takes everything.
type mailer struct{}

func (mailer) Notify(context.Context, checkout.PayerNotice) (receipt string, err error) {
	return "", nil
}

// asksForLink sends the form of the page of an expired link.
func (b *bench) asksForLink(change ...func(*http.Request)) answer {
	return b.do(http.MethodPost, "/api/dd-setup/link", url.Values{"token": {b.token}}.Encode(), change...)
}

// links returns how many links were sent, or are to be.
func (b *bench) links() (n int) {
	b.t.Helper()
	jobs, err := b.store.Jobs(b.t.Context(), checkout.JobFilter{CheckoutID: b.id, Kinds: []checkout.JobKind{checkout.JobNotify}}, 100)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, j := range jobs {
		if j.Job.Name == string(checkout.NoticeOfLink) {
			n++
		}
	}
	return n
}

func TestAnExpiredLinkOffersANewOneByEmail(t *testing.T) {
	b := newBench(t, setting{notifier: mailer{}})
	b.get(b.setupPath()).lacks(t, "/link")
	if at := b.asksForLink().is(t, http.StatusSeeOther).header.Get("Location"); at != b.setupPath() {
		t.Errorf("a link that opens leads to %q, want the setup page", at)
	}
	b.now = b.now.Add(7 * 24 * time.Hour)
	expired := b.get(b.setupPath()).is(t, http.StatusGone)
	expired.wants(t, "This link has expired", `<form method="post" action="/api/dd-setup/link">`, `name="token" value="`+b.token+`"`, "Send me a new link",
		`<a class="button second" href="https://enrol.kowhai.example/cancelled"`) // one act is the primary one
	expired.lacks(t, "hemi@", "example.nz", "Hēmi")

	first := b.asksForLink().is(t, http.StatusOK)
	first.wants(t, "<h1>Check your email</h1>", "the email address that Kōwhai Institute gave us", "mailto:help@kowhai.example")
	first.lacks(t, "hemi@", "example.nz", "Hēmi", "<form", "token=")
	if n := b.links(); n != 1 {
		t.Fatalf("%d links are sent, want one", n)
	}
	for range 5 { // more often than links are sent: the answer stays the same
		if again := b.asksForLink().is(t, http.StatusOK); again.body != first.body {
			t.Errorf("another request is answered\n%s\nand the first\n%s", again.body, first.body)
		}
	}
	if n := b.links(); n != 1 {
		t.Errorf("six requests at once send %d links, want one", n)
	}

	b.asksForLink(func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }).is(t, http.StatusForbidden)
	b.do(http.MethodPost, "/api/dd-setup/link?token="+b.token, "").is(t, http.StatusNotFound)
	b.do(http.MethodPost, "/api/dd-setup/link", "token=unknown").is(t, http.StatusNotFound)
	b.get("/api/dd-setup/link?token="+b.token).is(t, http.StatusMethodNotAllowed)
	b.erases()
	b.asksForLink().is(t, http.StatusGone).lacks(t, "Send me a new link")
}

func TestNoLinkIsSentOfAProviderThatIsSwitchedOff(t *testing.T) {
	b := newBench(t, setting{notifier: mailer{}})
	p := kowhai()
	p.Active = false
	b.configure(p)
	b.now = b.now.Add(7 * 24 * time.Hour)
	b.asksForLink().is(t, http.StatusGone).wants(t, "This page is not available")
	if n := b.links(); n != 0 {
		t.Errorf("%d links are sent", n)
	}
}
