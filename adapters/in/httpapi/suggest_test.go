package httpapi

import (
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

func TestAFieldThatLooksLikeAnAbsentOneIsNamed(t *testing.T) {
	for _, tt := range []struct{ name, body, field, want string }{
		{"letter doubled", `{"plan": {"instalment_ammount": 1}}`, "plan.instalment_amount", `is "instalment_ammount" a misspelling of it?`},
		{"letter left out", `{"student": {"emal": "a"}}`, "student.email", `is "emal" a misspelling of it?`},
		{"letters swapped", `{"student": {"emial": "a"}}`, "student.email", `is "emial" a misspelling of it?`},
		{"letter taken for another", `{"plan": {"payment_frequancy": "a"}}`, "plan.payment_frequency", `is "payment_frequancy" a misspelling of it?`},
		{"spelling of another country", `{"plan": {"number_of_installments": 1}}`, "plan.number_of_instalments", `is "number_of_installments" a misspelling of it?`},
		{"another style of names", `{"plan": {"firstPaymentDate": 1}}`, "plan.first_payment_date", `is "firstPaymentDate" a misspelling of it?`},
		{"code of a course", `{"course": {"course_cod": "a"}}`, "course.course_code", `is "course_cod" a misspelling of it?`},
		{"hyphens", `{"course": {"course-code": 1}}`, "course.course_code", `is "course-code" a misspelling of it?`},
		{"the nearest of several", `{"student": {"e_mailed": "a", "emails": "a"}}`, "student.email", `is "emails" a misspelling of it?`},
		{"null beside it", `{"student": {"email": null, "emial": "a"}}`, "student.email", `is "emial" a misspelling of it?`},
		{"outside of its section", `{"plan": {}, "instalment_amount": 1}`, "plan.instalment_amount", `is "instalment_amount", outside of "plan", meant for it?`},
		{"section misspelt", `{"pln": {"instalment_amount": 1}}`, "plan.instalment_amount", `is "pln" a misspelling of "plan"?`},
		{"another word", `{"plan": {"amount": 1}}`, "plan.instalment_amount", ""},
		{"another short word", `{"student": {"phone": 1}}`, "student.email", ""},
		{"known field of another name", `{"student": {"last_name": "a"}}`, "student.first_name", ""},
		{"present all the same", `{"student": {"email": "a@b.nz", "emial": "a"}}`, "student.email", "no fault"},
		{"a long one", `{"student": {"` + strings.Repeat("email", 1000) + `": "a"}}`, "student.email", ""},
		{"too many to be a slip", `{"student": {` + manyNames(maxUnknown) + `"emial": "a"}}`, "student.email", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd, err := readCreate(tt.body)
			if err != nil {
				t.Fatal(err)
			}
			mode := catalogue.Legacy
			if tt.field == checkout.FieldCourseCode {
				mode = catalogue.Authoritative
			}
			want := []string{"is required; " + tt.want}
			switch tt.want {
			case "":
				want = []string{"is required"}
			case "no fault":
				want = nil
			}
			if got := faultsOf(cmd.Check(mode), tt.field); !slices.Equal(got, want) {
				t.Errorf("%s in %.80s is refused as %q, want %q", tt.field, tt.body, got, want)
			}
		})
	}
}

func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`"` + strings.Repeat("x", 20+i) + `": 1, `)
	}
	return b.String()
}

func TestNothingIsSuggestedWhereNothingIsMissing(t *testing.T) {
	cmd, err := readConfirm(strings.Replace(wholeConfirm, "{", `{"declaration": {}, "token": 1,`, 1))
	if err != nil || cmd.Check() != nil {
		t.Errorf("read with %v, refused as %v; want neither", err, cmd.Check())
	}
}

func TestEveryOneLetterSlipIsSeen(t *testing.T) {
	for _, name := range []string{"email", "dda_id", "provider_code", "instalment_amount", "first_payment_date"} {
		for i := range len(name) {
			for _, slip := range []string{name[:i] + name[i+1:], name[:i] + "q" + name[i:], name[:i] + "q" + name[i+1:]} {
				if got := nearest(name, []string{"unrelated", slip}); got != slip {
					t.Errorf("%q is taken for %q, want %q", name, got, slip)
				}
			}
		}
	}
}

func TestADeclarationMayBeMisspeltToo(t *testing.T) {
	cmd, err := readConfirm(strings.Replace(wholeConfirm, `"deposit_confirmed"`, `"depositConfirmed"`, 1))
	want := []string{`must be true; is "depositConfirmed" a misspelling of it?`}
	if got := faultsOf(cmd.Check(), checkout.FieldDepositConfirmed); err != nil || !slices.Equal(got, want) {
		t.Errorf("refused as %q, %v; want %q", got, err, want)
	}
}
