package checkout_test

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// A list that leaves a kind out leaves it out of every table that must be complete.
func TestListsOfKindsAreComplete(t *testing.T) {
	for file, list := range map[string]struct {
		declared string
		length   int
	}{
		"job.go":      {`(?m)^\tJob\w+ +JobKind += "`, len(checkout.JobKinds())},
		"moment.go":   {`(?m)^\tMoment\w+ +MomentKind += "`, len(checkout.MomentKinds())},
		"find.go":     {`(?m)^\tTrouble\w+ +Trouble += "`, len(checkout.Troubles())},
		"refusals.go": {`(?m)^\tCode\w+ +Code += "`, len(checkout.Codes())},
		"end.go":      {`(?m)^\tGround\w+ +Ground += "`, len(checkout.Grounds())},
	} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if declared := regexp.MustCompile(list.declared).FindAll(source, -1); len(declared) != list.length {
			t.Errorf("%s declares %d, and lists %d", file, len(declared), list.length)
		}
	}
}

// confirmFor returns the confirm with the identifiers of another checkout.
func confirmFor(c checkout.Confirm, of checkout.Checkout) checkout.Confirm {
	c.CheckoutID, c.OrderID = checkout.Some(of.ID), checkout.Some(of.OrderID)
	c.OpportunityID, c.DDAID = checkout.Some(of.Records(catalogue.Sandbox).OpportunityID), checkout.Some(of.Records(catalogue.Sandbox).DDAID)
	return c
}

func TestWhatACancelAndAListMustSay(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want []string
	}{
		{"a cancel", checkout.Cancel{Reason: checkout.Some("wrong course")}.Check(), nil},
		{"a cancel without a reason", checkout.Cancel{}.Check(), []string{"reason"}},
		{"a cancel for a reason of two lines", checkout.Cancel{Reason: checkout.Some("a\nb")}.Check(), []string{"reason"}},
		{"a list", checkOf(checkout.List{}), nil},
		{"a list of nothing", checkOf(checkout.List{Limit: checkout.Some(0)}), []string{"limit"}},
		{"a list of too many", checkOf(checkout.List{Limit: checkout.Some(checkout.MaxListed + 1)}), []string{"limit"}},
		{"a list of an empty order", checkOf(checkout.List{OrderID: checkout.Some("")}), []string{"provider_order_id"}},
	} {
		if code, named := refusalOf(tt.err); !slices.Equal(named, tt.want) || (tt.err != nil) != (code == checkout.CodeValidation) {
			t.Errorf("%s: %v, want the fields %q refused", tt.name, tt.err, tt.want)
		}
	}
}

func checkOf(l checkout.List) error {
	_, err := l.Check()
	return err
}

func TestErrorSaysEverything(t *testing.T) {
	for _, tt := range []struct {
		err  *checkout.Error
		want string
	}{
		{checkout.Malformed("the body is not JSON"), "the body is not JSON"},
		{checkout.Malformed("the body is faulty", checkout.Fault{Field: "plan", Message: "must be an object"}),
			"the body is faulty: plan must be an object"},
		{checkout.Malformed("the body is faulty", checkout.Fault{Field: "plan", Message: "must be an object"},
			checkout.Fault{Field: "student.email", Message: "is required"}),
			"the body is faulty: plan must be an object; student.email is required"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("Error() = %q, want %q", got, tt.want)
		}
	}
}

// A missing field and an unreadable field are reported once, in the words of the reader.
func TestOptionalFieldsAreReportedOnce(t *testing.T) {
	student := checkout.Unreadable[string](checkout.Fault{Field: "student", Message: "must be an object"})
	for _, tt := range []struct {
		name string
		send func(*checkout.Create)
		want checkout.Fault
	}{
		{"missing", func(c *checkout.Create) { c.Email = checkout.Optional[string]{} },
			checkout.Fault{Field: "student.email", Message: "is required"}},
		{"missing, with a suggestion", func(c *checkout.Create) {
			c.Email = checkout.Missing[string](suggesting(`is "emial" a misspelling of it?`))
		},
			checkout.Fault{Field: "student.email", Message: `is required; is "emial" a misspelling of it?`}},
		{"missing, without a suggestion", func(c *checkout.Create) { c.Email = checkout.Missing[string](suggesting("")) },
			checkout.Fault{Field: "student.email", Message: "is required"}},
		{"not readable", func(c *checkout.Create) {
			c.Email = checkout.Unreadable[string](checkout.Fault{Field: "student.email", Message: "must be a string"})
		}, checkout.Fault{Field: "student.email", Message: "must be a string"}},
		{"a section that is not readable", func(c *checkout.Create) { c.FirstName, c.LastName, c.Email = student, student, student },
			checkout.Fault{Field: "student", Message: "must be an object"}},
		{"an instalment amount that does not fit, with a suggestion for the final one", func(c *checkout.Create) {
			c.Final = checkout.Missing[money.Cents](suggesting(`is "final_amount" a misspelling of it?`))
		}, checkout.Fault{Field: "plan.instalment_amount", Message: "does not fit: 3 × 333.33 is 999.99, not amount_to_finance " +
			`1000.00; send final_instalment_amount 333.34; is "final_amount" a misspelling of it?`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := parseCreate(t, legacyBody)
			tt.send(&c)
			var refusal *checkout.Error
			if err := c.Check(catalogue.Legacy); !errors.As(err, &refusal) || !slices.Equal(refusal.Faults, []checkout.Fault{tt.want}) {
				t.Errorf("Check = %v, want %+v alone", err, tt.want)
			}
		})
	}
	stored, cmd := ready(t)
	cmd.DepositConfirmed = checkout.Missing[bool](suggesting(`is "deposit" a misspelling of it?`))
	want := checkout.Fault{Field: "payment.deposit_confirmed", Message: `must be true; is "deposit" a misspelling of it?`}
	var refusal *checkout.Error
	if err := cmd.Check(); !errors.As(err, &refusal) || !slices.Equal(refusal.Faults, []checkout.Fault{want}) {
		t.Errorf("Check of a confirm of %s = %v, want %+v alone", stored.ID, err, want)
	}
}

// suggesting returns the source of a suggestion that is always the same.
func suggesting(suggestion string) func() string { return func() string { return suggestion } }
