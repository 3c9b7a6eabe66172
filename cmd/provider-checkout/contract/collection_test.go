package contract_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/jsonlines"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/money"
)

// confirmedOn confirms a checkout of KOWHAI with another first payment date.
func (s *suite) confirmedOn(t *testing.T, id string, first money.Date) response {
	t.Helper()
	created := s.Ready(t, id)
	body := set(t, created.ConfirmBody(), "payment.first_payment_date", `"`+first.String()+`"`)
	r := s.Post(t, "KOWHAI", created.CheckoutPath()+"/confirm", body)
	if r.Status != http.StatusOK {
		t.Fatalf("confirm: %d %s", r.Status, r.Body)
	}
	return created
}

// The payments of a plan whose first date has passed are collected one period apart, from the first lawful day on, and
// page, agreement and export have the same dates.
func TestContract3AFirstPaymentDateThatHasPassedNeverBunchesPayments(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		zone, err := time.LoadLocation("Pacific/Auckland")
		if err != nil {
			t.Fatal(err)
		}
		for i, tt := range []struct {
			name  string
			first int // days from today
		}{
			{"passed long ago", -6000},
			{"passed two months ago", -60},
			{"today", 0},
			{"days too soon", 6},
			{"when the notice is over", 10},
			{"later", 40},
		} {
			t.Run(tt.name, func(t *testing.T) {
				today := money.DateOf(s.Clock.Now().In(zone))
				first := today.AddDays(tt.first)
				start := first
				if tt.first < 10 { // the usual notice: then from the first bank day on
					start = today.AddDays(10).NextBankDay()
				}
				created := s.confirmedOn(t, fmt.Sprint("ORDER-", i), first)

				page := s.Visit(t, created.String("direct_debit.setup_url")).Body
				var export bytes.Buffer
				if err := s.Store.Export(t.Context(), jsonlines.NewVisitor(&export, nil)); err != nil {
					t.Fatal(err)
				}
				charges := 0
				for line := range strings.Lines(export.String()) {
					if !strings.Contains(line, `"kind":"charge"`) || !strings.Contains(line, created.String("checkout.checkout_id")) {
						continue
					}
					want := start.After(money.Weekly, charges)
					collected := want.String()
					due := fmt.Sprintf(`"due_date":"%s"`, first.After(money.Weekly, charges))
					notBefore := fmt.Sprintf(`"not_before":"%s"`, collected)
					if !strings.Contains(line, due) || strings.Contains(line, notBefore) != (tt.first < 10) {
						t.Errorf("charge %d is exported as %s, want it collected on %s", charges+1, line, collected)
					}
					if day := fmt.Sprintf(`<th scope="row">%s</th>`, strings.TrimSuffix(want.Long(),
						fmt.Sprintf(" %s %d", want.Month, want.Year))); !strings.Contains(page, day) {
						t.Errorf("charge %d: the page lacks %s", charges+1, day)
					}
					charges++
				}
				if charges != 53 {
					t.Errorf("%d charges are exported, want 53", charges)
				}
				records := s.Records(t)
				a := records[len(records)-1].Agreement
				for k, date := range a.CollectionDates() {
					if want := start.After(money.Weekly, k); date != want {
						t.Errorf("the agreement has charge %d on %s, want %s", k+1, date, want)
					}
				}
				text := s.document(t, a.Number)
				for _, day := range []money.Date{start, start.After(money.Weekly, 52)} {
					if !strings.Contains(text, sandbox.WithoutSpace(day.Long())) {
						t.Errorf("the PDF lacks the day %s:\n%s", day.Long(), text)
					}
				}
			})
		}
	})
}
