package upgrade_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/demo"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/pdftext"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

func TestSetupOfTheEarlierVersionIsConfirmed(t *testing.T) {
	upgraded(t, func(t *testing.T, s suite) {
		created := s.replay(t, "SETUP-1")
		confirmed := s.Confirm(t, created)
		agrees(t, confirmed, http.StatusOK, map[string]any{"checkout.status": "confirmed",
			"checkout.id": s.was.orders["SETUP-1"].id(), "enrolment.status": "complete", "direct_debit.setup_complete": true,
			"direct_debit.mandate_status": "pending_submission", "agreement.pdf_generated": true, "already_confirmed": false})
		number := confirmed.String("agreement.number")
		for order, was := range s.was.orders {
			if was["agreement"].Text("agreement_number") == number {
				t.Errorf("its agreement has the number of %s, %s", order, number)
			}
		}
		text := s.document(t, number)
		for _, want := range []string{"in words that are not quite those below.", "Terms accepted" + acceptedTerms} {
			if !strings.Contains(text, withoutSpace(want)) {
				t.Errorf("the PDF does not say %q:\n%s", want, text)
			}
		}
		agrees(t, s.Confirm(t, created), http.StatusOK, map[string]any{"already_confirmed": true, "agreement.number": number})
		s.delivered(t, "checkout.confirmed SETUP-1", "agreement.generated SETUP-1")
	})
}

// acceptedTerms are those that the payers of KOWHAI accepted on the setup page of the earlier version.
const acceptedTerms = "2026-11-21/2/05063a8a8a842671"

// document returns the text of an agreement's PDF without white space, because a line may break anywhere.
func (s suite) document(t *testing.T, number string) string {
	t.Helper()
	doc, err := s.Store.Document(t.Context(), number)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := pdftext.Read(doc.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return withoutSpace(strings.Join(pages, ""))
}

func withoutSpace(text string) string { return strings.Join(strings.Fields(text), "") }

func TestRepeatedConfirmAnswersTheAgreementOnRecord(t *testing.T) {
	upgraded(t, func(t *testing.T, s suite) {
		for _, order := range []string{"CONFIRMED-1", "LEGACY-CONFIRMED"} {
			t.Run(order, func(t *testing.T) {
				was, created := s.was.orders[order], s.replay(t, order)
				body := sandbox.Set(t, created.ConfirmBody(), "checkout.checkout_token", `"`+s.was.tokens[order]+`"`)
				agrees(t, s.Post(t, was.provider(), created.CheckoutPath()+"/confirm", body), http.StatusOK, map[string]any{
					"checkout.status":         "confirmed",
					"enrolment.status":        "complete",
					"agreement.id":            was["agreement"].At("agreement_id"),
					"agreement.number":        was["agreement"].At("agreement_number"),
					"agreement.pdf_generated": was["agreement"].At("pdf_generated"),
					"already_confirmed":       true,
				})
			})
		}
		s.delivered(t)
	})
}

func TestUnfinishedSetupIsNotConfirmed(t *testing.T) {
	upgraded(t, func(t *testing.T, s suite) {
		for _, order := range []string{"OPEN-1", "OPEN-KEY", "LEGACY-OPEN", "BEGUN-1", "DEAD-1"} {
			t.Run(order, func(t *testing.T) {
				refused(t, s.Confirm(t, s.replay(t, order)), "DIRECT_DEBIT_SETUP_INCOMPLETE")
			})
		}
		s.delivered(t)
	})
}

// The payers have the links of the earlier version.
func TestLinkOpensItsPage(t *testing.T) {
	upgraded(t, func(t *testing.T, s suite) {
		for _, tt := range []struct{ name, order, title, says string }{
			{"open", "OPEN-1", sandbox.OpenTitle, "Diploma in Business"},
			{"open, without a catalogue", "LEGACY-OPEN", sandbox.OpenTitle, "Carpentry, Level 4"},
			{"begun", "BEGUN-1", sandbox.OpenTitle, "Continue to bank details"},
			{"whose mandate failed", "DEAD-1", sandbox.OpenTitle, "Continue to bank details"},
			{"set up", "SETUP-1", sandbox.DoneTitle, "ending in 89 before the suffix"},
			{"confirmed", "CONFIRMED-1", sandbox.ConfirmedTitle, "PPA-2026-000001"},
			{"confirmed, without a catalogue", "LEGACY-CONFIRMED", sandbox.ConfirmedTitle, "PPA-2026-000002"},
		} {
			t.Run(tt.name+", "+tt.order, func(t *testing.T) {
				for _, address := range []string{s.link(tt.order), strings.Replace(s.link(tt.order), "?", "/legal?", 1)} {
					if r := s.Visit(t, address); r.Status != http.StatusOK {
						t.Errorf("%s: %d %s", address, r.Status, r.Body)
					}
				}
				r := s.Visit(t, s.link(tt.order))
				if got := titleOf(t, r); got != tt.title || !strings.Contains(r.Body, tt.says) {
					t.Errorf("the page %q says %s\nwant %q with %q", got, r.Body, tt.title, tt.says)
				}
			})
		}
	})
}

// titleOf returns the heading of a page.
func titleOf(t *testing.T, r response) string {
	t.Helper()
	p, err := demo.ParsePage([]byte(r.Body))
	if err != nil {
		t.Fatal(err)
	}
	return p.Heading
}

func TestPayerFinishesWhatIsOpen(t *testing.T) {
	upgraded(t, func(t *testing.T, s suite) {
		for _, order := range []string{"OPEN-1", "LEGACY-OPEN", "BEGUN-1", "DEAD-1", "SHADOW-A", "SHADOW-B"} {
			t.Run(order, func(t *testing.T) {
				payer := demo.NewBrowser(&http.Client{})
				if err := payer.SetUp(t.Context(), s.link(order)); err != nil {
					t.Fatal(err)
				}
				s.Clock.Forward(5 * time.Second) // what the processor said before is asked again
				agrees(t, s.get(t, order), http.StatusOK, map[string]any{"direct_debit.setup_complete": true,
					"direct_debit.billing_request_status": "fulfilled", "direct_debit.mandate_status": "pending_submission"})
				agrees(t, s.Confirm(t, s.replay(t, order)), http.StatusOK,
					map[string]any{"already_confirmed": false, "agreement.pdf_generated": true})
			})
		}
	})
}

// A payer may have the setup page of the earlier version open. Its form names the terms that it showed.
func TestOpenPageOfTheEarlierVersionLeadsToTodaysTerms(t *testing.T) {
	upgraded(t, func(t *testing.T, s suite) {
		r := s.Submit(t, sandbox.SetupPagePath, []string{"token", s.was.tokens["OPEN-1"], "terms", acceptedTerms})
		page, err := demo.ParsePage([]byte(r.Body))
		if err != nil || r.Status != http.StatusConflict || !strings.Contains(r.Body, "The terms have changed") {
			t.Fatalf("answer %d %s, %v; want the page with the terms that have changed", r.Status, r.Body, err)
		}
		var fields []string
		for name, values := range page.Form {
			fields = append(fields, name, values[0])
		}
		r = s.Submit(t, page.Action, fields)
		if r.Status != http.StatusSeeOther || !strings.HasPrefix(r.Header.Get("Location"), s.URL+sandbox.BankFormPath) {
			t.Errorf("its form leads to %d %q, want the bank's form", r.Status, r.Header.Get("Location"))
		}
	})
}

func TestExpiredLinkIsReplacedByAReplay(t *testing.T) {
	upgraded(t, func(t *testing.T, s suite) {
		s.Clock.Forward(7 * 24 * time.Hour)
		if got := titleOf(t, s.Visit(t, s.link("OPEN-1"))); got != sandbox.ExpiredTitle {
			t.Errorf("after seven days the link shows %q, want %q", got, sandbox.ExpiredTitle)
		}
		renewed := s.replay(t, "OPEN-1").String("direct_debit.setup_url")
		if renewed == s.link("OPEN-1") {
			t.Errorf("a replay answers the expired link")
		}
		if got := titleOf(t, s.Visit(t, renewed)); got != sandbox.OpenTitle {
			t.Errorf("the link of the replay shows %q, want %q", got, sandbox.OpenTitle)
		}
	})
}
