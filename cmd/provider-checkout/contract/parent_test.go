package contract_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/agreementpage"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

const parent = "HANA & T NGATA"

// Section 1 distinguishes the payer from the student: a parent may pay. Nothing on the way is locked to the student's name, and
// the agreement says who pays, who studies, and whose consent it is.
func TestContract1TheAgreementNamesThePayerAndTheStudent(t *testing.T) {
	for _, tt := range []struct {
		processor string
		open      func(*testing.T) *suite
		pay       func(*testing.T, *suite, string)
	}{
		{"fake", func(t *testing.T) *suite { withTheFake(t); return newSuite(t, memory.New()) },
			func(t *testing.T, s *suite, form string) {
				s.Submit(t, form, []string{"account_holder_name", parent, "account_number", goodAccount, "authority_confirmed", "yes"})
			}},
		{"gocardless", func(t *testing.T) *suite { return &suite{sandbox.NewOverGoCardless(t, memory.New())} }, payAsAParent},
	} {
		t.Run(tt.processor, func(t *testing.T) {
			s := tt.open(t)
			created := s.Create(t, "ORDER-1")
			page := s.Visit(t, created.String("direct_debit.setup_url"))
			if !strings.Contains(page.Body, "for <bdi>Aroha Ngata</bdi>") || strings.Contains(page.Body, "your name") {
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
			pages, err := agreementpage.New()
			if err != nil {
				t.Fatal(err)
			}
			var shown strings.Builder
			if err := pages.Write(&shown, *a); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{"PDF": s.document(t, confirmed.String("agreement.number")),
				"page": html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(shown.String(), ""))} {
				for _, said := range []string{"Payer" + parent + "Student" + "Aroha Ngata", "Student’s email" + a.Student.Email,
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
	for _, step := range []struct {
		at     string
		fields []string
	}{
		{"/details", []string{"given_name", "Hana", "family_name", "Ngata", "email", "hana@example.nz"}},
		{"/account", []string{"account_holder_name", parent, "bank_code", goodAccount, "branch_code", "", "account_number", "",
			"account_number_suffix", "", "authority_confirmed", "yes"}},
		{"/check", nil},
	} {
		if step.at == "/check" {
			if check := s.Visit(t, page+step.at); !strings.Contains(check.Body, "Hana Ngata") || strings.Contains(check.Body, "Aroha") {
				t.Errorf("the payer at GoCardless is not Hana Ngata:\n%s", check.Body)
			}
		}
		if r := s.Submit(t, page+step.at, step.fields); r.Status != http.StatusSeeOther {
			t.Fatalf("%s answers %d %s", step.at, r.Status, r.Body)
		}
	}
}
