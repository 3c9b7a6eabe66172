package contract_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
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

// inbox is a notifier that keeps what payers are sent.
type inbox struct {
	mu  sync.Mutex
	got []checkout.PayerNotice
}

func (i *inbox) Notify(_ context.Context, n checkout.PayerNotice) (string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.got = append(i.got, n)
	return "250 queued", nil
}

// wait returns the text of the notice with this number, once it has come.
func (i *inbox) wait(t *testing.T, number int) string {
	t.Helper()
	var texts []string
	for end := time.Now().Add(patience); len(texts) < number; <-time.After(5 * time.Millisecond) {
		i.mu.Lock()
		texts = nil
		for _, n := range i.got {
			texts = append(texts, n.Text)
		}
		i.mu.Unlock()
		if time.Now().After(end) {
			t.Fatalf("%d notices came, want %d", len(texts), number)
		}
	}
	return texts[number-1]
}

// debitWalk is a payer's way over a processor, on which every text must name the same party.
type debitWalk struct {
	processor string
	open      func(*testing.T, func(*service.Config, *httpapi.Options)) *suite
	terms     agreement.Authority // of the operator
	want      agreement.Authority // that everybody reads
	// pay fills in the processor's page, and returns its text.
	pay func(t *testing.T, s *suite, page string) (form string)
}

var debitWalks = []debitWalk{
	{"fake", func(t *testing.T, change func(*service.Config, *httpapi.Options)) *suite {
		withTheFake(t)
		s := newSuite(t, sandbox.Memory, change)
		sandbox.Work(t, s.Service(t)) // sends the e-mails
		return s
	}, agreement.Authority{Initiator: "Pūtea Collections", AuthorisationCode: "0123456", Statement: "particulars PUTEA, code PLAN"},
		agreement.Authority{Initiator: "Pūtea Collections", AuthorisationCode: "0123456", Statement: "particulars PUTEA, code PLAN"},
		func(t *testing.T, s *suite, page string) (form string) {
			form = s.Visit(t, page).Body
			s.Submit(t, page, []string{"account_holder_name", parent, "account_number", goodAccount, "authority_confirmed", "yes"})
			return form
		}},
	{"gocardless", func(t *testing.T, change func(*service.Config, *httpapi.Options)) *suite {
		return &suite{sandbox.NewOver(t, sandbox.Outside{GoCardless: true}, sandbox.Memory, change)}
	}, agreement.Authority{}, agreement.Authority{Initiator: "Rimu College", AuthorisationCode: "0200001", Statement: "Rimu College"},
		func(t *testing.T, s *suite, page string) (form string) {
			form = s.Visit(t, page).Body
			s.Submit(t, page, []string{"given_name", "Hana", "family_name", "Ngata", "email", "hana@example.nz",
				"account_holder_name", parent, "account_number", goodAccount})
			return form
		}},
}

// Who debits, under which code and as what the bank statement shows it is the same in all that a payer reads before, while and after
// giving the authority, which is one sentence everywhere; the second e-mail has it in its PDF.
func TestContract4EveryTextNamesTheSamePartyThatDebits(t *testing.T) {
	for _, walk := range debitWalks {
		t.Run(walk.processor, func(t *testing.T) {
			mail := &inbox{}
			s := walk.open(t, func(c *service.Config, _ *httpapi.Options) {
				c.Notifier = mail
				c.Terms = agreement.Terms{Lender: agreement.Lender{Name: "Pūtea Limited", Address: "1 Quay"}, Authority: walk.terms}
			})
			read := map[string]string{}
			created := s.Create(t, "ORDER-1")
			address, token := created.String("direct_debit.setup_url"), url.QueryEscape(created.String("direct_debit.token"))
			page := s.Visit(t, address)
			read["setup page"], read["legal page"] = page.Body, s.Visit(t, sandbox.SetupPagePath+"/legal?token="+token).Body
			read["form"] = walk.pay(t, s, s.goOn(t, page, "").Header.Get("Location"))
			s.Settle(t)
			read["done page"] = s.Back(t, address).Body
			read["first e-mail"] = mail.wait(t, 1)
			confirmed := s.Confirm(t, created)
			read["confirmed page"] = s.Visit(t, address).Body
			read["agreement"] = s.Visit(t, sandbox.SetupPagePath+"/agreement?token="+token).Body
			read["PDF"] = s.document(t, confirmed.String("agreement.number"))
			read["second e-mail"] = mail.wait(t, 2)
			walk.check(t, read)
		})
	}
}

// check compares texts with the authority that they must name.
func (w debitWalk) check(t *testing.T, read map[string]string) {
	t.Helper()
	sentence := "I authorise my bank to debit my account with the amounts of direct debits from " + w.want.Initiator +
		", with the authorisation code " + w.want.AuthorisationCode + ", in accordance with this authority until further notice."
	codes := regexp.MustCompile(`(?i)authorisationcode:?(\w*)`)
	for name, text := range read {
		text = sandbox.WithoutSpace(html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(text, "")))
		wants := []string{w.want.Initiator, "showsas" + w.want.Statement + "."}
		if !strings.HasSuffix(name, " page") && name != "second e-mail" || name == "legal page" {
			wants = append(wants, sentence)
		}
		for _, want := range wants {
			if !strings.Contains(text, sandbox.WithoutSpace(want)) {
				t.Errorf("the %s does not say %q:\n%s", name, want, text)
			}
		}
		named := codes.FindAllStringSubmatch(text, -1)
		for _, code := range named {
			if !strings.HasPrefix(code[1], w.want.AuthorisationCode) {
				t.Errorf("the %s has %q, want the code %s", name, code[0], w.want.AuthorisationCode)
			}
		}
		if len(named) == 0 {
			t.Errorf("the %s has no authorisation code:\n%s", name, text)
		}
	}
	for _, other := range []string{"0123456", "0200001", "0000000"} {
		for name, text := range read {
			if other != w.want.AuthorisationCode && strings.Contains(text, other) {
				t.Errorf("the %s has the code %s of another", name, other)
			}
		}
	}
}
