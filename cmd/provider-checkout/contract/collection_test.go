package contract_test

import (
	"fmt"
	"html"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout/service"
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
					due := fmt.Sprintf(`"due_date": "%s"`, first.After(money.Weekly, charges))
					notBefore := fmt.Sprintf(`"not_before": "%s"`, start.After(money.Weekly, charges))
					collected := fmt.Sprintf(`"collection_date": "%s"`, want)
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

// Section 1 distinguishes the payer from the student: a parent may pay. Nothing on the way is locked to the student's name, and
// the agreement says who pays, who studies, and whose consent it is.
func TestContract1TheAgreementNamesThePayerAndTheStudent(t *testing.T) {
	for _, tt := range []struct {
		processor string
		open      func(*testing.T) *suite
		pay       func(*testing.T, *suite, string)
	}{
		{"fake", func(t *testing.T) *suite { withTheFake(t); return newSuite(t, sandbox.Memory) },
			func(t *testing.T, s *suite, form string) {
				s.Submit(t, form, []string{"account_holder_name", parent, "account_number", goodAccount, "authority_confirmed", "yes"})
			}},
		{"gocardless", func(t *testing.T) *suite {
			return &suite{sandbox.NewOver(t, sandbox.Outside{GoCardless: true}, sandbox.Memory)}
		}, payAsAParent},
	} {
		t.Run(tt.processor, func(t *testing.T) {
			s := tt.open(t)
			created := s.Create(t, "ORDER-1")
			page := s.Visit(t, created.String("direct_debit.setup_url"))
			if !strings.Contains(page.Body, "Student: <bdi translate=\"no\">Aroha Ngata</bdi>") || strings.Contains(page.Body, "your name") {
				t.Errorf("the setup page does not tell the student from its reader:\n%s", page.Body)
			}
			tt.pay(t, s, s.goOn(t, page, "").Header.Get("Location"))
			s.Settle(t)
			confirmed := s.Confirm(t, created)
			if confirmed.Status != http.StatusOK {
				t.Fatalf("confirm answers %d %s", confirmed.Status, confirmed.Body)
			}
			a := s.record(t, "ORDER-1").Agreement
			if a.DirectDebit.AccountHolder != parent || a.Student.FirstName != "Aroha" || a.Student.LastName != "Ngata" {
				t.Errorf("the agreement is of the payer %q and the student %+v", a.DirectDebit.AccountHolder, a.Student)
			}
			shown := s.Visit(t, strings.Replace(created.SetupURL(), "?", "/agreement?", 1)).Body
			for name, text := range map[string]string{"PDF": s.document(t, confirmed.String("agreement.number")),
				"page": html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(shown, ""))} {
				for _, said := range []string{"Payer" + parent + " (the name given with the bank account)" + "Student" + "Aroha Ngata", "Student’s email" + a.Student.Email,
					"The student accepts the payment plan.", "The payer is the account holder",
					"The payer accepted the direct debit terms on the setup page on"} {
					if !strings.Contains(sandbox.WithoutSpace(text), sandbox.WithoutSpace(said)) {
						t.Errorf("the %s does not say %q:\n%s", name, said, text)
					}
				}
				if strings.Contains(sandbox.WithoutSpace(text), sandbox.WithoutSpace("Payer"+"Aroha")) {
					t.Errorf("the %s calls the student the payer:\n%s", name, text)
				}
			}
		})
	}
}

// payAsAParent gives the parent's name in place of the student's, which GoCardless' page comes with, and the parent's account.
func payAsAParent(t *testing.T, s *suite, page string) {
	t.Helper()
	details := sandbox.Elements(t, s.Visit(t, page))
	for field, student := range map[string]string{"given_name": "Aroha", "family_name": "Ngata", "email": "aroha.ngata@students.example.ac.nz"} {
		inputs := pick(details, "input", "name", field)
		if len(inputs) != 1 || inputs[0].Attr["value"] != student || inputs[0].Attr["type"] != "text" {
			t.Errorf("%s is %+v, want a field that can be changed, with %q in it", field, inputs, student)
		}
	}
	r := s.Submit(t, page, []string{"given_name", "Hana", "family_name", "Ngata", "email", "hana@example.nz",
		"account_holder_name", parent, "account_number", goodAccount})
	if r.Status != http.StatusSeeOther {
		t.Fatalf("GoCardless' page answers %d %s", r.Status, r.Body)
	}
}

// ofTwoDays has weekly payments collected two business days after their notice.
func ofTwoDays(c *service.Config, _ *httpapi.Options) {
	c.Terms.NoticeDays, c.Terms.FrequentNotice = 5, 2
}

// goOn sends the form of the setup page from a browser at that address.
func (s *suite) goOn(t *testing.T, page response, from string) response {
	t.Helper()
	var fields []string
	for _, e := range pick(sandbox.Elements(t, page), "input", "type", "hidden") {
		fields = append(fields, e.Attr["name"], e.Attr["value"])
	}
	return s.Submit(t, sandbox.SetupPagePath, fields, "X-Forwarded-For", from)
}

func behindAProxy(_ *service.Config, o *httpapi.Options) {
	o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
}

// By the contract the payer sets up the direct debit on the hosted page (section 1). The consent that is given there
// is recorded: when, from where, and to which terms.
func TestContract1TheConsentOfThePayerIsOnTheAgreement(t *testing.T) {
	withTheFake(t)
	contract(t, func(t *testing.T, s *suite) {
		created := s.Create(t, "order-1")
		page := s.Visit(t, created.String("direct_debit.setup_url"))
		s.goOn(t, page, "198.51.100.1") // first on another device
		s.Clock.Forward(time.Minute)
		begun := s.goOn(t, page, "203.0.113.7")
		if begun.Status != http.StatusSeeOther {
			t.Fatalf("going on: %d %s", begun.Status, begun.Body)
		}
		at := s.Clock.Now()
		s.Clock.Forward(time.Minute)
		s.Submit(t, begun.Header.Get("Location"), bankDetails())
		confirmed := s.Confirm(t, created)

		d := s.record(t, "order-1")
		got := d.Checkout.Setup.Consent
		if at.Sub(got.At).Abs() > time.Minute/2 || got.From != "203.0.113.7" || got.Version() != agreement.Version || got.Period != (agreement.NoticePeriod{Days: 2, Business: true}) {
			t.Errorf("the checkout's consent is %+v, want one of %v, from 203.0.113.7, to the terms of %s with 2 business days of notice",
				got, at, agreement.Version)
		}
		if d.Agreement.DirectDebit.Consent != d.Checkout.Setup.Consent {
			t.Errorf("the agreement's consent is %+v, the checkout's %+v", d.Agreement.DirectDebit.Consent, d.Checkout.Setup.Consent)
		}
		text := s.document(t, confirmed.String("agreement.number"))
		for _, said := range []string{"The payer accepted the direct debit terms on the setup page", got.Terms, "203.0.113.7", "2 business days"} {
			if !strings.Contains(text, sandbox.WithoutSpace(said)) {
				t.Errorf("the PDF does not say %q:\n%s", said, text)
			}
		}
	}, behindAProxy, ofTwoDays)
}

// document returns the text of an agreement's PDF without white space.
func (s *suite) document(t *testing.T, number string) string {
	t.Helper()
	return sandbox.DocumentText(t, s.Store, number)
}
