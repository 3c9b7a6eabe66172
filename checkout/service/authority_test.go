package service_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/money"
)

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
	if failure != nil {
		creditor = checkout.Creditor{}
	}
	select {
	case <-time.After(slow):
		return creditor, failure
	case <-ctx.Done():
		return checkout.Creditor{}, ctx.Err()
	}
}

// says sets the answers from now on: who debits, and why not.
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

// inKnowingWorld runs a test in a world whose processor says that Rimu College debits, and whose operator's terms have an authority.
func inKnowingWorld(t *testing.T, terms agreement.Authority, test func(*testing.T, *world, *knowingProcessor)) {
	t.Helper()
	p := &knowingProcessor{}
	inWorld(t, func(t *testing.T, w *world) { test(t, w, p) }, func(c *service.Config) {
		p.processor = c.Processor.(*processor)
		p.says("Rimu College", nil, 0)
		c.Processor, c.Notifier = p, &postbox{}
		c.Terms.Lender = agreement.Lender{Name: "Pūtea Limited", Address: "1 Quay"}
		c.Terms.Authority = terms
	})
}

// debiting is the authority that everything must name.
func debiting(a agreement.Authority) string {
	return strings.Join([]string{a.Initiator, a.AuthorisationCode, a.Statement, a.Form, string(a.Calendar)}, "|")
}

func TestTheProcessorSaysWhoDebits(t *testing.T) {
	conditions := []agreement.Block{{Title: "Conditions", Text: "As the bank approved them."}}
	inKnowingWorld(t, agreement.Authority{Conditions: conditions}, func(t *testing.T, w *world, p *knowingProcessor) {
		o := w.opened(t, "ORDER-1")
		check := func(what string, a agreement.Authority) {
			t.Helper()
			if got, want := debiting(a), "Rimu College|0200001|Rimu College|GoCardless|business_days"; got != want || len(a.Conditions) != 1 {
				t.Errorf("%s: %s with %d conditions, want %s and the operator's condition", what, got, len(a.Conditions), want)
			}
		}
		check("setup page", w.page(t, o.Token).DebitTerms.Authority)
		w.setUp(t, o.Token)
		start := p.processor.starts[0]
		check("start of the setup", start.Terms.Authority)
		if first := w.page(t, o.Token).Payments[0]; start.First != first || first.Amount != 200_00 {
			t.Errorf("the processor is told of %+v, the page has %+v first", start.First, first)
		}
		w.confirms(t, confirm(o))
		agreed := w.records(t)["ORDER-1"].Agreement
		check("agreement", agreed.Terms.Authority)

		p.says("Another Company", nil, 0)
		time.Sleep(time.Hour)
		check("page of what was agreed", w.page(t, o.Token).LenderTerms.Authority)
	})
}

func TestBothEMailsNameWhoDebits(t *testing.T) {
	inKnowingWorld(t, agreement.Authority{}, func(t *testing.T, w *world, _ *knowingProcessor) {
		defer w.background(t)()
		cmd := w.ready(t, "ORDER-1")
		time.Sleep(time.Minute)
		w.confirms(t, cmd)
		time.Sleep(time.Minute)
		got := w.config.Notifier.(*postbox).take()
		for _, n := range got {
			says := []string{"Rimu College debits the account for the lender, Pūtea Limited", "0200001", "Each payment shows as Rimu College."}
			if len(n.Attachments) == 0 { // the agreement has it in its PDF
				says = append(says, "direct debits from Rimu College, with the authorisation code 0200001")
			}
			for _, want := range says {
				if !strings.Contains(n.Text, want) {
					t.Errorf("%q does not say %q:\n%s", n.Subject, want, n.Text)
				}
			}
		}
		if len(got) != 2 {
			t.Errorf("%d e-mails, want 2", len(got))
		}
	})
}

// What the processor does not say is as the operator's terms say it.
func TestTheTermsSayWhatTheProcessorDoesNot(t *testing.T) {
	inKnowingWorld(t, agreement.Authority{Initiator: "Pūtea", AuthorisationCode: "0123456"}, func(t *testing.T, w *world, p *knowingProcessor) {
		p.creditor.Authority = agreement.Authority{Form: "GoCardless", Statement: "PUTEA"}
		o := w.opened(t, "ORDER-1")
		if got, want := debiting(w.page(t, o.Token).DebitTerms.Authority), "Pūtea|0123456|PUTEA|GoCardless|business_days"; got != want {
			t.Errorf("the page has %s, want %s", got, want)
		}
	})
}

// A page asks who debits once in a minute at most, and waits for it only while nothing is known.
func TestNoPageWaitsForWhoDebitsWhileAnAnswerIsThere(t *testing.T) {
	inKnowingWorld(t, agreement.Authority{}, func(t *testing.T, w *world, p *knowingProcessor) {
		o := w.opened(t, "ORDER-1")
		p.says("Rimu College", nil, 2*time.Second)
		// opens opens pages at once, each of which must name the initiator, and returns how long they take.
		opens := func(pages int, initiator string) time.Duration {
			t.Helper()
			began := time.Now()
			var all sync.WaitGroup
			for range pages {
				all.Go(func() {
					page, err := w.SetupPage(t.Context(), o.Token)
					if err != nil || page.DebitTerms.Initiator() != initiator {
						t.Errorf("the page names %q, %v; want %s", page.DebitTerms.Initiator(), err, initiator)
					}
				})
			}
			all.Wait()
			return time.Since(began)
		}
		if took := opens(20, "Rimu College"); took != 2*time.Second || p.asked() != 1 {
			t.Errorf("the first pages took %s and %d questions, want 2 s and 1", took, p.asked())
		}
		p.says("Another Company", nil, 2*time.Second)
		time.Sleep(time.Minute - 3*time.Second)
		if took := opens(5, "Rimu College"); took != 0 || p.asked() != 1 {
			t.Errorf("pages within a minute took %s and %d questions, want none more", took, p.asked())
		}
		time.Sleep(time.Minute)
		if took := opens(5, "Rimu College"); took != 0 {
			t.Errorf("pages with an old answer took %s", took)
		}
		time.Sleep(3 * time.Second)
		if took := opens(5, "Another Company"); took != 0 || p.asked() != 2 {
			t.Errorf("pages after the new answer took %s and %d questions, want 2 in all", took, p.asked())
		}
		p.says("", errors.New("connection reset"), 2*time.Second)
		w.wantNoReports(t)
		time.Sleep(time.Hour)
		for range 5 {
			if took := opens(5, "Another Company"); took != 0 {
				t.Errorf("pages took %s while the processor is away", took)
			}
			time.Sleep(3 * time.Second)
		}
		if p.asked() != 3 {
			t.Errorf("%d questions in all, want 3: one more while the processor is away", p.asked())
		}
		w.wantReport(t, service.OperationReady, service.Warning, "ask who debits for provider KOWHAI: connection reset")
	})
}

// A payer who hangs up does not end the first question for the others, who wait for its answer.
func TestAPayerWhoHangsUpDoesNotEndTheQuestion(t *testing.T) {
	inKnowingWorld(t, agreement.Authority{}, func(t *testing.T, w *world, p *knowingProcessor) {
		o := w.opened(t, "ORDER-1")
		p.says("Rimu College", nil, 2*time.Second)
		gone, hangUp := context.WithTimeout(t.Context(), time.Second)
		defer hangUp()
		go w.SetupPage(gone, o.Token)
		synctest.Wait()
		if page := w.page(t, o.Token); page.DebitTerms.Initiator() != "Rimu College" || p.asked() != 1 {
			t.Errorf("the page names %q after %d questions, want Rimu College after 1", page.DebitTerms.Initiator(), p.asked())
		}
	})
}

// While nobody knows who debits, no page names another, no agreement is concluded, and a link that has ended still says so.
func TestWithoutAnyAnswerPagesAndConfirmsAreBusy(t *testing.T) {
	inKnowingWorld(t, agreement.Authority{}, func(t *testing.T, w *world, p *knowingProcessor) {
		cmd := w.ready(t, "ORDER-1")
		token := cmd.Token.Value
		p.says("", errors.New("connection reset"), 0)
		w = w.again(t)
		_, err := w.SetupPage(t.Context(), token)
		expect(t, err, checkout.CodeBusy)
		_, err = w.confirm(t, cmd)
		expect(t, err, checkout.CodeBusy)
		if got := w.records(t)["ORDER-1"]; got.Agreement != nil {
			t.Errorf("agreement %+v was concluded", got.Agreement)
		}
		p.says("", nil, time.Hour) // it hangs
		began := time.Now()
		_, err = w.SetupPage(t.Context(), token)
		expect(t, err, checkout.CodeBusy)
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("the page took %s, want 5 s", took)
		}
		p.says("Rimu College", nil, 0)
		w.confirms(t, cmd)
		synctest.Wait()
	})
}

func TestTermsThatContradictTheProcessorAreNamed(t *testing.T) {
	terms := agreement.Authority{Initiator: "Pūtea Limited", AuthorisationCode: "0123456", Statement: "particulars PUTEA", Calendar: money.EveryDay}
	const lines = `authority.authorisation_code: the terms say "0123456", and the processor "0200001"
authority.collection_days: the terms say "every_day", and the processor "business_days"
authority.initiator: the terms say "Pūtea Limited", and the processor "Rimu College"
authority.particulars, code and reference: the terms say "particulars PUTEA", and the processor "Rimu College"`
	inKnowingWorld(t, terms, func(t *testing.T, w *world, p *knowingProcessor) {
		if err := w.CheckTerms(t.Context()); err == nil || err.Error() != lines {
			t.Errorf("CheckTerms = %v, want\n%s", err, lines)
		}
		if err := w.Health(t.Context()).Processor; err == nil || !strings.Contains(err.Error(), lines) {
			t.Errorf("readiness is %v, want\n%s", err, lines)
		}
		p.says("", errors.New("connection reset"), 0) // what is known without it is said all the same
		if err := w.CheckTerms(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "authority.collection_days") || strings.Contains(err.Error(), "\n") {
			t.Errorf("CheckTerms = %v, want the collection days alone", err)
		}
	})
	for name, same := range map[string]agreement.Authority{"nothing": {}, "the same": {Initiator: "Rimu College", Calendar: money.BusinessDays}} {
		inKnowingWorld(t, same, func(t *testing.T, w *world, _ *knowingProcessor) {
			if err := errors.Join(w.CheckTerms(t.Context()), w.Health(t.Context()).Processor); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}
