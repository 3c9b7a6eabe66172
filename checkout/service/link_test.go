package service_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// setupLink matches the address of a setup page in a message.
var setupLink = regexp.MustCompile(`https://pay\.example/api/dd-setup\?token=(\S+)\n`)

func (w *world) mailsLink(t *testing.T, token string) service.SetupPage {
	t.Helper()
	page, err := w.MailLink(t.Context(), token, "req_9")
	must(t, err)
	return page
}

// The payer whose link has expired goes on from the link in the e-mail, and the provider confirms with the token of its create.
func TestAnExpiredLinkRenewsItselfByEmail(t *testing.T) {
	inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
		o := w.opened(t, "ORDER-1")
		if page := w.mailsLink(t, o.Token); page.State != checkout.PageOpen || page.Renewable {
			t.Errorf("a link that opens: page %q, renewable %v", page.State, page.Renewable)
		}
		w.clock.forward(8 * 24 * time.Hour)
		for range 3 {
			if page := w.mailsLink(t, o.Token); page.State != checkout.PageExpired || !page.Renewable {
				t.Errorf("page %q, renewable %v; want it expired and renewable each time", page.State, page.Renewable)
			}
			w.clock.forward(3 * time.Minute)
		}
		w.runFor(t, 2*time.Second)
		sent := mail.take()
		if len(sent) != 1 || sent[0].To.Email != "aroha@example.ac.nz" || !strings.Contains(sent[0].Subject, "your new link") {
			t.Fatalf("three requests in nine minutes sent %+v, want one link to the address on record", sent)
		}
		found := setupLink.FindStringSubmatch(sent[0].Text)
		if found == nil || !strings.Contains(sent[0].HTML, `<a href="https://pay.example/api/dd-setup?token=`+found[1]+`"`) {
			t.Fatalf("the message has no link:\n%s\n%s", sent[0].Text, sent[0].HTML)
		}
		if page := w.page(t, found[1]); page.State != checkout.PageOpen || page.Superseded {
			t.Errorf("the new link: page %q, superseded %v", page.State, page.Superseded)
		}
		if page := w.page(t, o.Token); page.State != checkout.PageExpired || page.Superseded {
			t.Errorf("the old link: page %q, superseded %v", page.State, page.Superseded)
		}
		w.setUp(t, found[1])
		w.confirms(t, confirm(o))
		if page := w.mailsLink(t, o.Token); page.State != checkout.PageDone {
			t.Errorf("after the confirm: page %q", page.State)
		}
		if got := len(w.notices(t, "ORDER-1")); got != 3 {
			t.Errorf("%d notices on record, want those of the link, the setup and the agreement", got)
		}
	})
}

func TestALinkThatIsNeededNoLongerIsNotSent(t *testing.T) {
	inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
		o := w.begun(t, "ORDER-1")
		w.clock.forward(8 * 24 * time.Hour)
		w.mailsLink(t, o.Token)
		w.processor.set(fulfilled) // the payer had the bank's page open all the time
		w.clock.forward(3 * time.Second)
		w.polls(t, o.Checkout.ID)
		w.runFor(t, 2*time.Second)
		for _, n := range mail.take() {
			if strings.Contains(n.Subject, "new link") {
				t.Errorf("sent %q", n.Subject)
			}
		}
		if r := w.notices(t, "ORDER-1")[0]; r.State != checkout.JobDropped {
			t.Errorf("on record %+v, want it dropped", r)
		}
	})
}

func TestWhereNoLinkCanBeSent(t *testing.T) {
	w := newWorld(t) // which sends no e-mail
	o := w.opened(t, "ORDER-1")
	w.clock.forward(8 * 24 * time.Hour)
	before := len(w.records(t)["ORDER-1"].Moments)
	if page := w.mailsLink(t, o.Token); page.State != checkout.PageExpired || page.Renewable {
		t.Errorf("without a notifier: page %q, renewable %v", page.State, page.Renewable)
	}
	if r := w.records(t)["ORDER-1"]; len(r.Checkout.Tokens) != 1 || len(r.Moments) != before {
		t.Errorf("it stored %+v", r)
	}
	_, err := w.MailLink(t.Context(), o.Token+"x", "req_9")
	expect(t, err, checkout.CodeLinkUnknown)

	w, _ = notifying(t)
	o = w.opened(t, "ORDER-1")
	w.clock.forward(8 * 24 * time.Hour)
	off := kowhai()
	off.Provider.Active = false
	w.configure(t, off)
	if page := w.mailsLink(t, o.Token); page.State != checkout.PageNotEnabled || page.Renewable || len(w.notices(t, "ORDER-1")) != 0 {
		t.Errorf("of a provider that is off: page %q, renewable %v", page.State, page.Renewable)
	}
	w.configure(t, kowhai())
	w.change(t, "ORDER-1", func(c *checkout.Checkout) { *c = c.Erase(w.clock.now()) })
	if page := w.mailsLink(t, o.Token); page.State != checkout.PageExpired || page.Renewable || len(w.notices(t, "ORDER-1")) != 0 {
		t.Errorf("of an erased checkout: page %q, renewable %v", page.State, page.Renewable)
	}
}
