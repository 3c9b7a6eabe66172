package service_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/money"
)

// Readiness speaks of the store, the configuration and the processor: not of a CRM, a mail server or a receiver that is away.
func TestReadinessTellsTheTruth(t *testing.T) {
	inWorldWithAll(t, func(t *testing.T, w *world, mail *postbox, c *crm) {
		c.says(errBroken)
		mail.says(errBroken)
		w.receiver.answers(answers500(0))
		w.confirmed(t, "ORDER-1")
		w.reports.take()
		r := w.Readiness(t.Context())
		if !r.ReadyForAPICalls || !r.WebhookDestinationsConfigured || r.Environment != catalogue.Sandbox || r.Processor != "scripted" || r.BaseURL != w.BaseURL() {
			t.Errorf("readiness %+v", r)
		}
		w.processor.err = errBroken
		silent := kowhai()
		silent.Provider.Destination = catalogue.Destination{}
		w.configure(t, silent)
		for range 3 {
			if r := w.Readiness(t.Context()); r.ReadyForAPICalls || r.WebhookDestinationsConfigured {
				t.Errorf("without the processor and a destination: %+v", r)
			}
		}
		w.wantReport(t, service.OperationReady, service.Error, "the processor is not ready: "+errBroken.Error())
	})
	for method, part := range map[string]string{"Ready": "the store", "Providers": "the configuration"} {
		store, change := newFaulty()
		inWorld(t, func(t *testing.T, w *world) {
			store.arm(func(m string, _ int) error { return map[string]error{method: errBroken}[m] })
			for range 3 {
				if r := w.Readiness(t.Context()); r.ReadyForAPICalls {
					t.Errorf("without %s: %+v", part, r)
				}
			}
			if n := len(store.called(method)); n != 1 {
				t.Errorf("%s was checked %d times in a moment", part, n)
			}
			w.wantReport(t, service.OperationReady, service.Error, part+" is not ready: "+errBroken.Error())
		}, change)
	}
}

// However many ask, there is one check a second, and what hangs is not ready after a second.
func TestAFloodOfQuestionsIsOneCheckASecond(t *testing.T) {
	takes, asked := 100*time.Millisecond, 0
	inWorld(t, func(t *testing.T, w *world) {
		flood := func(within time.Duration, checks int, ready bool) {
			t.Helper()
			start := time.Now()
			var all sync.WaitGroup
			for range crowd {
				all.Go(func() {
					if h := w.Health(t.Context()); (h.Store == nil) != ready || h.Processor != nil {
						t.Errorf("health = %+v, want a store that is ready: %v", h, ready)
					}
				})
			}
			all.Wait()
			if took := time.Since(start); took != within || asked != checks {
				t.Errorf("the answers took %s and %d checks so far, want %s and %d", took, asked, within, checks)
			}
		}
		flood(takes, 1, true)
		time.Sleep(time.Second - time.Nanosecond)
		flood(0, 1, true)
		time.Sleep(time.Nanosecond)
		flood(takes, 2, true)
		takes = time.Hour
		time.Sleep(2 * time.Second)
		flood(time.Second, 3, false)
	}, disturbing(func(ctx context.Context, method string, call func(context.Context) error) error {
		if method != "Ready" {
			return call(ctx)
		}
		asked++
		select {
		case <-time.After(takes):
			return call(ctx)
		case <-ctx.Done():
			return ctx.Err()
		}
	}))
}

// knowingProcessor knows the creditors of its accounts.
type knowingProcessor struct {
	*processor
	mu       sync.Mutex
	creditor checkout.Creditor
	failure  error
	slow     time.Duration
	checked  int
}

func (p *knowingProcessor) Info() checkout.ProcessorInfo {
	info := p.processor.Info()
	info.Calendar = money.BusinessDays
	return info
}

func (p *knowingProcessor) CheckAccount(ctx context.Context, _ checkout.Account) (checkout.Creditor, error) {
	p.mu.Lock()
	p.checked++
	creditor, failure, slow := p.creditor, p.failure, p.slow
	p.mu.Unlock()
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		failure = ctx.Err()
	}
	if failure != nil {
		return checkout.Creditor{}, failure
	}
	return creditor, nil
}

// says sets the answers from now on: who debits, or why that cannot be said.
func (p *knowingProcessor) says(initiator string, failure error, slow time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.creditor.Authority = agreement.Authority{Initiator: initiator, AuthorisationCode: "0200001", Statement: initiator, Form: "GoCardless"}
	p.failure, p.slow = failure, slow
}

// asked returns how often the processor was asked.
func (p *knowingProcessor) asked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.checked
}

// inKnowingWorld runs a test in a world whose processor says that Rimu College debits.
func inKnowingWorld(t *testing.T, test func(*testing.T, *world, *knowingProcessor), change ...func(*service.Config)) {
	t.Helper()
	p := &knowingProcessor{}
	inWorld(t, func(t *testing.T, w *world) { test(t, w, p) }, append(change, func(c *service.Config) {
		p.processor = c.Processor.(*processor)
		p.says("Rimu College", nil, 0)
		c.Processor = p
	})...)
}

// noticeOf has payments collected so many days after their notice.
func noticeOf(days int) func(*service.Config) {
	return func(c *service.Config) { c.Terms.NoticeDays = days }
}

// A page asks who debits once in a minute at most, and waits for it only while nothing is known; who hangs up ends no question.
func TestNoPageWaitsForWhoDebitsWhileAnAnswerIsThere(t *testing.T) {
	inKnowingWorld(t, func(t *testing.T, w *world, p *knowingProcessor) {
		o := w.opened(t, "ORDER-1")
		p.says("Rimu College", nil, 2*time.Second)
		// opens opens pages at once, each of which must name the initiator, within a time.
		opens := func(initiator string, within time.Duration, asked int) {
			t.Helper()
			start := time.Now()
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					page, err := w.SetupPage(t.Context(), o.Token)
					if err != nil || page.DebitTerms.Initiator() != initiator {
						t.Errorf("the page names %q, %v; want %s", page.DebitTerms.Initiator(), err, initiator)
					}
				})
			}
			all.Wait()
			synctest.Wait()
			if took := time.Since(start); took != within || p.asked() != asked {
				t.Errorf("pages took %s and %d questions, want %s and %d", took, p.asked(), within, asked)
			}
		}
		gone, hangUp := context.WithTimeout(t.Context(), time.Millisecond)
		defer hangUp()
		go w.SetupPage(gone, o.Token)
		synctest.Wait()
		opens("Rimu College", 2*time.Second, 1)
		p.says("Another Company", nil, 2*time.Second)
		time.Sleep(time.Minute - 3*time.Second)
		opens("Rimu College", 0, 1)
		time.Sleep(time.Minute)
		opens("Rimu College", 0, 2)
		time.Sleep(3 * time.Second)
		opens("Another Company", 0, 2)
		w.wantNoReports(t)
		p.says("", errBroken, 2*time.Second)
		time.Sleep(time.Hour)
		opens("Another Company", 0, 3)
		time.Sleep(3 * time.Second)
		opens("Another Company", 0, 3)
		w.wantReport(t, service.OperationReady, service.Warning, "ask who debits for provider KOWHAI: "+errBroken.Error())
	})
}

// While nobody knows who debits, no page names another, and no agreement is concluded.
func TestWithoutAnyAnswerPagesAndConfirmsAreBusy(t *testing.T) {
	inKnowingWorld(t, func(t *testing.T, w *world, p *knowingProcessor) {
		cmd := w.ready(t, "ORDER-1")
		w = w.again(t)
		p.says("", errBroken, 0)
		_, err := w.confirm(t, cmd)
		expect(t, err, checkout.CodeBusy)
		p.says("", nil, time.Hour) // it hangs
		start := time.Now()
		_, err = w.SetupPage(t.Context(), cmd.Token.Value)
		expect(t, err, checkout.CodeBusy)
		if took := time.Since(start); took != 5*time.Second || w.records(t)["ORDER-1"].Agreement != nil {
			t.Errorf("the page took %s, want 5 s, and no agreement", took)
		}
		p.says("Rimu College", nil, 0)
		w.confirms(t, cmd)
		synctest.Wait()
	})
}

// The service is not ready while a provider that may be used gives too little notice.
func TestTheProcessorIsNotReadyForTooLittleNotice(t *testing.T) {
	for _, tt := range []struct {
		given, least int
		active       bool
		want         string
	}{
		{3, 3, true, ""}, {0, 10, true, ""}, {2, 3, false, ""},
		{2, 3, true, "provider KOWHAI: the terms have a notice of 2 calendar days, and its account needs 3 days at least"},
		{0, 11, true, "provider KOWHAI: the terms have a notice of 10 calendar days"},
	} {
		inKnowingWorld(t, func(t *testing.T, w *world, p *knowingProcessor) {
			c := kowhai()
			c.Provider.Active, p.creditor.Notice = tt.active, tt.least
			w.configure(t, c)
			if err := w.Health(t.Context()).Processor; (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v: %v", tt, err)
			}
		}, noticeOf(tt.given))
	}
}
