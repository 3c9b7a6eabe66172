package contract_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

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
				calendar := money.EveryDay
				if s.Bank != nil { // GoCardless
					calendar = money.BusinessDays
				}
				start := first
				if lawful := calendar.Next(today.AddDays(10)); calendar.Next(first).Before(lawful) { // the usual notice
					start = lawful
				}
				taken := func(k int) money.Date { return calendar.Next(start.After(money.Weekly, k)) }
				created := s.confirmedOn(t, fmt.Sprint("ORDER-", i), first)

				page := s.Visit(t, created.String("direct_debit.setup_url")).Body
				charges := 0
				for line := range strings.SplitSeq(string(s.Records(t)[i].Agreement.Facts()), "{") {
					if !strings.Contains(line, `"due_date"`) {
						continue
					}
					want := taken(charges)
					due := fmt.Sprintf(`"due_date":"%s"`, first.After(money.Weekly, charges))
					notBefore := fmt.Sprintf(`"not_before":"%s"`, start.After(money.Weekly, charges))
					collected := fmt.Sprintf(`"collection_date":"%s"`, want)
					if !strings.Contains(line, due) || !strings.Contains(line, notBefore) || !strings.Contains(line, collected) {
						t.Errorf("charge %d stands in the facts as %s, want it planned for %s and collected on %s", charges+1, line,
							start.After(money.Weekly, charges), want)
					}
					if day := fmt.Sprintf(`<th scope="row">%s<`, strings.TrimSuffix(want.Long(),
						fmt.Sprintf(" %s %d", want.Month, want.Year))); !strings.Contains(page, day) {
						t.Errorf("charge %d: the page lacks %s", charges+1, day)
					}
					charges++
				}
				if charges != 53 {
					t.Errorf("%d charges stand in the facts, want 53", charges)
				}
				records := s.Records(t)
				a := records[len(records)-1].Agreement
				for k, p := range a.Payments() {
					if want := taken(k); p.Taken != want {
						t.Errorf("the agreement has charge %d on %s, want %s", k+1, p.Taken, want)
					}
				}
				text := s.document(t, a.Number)
				for _, day := range []money.Date{taken(0), taken(52)} {
					if !strings.Contains(text, sandbox.WithoutSpace(day.Long())) {
						t.Errorf("the PDF lacks the day %s:\n%s", day.Long(), text)
					}
				}
			})
		}
	})
}

const parent = "HANA & T NGATA"

// goOn sends the form of the setup page from a browser at that address.
func (s *suite) goOn(t *testing.T, page response, from string) response {
	t.Helper()
	var fields []string
	for _, e := range pick(sandbox.Elements(t, page), "input", "type", "hidden") {
		fields = append(fields, e.Attr["name"], e.Attr["value"])
	}
	return s.Submit(t, sandbox.SetupPagePath, fields, "X-Forwarded-For", from)
}

// document returns the text of an agreement's PDF without white space.
func (s *suite) document(t *testing.T, number string) string {
	t.Helper()
	return sandbox.DocumentText(t, s.Store, number)
}
