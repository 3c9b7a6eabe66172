package service_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// outage has creates while the receiver refuses every event, one in five minutes.
func (w *world) outage(t *testing.T, order string, d time.Duration) {
	t.Helper()
	w.receiver.answers(func(events.Delivery, int) error { return errRefused })
	for i := range int(d / (5 * time.Minute)) {
		w.opened(t, fmt.Sprint(order, i))
		time.Sleep(5 * time.Minute)
	}
	w.receiver.answers(nil)
}

// supported gives KOWHAI an address for questions.
func (w *world) supported(t *testing.T) {
	t.Helper()
	c := kowhai()
	c.Provider.Branding.SupportEmail = "help@kowhai.example"
	w.configure(t, c)
}

// toProvider returns the subjects of the e-mails at the provider's address since the last call.
func (p *postbox) toProvider(t *testing.T) (subjects []string) {
	t.Helper()
	for _, n := range p.take() {
		if n.To.Email == "help@kowhai.example" {
			subjects = append(subjects, n.Subject)
			for _, personal := range []string{"Aroha", "student.example", "ORDER"} {
				if strings.Contains(n.Subject+n.Text+n.HTML, personal) {
					t.Errorf("the e-mail has %q:\n%s", personal, n.Text)
				}
			}
		}
	}
	return subjects
}

func TestAProviderIsToldOnceOfAFailingReceiverAndOnceWhenItIsWell(t *testing.T) {
	inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
		w.supported(t)
		stops := []func(){w.background(t), w.again(t).background(t)} // of two processes
		w.outage(t, "ORDER-A", 50*time.Minute)
		w.opened(t, "ORDER-WELL")
		time.Sleep(2 * time.Hour)
		if got := mail.toProvider(t); got != nil {
			t.Errorf("after fifty minutes the provider is told %q", got)
		}
		w.outage(t, "ORDER-B", 90*time.Minute)
		if got := mail.toProvider(t); len(got) != 1 || !strings.HasSuffix(got[0], "your receiver takes no events") {
			t.Errorf("after an hour and a half the provider is told %q, want once that its receiver takes nothing", got)
		}
		for _, stop := range stops {
			stop()
		}
		next := w.again(t)
		defer next.background(t)()
		next.outage(t, "ORDER-C", 3*time.Hour)
		if got := mail.toProvider(t); got != nil {
			t.Errorf("after a restart the provider is told once more: %q", got)
		}
		next.opened(t, "ORDER-TAKEN")
		time.Sleep(6 * time.Minute)
		if got := mail.toProvider(t); len(got) != 1 || !strings.HasSuffix(got[0], "your receiver takes events again") {
			t.Errorf("once an event is taken the provider is told %q, want once that its receiver takes events", got)
		}
		time.Sleep(3 * time.Hour)
		if got := mail.toProvider(t); got != nil {
			t.Errorf("three hours later the provider is told %q", got)
		}
		if n := next.backlog(t, checkout.JobReceiver).Waiting; n != 0 {
			t.Errorf("%d jobs still watch a receiver that is well", n)
		}
	})
}

func TestAProviderWithoutAnAddressIsNotTold(t *testing.T) {
	inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
		defer w.background(t)()
		w.outage(t, "ORDER-", 2*time.Hour)
		if got := mail.take(); len(got) != 0 {
			t.Errorf("sent %+v", got)
		}
		w.statuses(t)
		if n := w.backlog(t, checkout.JobReceiver).Waiting; n != 0 {
			t.Errorf("%d jobs watch the receiver for nobody", n)
		}
	})
}
