package scenario_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

// greylisting is a mail server that refuses the first two attempts at each notice.
type greylisting struct {
	mu    sync.Mutex
	had   map[string]int // attempts by the id of the notice
	taken chan checkout.PayerNotice
}

func (g *greylisting) Notify(_ context.Context, n checkout.PayerNotice) (checkout.Receipt, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.had[n.ID]++; g.had[n.ID] < 3 {
		return checkout.Receipt{}, errors.New("try again later")
	}
	g.taken <- n
	return checkout.Receipt{}, nil
}

// The next attempts at a notice come a minute, and five minutes, later by the clock of its checkout, whose times the notice has.
func TestClockOfANotice(t *testing.T) {
	mail := &greylisting{had: map[string]int{}, taken: make(chan checkout.PayerNotice, 9)}
	w := newWorld(t, memory.New(), func(c *site.Config) { c.Service.Notifier = mail })
	moved, beside := w.Create(t, "order-1"), w.Create(t, "order-2")
	w.advance(t, moved, "P5D")
	for _, created := range []sandbox.Response{moved, beside} {
		w.play(t, created, "setup_succeeds")
		if r := w.Confirm(t, created); r.Status != http.StatusOK {
			t.Fatalf("confirm: %d %s", r.Status, r.Body)
		}
		w.refusesNotice(t, created, 1)
	}
	w.advance(t, moved, "PT2M")
	w.refusesNotice(t, moved, 2)
	w.advance(t, moved, "PT6M")
	select {
	case notice := <-mail.taken:
		w.within(t, "the agreement that the notice tells of", notice.At, 5*day)
	case <-time.After(2 * time.Minute):
		t.Error("the third attempt did not come, though its time has")
	}
	if len(mail.taken) != 0 {
		t.Errorf("the notice of the checkout beside it was sent too: %+v", <-mail.taken)
	}
}

// refusesNotice waits until the notice of an agreement was refused so many times.
func (w *world) refusesNotice(t *testing.T, created sandbox.Response, times int) {
	t.Helper()
	for {
		list, err := w.Store.Jobs(t.Context(), checkout.JobFilter{CheckoutID: created.String("checkout.checkout_id"),
			Kinds: []checkout.JobKind{checkout.JobNotify}}, 9)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range list {
			if j.Job.Name == string(checkout.NoticeOfAgreement) && j.Attempts >= times {
				return
			}
		}
		time.Sleep(time.Millisecond)
	}
}
