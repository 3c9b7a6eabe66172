package service_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// postbox is a notifier that keeps what it gets, and answers as the test says.
type postbox struct {
	mu     sync.Mutex
	got    []checkout.PayerNotice
	answer func(context.Context) error // nil takes everything
}

var errGreylisted = errors.New("451 4.7.1 greylisted")

func (p *postbox) Notify(ctx context.Context, n checkout.PayerNotice) (string, error) {
	p.mu.Lock()
	p.got = append(p.got, n)
	answer := p.answer
	p.mu.Unlock()
	if answer != nil {
		if err := answer(ctx); err != nil {
			return "", err
		}
	}
	return "250 2.0.0 queued " + n.ID, nil
}

// answers has the notifier answer so from now on.
func (p *postbox) answers(answer func(context.Context) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

// says has the notifier answer every call with an error.
func (p *postbox) says(err error) { p.answers(func(context.Context) error { return err }) }

// take returns the notices that came since the last take.
func (p *postbox) take() []checkout.PayerNotice {
	p.mu.Lock()
	defer p.mu.Unlock()
	got := p.got
	p.got = nil
	return got
}

// inWorldWithMail is inWorld whose payers are notified.
func inWorldWithMail(t *testing.T, test func(*testing.T, *world, *postbox), change ...func(*service.Config)) {
	t.Helper()
	p := &postbox{}
	inWorld(t, func(t *testing.T, w *world) { test(t, w, p) }, append(change, func(c *service.Config) { c.Notifier = p })...)
}

// notices returns what is on record of the notices of an order.
func (w *world) notices(t *testing.T, order string) []checkout.JobRecord {
	t.Helper()
	return w.jobs(t, order, checkout.JobNotify)
}

// However often the setup is seen complete, and by whatever call, its payer is notified once; then once of the agreement, with its PDF.
func TestAPayerIsNotifiedOnceOfTheSetupAndOnceOfTheAgreement(t *testing.T) {
	inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
		defer w.background(t)()
		o := w.opened(t, "ORDER-1")
		w.setUp(t, o.Token)
		for range 3 {
			time.Sleep(2 * time.Second) // within which it leaves
			w.polls(t, o.Checkout.ID)
			w.page(t, o.Token)
		}
		setup := mail.take()
		if len(setup) != 1 {
			t.Fatalf("after the setup %d notices were sent, want one: %+v", len(setup), setup)
		}
		if link := "https://pay.example/api/dd-setup?token=" + o.Token + "\n"; !strings.Contains(setup[0].Text, link) {
			t.Errorf("the notice of the setup has no link %s:\n%s", link, setup[0].Text)
		}
		for range 2 {
			w.confirms(t, confirm(o))
			time.Sleep(2 * time.Second)
		}
		agreed := mail.take()
		if len(agreed) != 1 {
			t.Fatalf("after two confirms %d notices were sent, want one: %+v", len(agreed), agreed)
		}
		r, n := w.records(t)["ORDER-1"], agreed[0]
		number := r.Agreement.Number
		if n.To != (checkout.Addressee{Name: "Aroha Ngata", Email: "aroha@example.ac.nz"}) || !strings.Contains(n.Subject, number) {
			t.Errorf("it goes to %+v, about %q", n.To, n.Subject)
		}
		if len(n.Attachments) != 1 || n.Attachments[0].Name != number+".pdf" || string(n.Attachments[0].Bytes) != "%PDF of "+number {
			t.Errorf("it has the attachments %+v, want the PDF", n.Attachments)
		}
		for i, got := range w.notices(t, "ORDER-1") {
			sent := []checkout.PayerNotice{setup[0], n}[i]
			if got.Job.ID != sent.ID || got.State != checkout.JobDone || got.Attempts != 1 || got.Receipt != "250 2.0.0 queued "+sent.ID {
				t.Errorf("on record %+v, want the proof that it was sent", got)
			}
		}
	})
}

// Where no agreement could be rendered the e-mail goes without the file, and where payers are not notified nothing is stored of it.
func TestTheNoticeOfAnAgreementWithoutAPDF(t *testing.T) {
	inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
		cmd := w.ready(t, "ORDER-1")
		w.printer.fail = 2
		w.confirms(t, cmd)
		w.runFor(t, 5*time.Second)
		if got := mail.take(); len(got) != 1 || len(got[0].Attachments) != 0 || !strings.Contains(got[0].Text, w.records(t)["ORDER-1"].Agreement.Number) {
			t.Errorf("sent %+v, want the agreement alone, without a file", got)
		}
	})
	inWorld(t, func(t *testing.T, w *world) {
		w.confirmed(t, "ORDER-1")
		if got := w.notices(t, "ORDER-1"); len(got) != 0 {
			t.Errorf("notices on record %+v, want none", got)
		}
	})
}

// A mail server that hangs keeps no call waiting, and the end of the service for five seconds.
func TestANotifierThatHangsDelaysNoAnswer(t *testing.T) {
	inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
		mail.answers(hangs)
		stop := w.background(t)
		start := time.Now()
		for i := range 10 {
			w.confirmed(t, fmt.Sprint("ORDER-", i))
		}
		if took := time.Since(start); took > 0 {
			t.Errorf("ten enrolments took %s", took)
		}
		time.Sleep(2 * time.Second)
		start = time.Now()
		stop()
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("the service took %s to stop, want 5 s", took)
		}
	})
}

// A notice is attempted until it is taken over, for 24 hours, under one id and with one text; a refusal that is definite ends that at once.
func TestHowOftenANoticeIsAttempted(t *testing.T) {
	for name, tt := range map[string]struct {
		answer   error
		takes    int // after so many refusals it is taken
		attempts int
		state    checkout.JobState
	}{
		"greylisted":       {errGreylisted, 3, 4, checkout.JobDone},
		"never taken":      {errGreylisted, 100, 9, checkout.JobFailed},
		"refused for good": {&checkout.NoticeRefusal{Answer: "550 5.1.1 no such user"}, 100, 1, checkout.JobFailed},
	} {
		t.Run(name, func(t *testing.T) {
			inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
				w.ready(t, "ORDER-1")
				left := tt.takes
				mail.answers(func(context.Context) error {
					if left--; left < 0 {
						return nil
					}
					return tt.answer
				})
				for range 12 {
					w.runFor(t, time.Second/2)
					w.clock.forward(25 * time.Hour) // longer than any pause
				}
				got, r := mail.take(), w.notices(t, "ORDER-1")[0]
				for _, n := range got {
					if n.ID != got[0].ID || n.To != got[0].To || !n.At.Equal(got[0].At) {
						t.Errorf("another attempt sends %+v\nwant    %+v", n, got[0])
					}
				}
				if len(got) != tt.attempts || r.State != tt.state || r.Attempts != tt.attempts || !strings.Contains(r.Failure.Reason, tt.answer.Error()) {
					t.Errorf("%d attempts, and on record %+v; want %d, and it %s", len(got), r, tt.attempts, tt.state)
				}
				severities := map[service.Severity]int{}
				for _, f := range w.reports.take() {
					severities[f.Severity]++
				}
				failed := map[checkout.JobState]int{checkout.JobFailed: 1}[tt.state]
				if severities[service.Error] != failed || severities[service.Warning] != min(tt.attempts, tt.takes)-failed {
					t.Errorf("reported %v, want a warning for each attempt, and an error for the last", severities)
				}
			})
		})
	}
}

// While the mail server cannot be reached, for however long, notices wait, use up no attempts, and are no trouble.
func TestAnOutageOfTheNotifierUsesUpNoAttempts(t *testing.T) {
	inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
		mail.says(fmt.Errorf("dial: connection refused: %w", ports.ErrBusy))
		for i := range 20 {
			w.ready(t, fmt.Sprint("ORDER-", i))
		}
		w.runFor(t, 3*time.Minute)
		if b := w.backlog(t, checkout.JobNotify); b.Waiting != 20 || b.Failing != 20 || b.Age < 3*time.Minute {
			t.Errorf("the backlog is %+v; want 20 of three minutes", b)
		}
		mail.says(nil)
		w.runFor(t, time.Minute)
		for i := range 20 {
			if r := w.notices(t, fmt.Sprint("ORDER-", i))[0]; r.State != checkout.JobDone || r.Attempts != 1 {
				t.Errorf("on record %+v, want it sent", r)
			}
		}
		if b := w.backlog(t, checkout.JobNotify); b != (service.Backlog{}) {
			t.Errorf("the backlog is %+v; want none", b)
		}
	})
}

// Several processes notify the payer of one checkout, through a mail server that takes its time and may refuse the first attempts. The
// confirm comes at any moment: the payer is told of the setup before the agreement or not at all, and of one thing at a time.
func TestAPayerIsNeverToldOfTheSetupAfterTheAgreement(t *testing.T) {
	for _, tt := range []struct {
		name    string
		confirm time.Duration // after the setup
		refused int64         // of the first attempts
		setup   checkout.JobState
		within  time.Duration // of the confirm the agreement is sent
	}{
		{"while the notice of the setup is under way", 3 * time.Second, 0, checkout.JobDone, 15 * time.Second},
		{"while an attempt at it is under way that fails", 3 * time.Second, 1, checkout.JobDropped, 75 * time.Second},
		{"while it waits for its next attempt", 20 * time.Second, 1, checkout.JobDropped, 15 * time.Second},
		{"when it is sent", 20 * time.Second, 0, checkout.JobDone, 15 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
				var underWay, attempts atomic.Int64
				mail.answers(func(context.Context) error {
					if n := underWay.Add(1); n > 1 {
						t.Errorf("%d notices are under way at once", n)
					}
					defer underWay.Add(-1)
					time.Sleep(5 * time.Second)
					if attempts.Add(1) <= tt.refused {
						return errGreylisted
					}
					return nil
				})
				for range 3 {
					defer w.again(t).background(t)()
				}
				cmd := w.ready(t, "ORDER-1")
				time.Sleep(tt.confirm)
				w.confirms(t, cmd)
				time.Sleep(tt.within)
				list := w.notices(t, "ORDER-1")
				if list[0].State != tt.setup || list[1].State != checkout.JobDone {
					t.Errorf("on record %+v and %+v, want the setup's %s, and the agreement's sent within %s", list[0], list[1], tt.setup, tt.within)
				}
			})
		})
	}
}
