package service_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// postbox is a notifier that keeps what it gets, and answers as the test says.
type postbox struct {
	mu     sync.Mutex
	got    []checkout.PayerNotice
	answer func(context.Context, checkout.PayerNotice) error // nil takes everything
}

func (p *postbox) Notify(ctx context.Context, n checkout.PayerNotice) (checkout.Receipt, error) {
	p.mu.Lock()
	p.got = append(p.got, n)
	answer := p.answer
	p.mu.Unlock()
	if answer != nil {
		if err := answer(ctx, n); err != nil {
			return checkout.Receipt{}, err
		}
	}
	return checkout.Receipt{Reference: "<" + n.ID + "@lender.example>", Answer: "250 2.0.0 queued"}, nil
}

func (p *postbox) set(answer func(context.Context, checkout.PayerNotice) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

func (p *postbox) take() []checkout.PayerNotice {
	p.mu.Lock()
	defer p.mu.Unlock()
	got := p.got
	p.got = nil
	return got
}

func mailIsDown(context.Context, checkout.PayerNotice) error {
	return fmt.Errorf("dial: connection refused: %w", ports.ErrBusy)
}

// notifying returns a world whose payers are notified.
func notifying(t *testing.T, change ...func(*service.Config)) (*world, *postbox) {
	t.Helper()
	p := &postbox{}
	return newWorld(t, append([]func(*service.Config){func(c *service.Config) { c.Notifier = p }}, change...)...), p
}

// inWorldWithMail is inWorld whose payers are notified.
func inWorldWithMail(t *testing.T, test func(*testing.T, *world, *postbox)) {
	t.Helper()
	p := &postbox{}
	inWorld(t, func(t *testing.T, w *world) { test(t, w, p) }, func(c *service.Config) { c.Notifier = p })
}

// notices returns what is on record of the notices of an order.
func (w *world) notices(t *testing.T, order string) []checkout.JobRecord {
	t.Helper()
	return w.jobs(t, order, checkout.JobNotify)
}

// confirmed opens, sets up and confirms a checkout.
func (w *world) confirmed(t *testing.T, order string) checkout.Checkout {
	t.Helper()
	return w.confirms(t, w.ready(t, order)).Checkout
}

// However often the setup is seen complete, and by whatever call, its payer is notified once.
func TestAPayerIsNotifiedOnceOfTheSetupAndOnceOfTheAgreement(t *testing.T) {
	inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
		o := w.opened(t, "ORDER-1")
		w.setUp(t, o.Token)
		for range 2 {
			w.polls(t, o.Checkout.ID)
			w.page(t, o.Token)
			w.clock.forward(10 * time.Minute) // a job that was put off is due
			w.runFor(t, 2*time.Second)
		}
		setup := mail.take()
		if len(setup) != 1 || !strings.Contains(setup[0].Subject, "direct debit") {
			t.Fatalf("after the setup %d notices were sent, want that of the setup: %+v", len(setup), setup)
		}
		for _, want := range []string{"A NGATA", "01-0902-•••••89-00", "Diploma in Business", "Kōwhai Institute", "$2,990.00", "Aroha Ngata"} {
			if !strings.Contains(setup[0].Text, want) || !strings.Contains(setup[0].HTML, want) {
				t.Errorf("the notice of the setup does not say %q:\n%s", want, setup[0].Text)
			}
		}
		link := "https://pay.example/api/dd-setup?token=" + o.Token
		if !strings.Contains(setup[0].HTML, `href="`+link+`"`) {
			t.Errorf("the notice of the setup has no link to %s:\n%s", link, setup[0].Text)
		}
		for range 2 {
			w.confirms(t, confirm(o))
			w.runFor(t, 2*time.Second)
		}
		agreed := mail.take()
		if len(agreed) != 1 {
			t.Fatalf("after two confirms %d notices were sent, want one: %+v", len(agreed), agreed)
		}
		r := w.records(t)["ORDER-1"]
		number, n := r.Agreement.Number, agreed[0]
		for _, want := range []string{number, r.Agreement.Payments()[1].Taken.Long(), "$53.65", "Total to pay", "notice of the payments", link} {
			if !strings.Contains(n.Text, want) || !strings.Contains(n.HTML, want) {
				t.Errorf("the notice of the agreement does not say %q:\n%s", want, n.Text)
			}
		}
		if n.To != (checkout.Addressee{Name: "Aroha Ngata", Email: "aroha@example.ac.nz"}) || !strings.Contains(n.Subject, number) {
			t.Errorf("it goes to %+v, about %q", n.To, n.Subject)
		}
		if len(n.Attachments) != 1 || n.Attachments[0].Name != number+".pdf" || string(n.Attachments[0].Bytes) != "%PDF of "+number {
			t.Errorf("it has the attachments %+v, want the PDF", n.Attachments)
		}
		notices := w.notices(t, "ORDER-1")
		if len(notices) != 2 {
			t.Fatalf("notices on record %+v, want two", notices)
		}
		for i, sent := range []checkout.PayerNotice{setup[0], n} {
			got := notices[i]
			if request := []string{"", "req_2"}[i]; got.Job.RequestID != request {
				t.Errorf("the notice of the %s follows from the request %q, want %q", got.Job.Name, got.Job.RequestID, request)
			}
			if got.Job.ID != sent.ID || got.State != checkout.JobDone || got.Attempts != 1 || got.SettledAt.IsZero() ||
				got.Receipt != (checkout.Receipt{Reference: "<" + sent.ID + "@lender.example>", Answer: "250 2.0.0 queued"}) {
				t.Errorf("on record %+v, want the proof that it was sent", got)
			}
		}
	})
}

// The payer is on the done page, and no poll and no notification comes.
func TestTheNoticeOfTheSetupLeavesSoonAfterTheDonePage(t *testing.T) {
	inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
		defer w.background(t)()
		o := w.begun(t, "ORDER-1")
		time.Sleep(3 * time.Second)
		w.processor.set(fulfilled)
		if page := w.page(t, o.Token); page.State != checkout.PageDone {
			t.Fatalf("page %q", page.State)
		}
		time.Sleep(2 * time.Second)
		if got := mail.take(); len(got) != 1 {
			t.Errorf("%d notices in two seconds, want that of the setup", len(got))
		}
	})
}

// The operator has taken the secret that signed the link out of use.
func TestANoticeHasNoLinkThatDoesNotOpen(t *testing.T) {
	inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
		w.ready(t, "ORDER-1")
		ring, err := checkout.NewKeyring([]byte(strings.Repeat("n", 32)))
		must(t, err)
		w.config.Keyring = ring
		w.again(t).runFor(t, 2*time.Second)
		if got := mail.take(); len(got) != 1 || strings.Contains(got[0].HTML, "<a ") || strings.Contains(got[0].Text, "your page") {
			t.Errorf("sent %+v, want the notice of the setup without a link", got)
		}
	})
}

func TestWithoutANotifierNothingOfANoticeIsStored(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.confirmed(t, "ORDER-1")
		if got := w.notices(t, "ORDER-1"); len(got) != 0 {
			t.Errorf("notices on record %+v, want none", got)
		}
	})
}

// A mail server that hangs keeps neither a poll nor a confirm waiting, nor the end of the service.
func TestANotifierThatHangsDelaysNoAnswer(t *testing.T) {
	inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
		mail.set(func(ctx context.Context, _ checkout.PayerNotice) error { <-ctx.Done(); return ctx.Err() })
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { w.Run(ctx) })
		var took time.Duration
		for i := range 10 {
			start := time.Now()
			w.confirmed(t, fmt.Sprint("ORDER-", i))
			took = max(took, time.Since(start))
			time.Sleep(2 * time.Second)
		}
		if took > 0 {
			t.Errorf("an enrolment took %s", took)
		}
		start := time.Now()
		cancel()
		running.Wait()
		if took := time.Since(start); took > 6*time.Second {
			t.Errorf("the service took %s to stop", took)
		}
		waits := func(r checkout.JobRecord) bool { return r.State == checkout.JobPending && r.Failure.Reason != "" }
		if got := w.notices(t, "ORDER-0"); !slices.ContainsFunc(got, waits) {
			t.Errorf("on record %+v, want one pending, and why", got)
		}
	})
}

func TestANoticeIsAttemptedAgainUntilItIsTakenOver(t *testing.T) {
	inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
		w.ready(t, "ORDER-1")
		left := 3
		mail.set(func(context.Context, checkout.PayerNotice) error {
			if left--; left >= 0 {
				return errors.New("451 4.7.1 greylisted")
			}
			return nil
		})
		w.runFor(t, 30*time.Minute)
		got := mail.take()
		for _, n := range got {
			if n.ID != got[0].ID || n.Text != got[0].Text || !n.At.Equal(got[0].At) {
				t.Errorf("another attempt sends %+v\nwant    %+v", n, got[0])
			}
		}
		r := w.notices(t, "ORDER-1")[0]
		if len(got) != 4 || r.State != checkout.JobDone || r.Attempts != 4 || r.Failure.Reason != "451 4.7.1 greylisted" {
			t.Errorf("%d attempts, and on record %+v; want 4, and it sent", len(got), r)
		}
	})
}

func TestANoticeIsGivenUpInTheEndAndAtOnceIfItIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		answer   error
		attempts int
	}{
		"refused for good": {&checkout.NoticeRefusal{Answer: "550 5.1.1 no such user"}, 1},
		"never taken":      {errors.New("452 4.2.2 mailbox full"), 9},
	} {
		t.Run(name, func(t *testing.T) {
			inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
				w.ready(t, "ORDER-1")
				mail.set(func(context.Context, checkout.PayerNotice) error { return tt.answer })
				for range 12 {
					w.runFor(t, time.Second/2)
					w.clock.forward(25 * time.Hour) // longer than any pause
				}
				r := w.notices(t, "ORDER-1")[0]
				if got := len(mail.take()); got != tt.attempts || r.State != checkout.JobDead || r.Attempts != tt.attempts ||
					!strings.Contains(r.Failure.Reason, "5") {
					t.Errorf("%d attempts, and on record %+v; want %d, and it failed", got, r, tt.attempts)
				}
				severities := make(map[service.Severity]int)
				for _, f := range w.reports.take() {
					if f.Operation == service.OperationNotify && f.CheckoutID != "" {
						severities[f.Severity]++
					}
				}
				if severities[service.Error] != 1 || severities[service.Warning] != tt.attempts-1 {
					t.Errorf("reported %v, want one error, and a warning for each attempt before", severities)
				}
			})
		})
	}
}

// A mail server that hangs is probed by one notice at a time, however often it is time for a probe.
func TestANotifierThatHangsIsProbedByOneNoticeAtATime(t *testing.T) {
	inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
		var now, most atomic.Int64
		mail.set(func(ctx context.Context, n checkout.PayerNotice) error {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			time.Sleep(40 * time.Second)
			return mailIsDown(ctx, n)
		})
		for i := range 20 {
			w.ready(t, fmt.Sprint("ORDER-", i))
		}
		defer w.background(t)()
		time.Sleep(90 * time.Second) // five attempts have failed, and the pauses between probes are still short
		most.Store(0)
		time.Sleep(10 * time.Minute)
		if n := most.Load(); n != 1 {
			t.Errorf("%d notices were tried at once, want one", n)
		}
	})
}

// While the mail server is down, for however long, notices wait, and use up no attempts.
func TestAnOutageOfTheNotifierUsesUpNoAttempts(t *testing.T) {
	inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
		mail.set(mailIsDown)
		var orders []string
		for i := range 40 {
			orders = append(orders, fmt.Sprint("ORDER-", i))
			w.ready(t, orders[i])
		}
		w.clock.forward(72 * time.Hour)
		w.runFor(t, time.Hour)
		if got := len(mail.take()); got > 80 {
			t.Errorf("in an hour %d attempts were made, want a few at first and then one a minute", got)
		}
		mail.set(nil)
		w.runFor(t, 3*time.Minute)
		for _, order := range orders {
			if r := w.notices(t, order)[0]; r.State != checkout.JobDone || r.Attempts != 1 {
				t.Errorf("%s: on record %+v, want it sent", order, r)
			}
		}
	})
}

// Several processes notify the payer of one checkout, through a mail server that takes its time and may refuse the first attempts. The
// confirm comes at any moment: the payer is told of the setup before the agreement or not at all, of the agreement soon, and of one
// thing at a time.
func TestAPayerIsNeverToldOfTheSetupAfterTheAgreement(t *testing.T) {
	for _, tt := range []struct {
		name    string
		confirm time.Duration // after the setup
		refused int           // of the first attempts
		setup   checkout.JobState
	}{
		{"at once", 0, 0, checkout.JobDropped},
		{"while the notice of the setup is under way", 3 * time.Second, 0, checkout.JobDone},
		{"while an attempt at it is under way that fails", 3 * time.Second, 1, checkout.JobDropped},
		{"while it waits for its next attempt", 20 * time.Second, 1, checkout.JobDropped},
		{"while it waits for its third", 2 * time.Minute, 2, checkout.JobDropped},
		{"when it is sent", 20 * time.Second, 0, checkout.JobDone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
				var underWay, attempts atomic.Int64
				mail.set(func(context.Context, checkout.PayerNotice) error {
					if n := underWay.Add(1); n > 1 {
						t.Errorf("%d notices are under way at once", n)
					}
					defer underWay.Add(-1)
					time.Sleep(5 * time.Second)
					if attempts.Add(1) <= int64(tt.refused) {
						return errors.New("451 4.7.1 greylisted")
					}
					return nil
				})
				if tt.confirm > 0 {
					for range 3 {
						defer w.again(t).background(t)()
					}
				}
				cmd := w.ready(t, "ORDER-1")
				time.Sleep(tt.confirm)
				w.confirms(t, cmd)
				confirmed := w.clock.now()
				if tt.confirm == 0 {
					for range 3 {
						defer w.again(t).background(t)()
					}
				}
				time.Sleep(15 * time.Second)
				list := w.notices(t, "ORDER-1")
				if took := list[1].SettledAt.Sub(confirmed); list[1].State != checkout.JobDone || took > 12*time.Second {
					t.Errorf("on record %+v, want the agreement sent in 12 seconds, not %s", list[1], took)
				}
				time.Sleep(time.Hour)
				list = w.notices(t, "ORDER-1")
				if list[0].State != tt.setup || list[0].State == checkout.JobDone && list[0].SettledAt.After(list[1].SettledAt) {
					t.Errorf("on record %+v and %+v, want the setup's %s, and not after the agreement's", list[0], list[1], tt.setup)
				}
			})
		})
	}
}

// What would say what is so no longer is not sent.
func TestANoticeThatIsNotNeededIsDropped(t *testing.T) {
	dead := fulfilled
	dead.Mandate = checkout.MandateCancelled
	for name, change := range map[string]func(t *testing.T, w *world, id string){
		"the mandate has died": func(t *testing.T, w *world, id string) {
			w.processor.set(dead)
			if _, err := w.Refresh(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		},
		"the personal data was erased": func(t *testing.T, w *world, id string) {
			err := w.store.EraseCheckouts(t.Context(), []string{id}, func(found []checkout.Checkout) (checkout.Erasure, error) {
				return checkout.EraseAll(found, w.clock.now(), "operator:test"), nil
			})
			must(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
				cmd := w.ready(t, "ORDER-1")
				change(t, w, cmd.CheckoutID.Value)
				w.runFor(t, time.Minute)
				if got := mail.take(); len(got) != 0 {
					t.Errorf("sent %+v, want nothing", got)
				}
				if list := w.notices(t, "ORDER-1"); len(list) != 1 || list[0].State != checkout.JobDropped {
					t.Errorf("on record %+v, want it dropped", list)
				}
			})
		})
	}
}

// With a CRM outside of the store, the payer gets the agreement when the enrolment is confirmed, and not before.
func TestTheAgreementIsNotifiedOnceTheCRMHasCompletedTheEnrolment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		crm, change := withCRM()
		w, mail := notifying(t, change)
		cmd := w.ready(t, "ORDER-1")
		w.runFor(t, 2*time.Second)
		if got := mail.take(); len(got) != 1 {
			t.Fatalf("%d notices after the setup, want one", len(got))
		}
		crm.disturb(func(context.Context) error {
			crm.mu.Lock()
			defer crm.mu.Unlock()
			if crm.calls[len(crm.calls)-1] == "Complete" {
				return errLostAnswer
			}
			return nil
		}, nil)
		if _, err := w.confirm(t, cmd); err == nil {
			t.Fatal("confirmed without the CRM")
		}
		if got := w.notices(t, "ORDER-1"); len(got) != 1 {
			t.Errorf("notices on record %+v while the CRM has not completed the enrolment, want that of the setup", got)
		}
		crm.disturb(nil, nil)
		w.runFor(t, time.Minute)
		if got := mail.take(); len(got) != 1 || len(got[0].Attachments) != 1 {
			t.Errorf("sent %+v, want the agreement", got)
		}
	})
}

func TestNoticesThatWaitAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := notifying(t)
		w.confirmed(t, "ORDER-1")
		w.clock.forward(time.Hour)
		if b := w.backlog(t, checkout.JobNotify); b.Waiting != 2 || b.Age < time.Hour {
			t.Errorf("the backlog is %+v; want 2 of an hour", b)
		}
		off := *w
		off.config.Notifier = nil
		if b := off.again(t).backlog(t, checkout.JobNotify); b.Waiting != 0 {
			t.Errorf("the backlog is %+v where nothing sends notices; want none", b)
		}
		w.runFor(t, time.Second)
		if b := w.backlog(t, checkout.JobNotify); b != (service.Backlog{}) {
			t.Errorf("the backlog is %+v; want none", b)
		}
	})
}

// Whatever call fails, and also where the process ends between the mail server's answer and the record of it, the notice is
// sent, under one id.
func TestANoticeSurvivesAFailureOfTheStore(t *testing.T) {
	for _, at := range []string{"Lease 1", "Checkout 1", "Provider 1", "Settle 1"} {
		for way := range faults {
			t.Run(at+" "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store, change := newFaulty()
					w, mail := notifying(t, change)
					w.ready(t, "ORDER-1")
					w.clock.forward(10 * time.Second) // what was remembered of the provider is over
					w.reports.take()
					failed := false
					store.arm(at, func() error { failed = true; return faults[way]() })
					w.runFor(t, 5*time.Minute)
					got := mail.take()
					if !failed || len(got) == 0 {
						t.Fatalf("failed %t, and %d notices were sent", failed, len(got))
					}
					if slices.ContainsFunc(got, func(n checkout.PayerNotice) bool { return n.ID != got[0].ID }) {
						t.Errorf("sent under several ids: %+v", got)
					}
					if want := 1 + strings.Count(at, "Settle"); len(got) != want {
						t.Errorf("sent %d times, want %d", len(got), want)
					}
					if list := w.notices(t, "ORDER-1"); len(list) != 1 || list[0].State != checkout.JobDone {
						t.Errorf("on record %+v, want it sent", list)
					}
					if len(w.reports.take()) == 0 {
						t.Error("the failure is not reported")
					}
				})
			})
		}
	}
}
