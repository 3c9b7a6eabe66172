package checkout_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// A code that Codes does not list is missing in every table of statuses. Each of the list is made: see TestEveryRefusal.
func TestCodesListsEveryCode(t *testing.T) {
	source, err := os.ReadFile("refusals.go")
	if err != nil {
		t.Fatal(err)
	}
	if declared := regexp.MustCompile(`(?m)^\tCode\w+ +Code += "`).FindAll(source, -1); len(checkout.Codes()) != len(declared) {
		t.Errorf("Codes lists %d codes, %d are declared", len(checkout.Codes()), len(declared))
	}
}

// The words of the contract (sections 5 and 7), and of the same kind where it is silent.
func TestCodesAreTheWordsOfTheContract(t *testing.T) {
	want := strings.Fields(`VALIDATION_ERROR MISSING_API_KEY INVALID_API_KEY PROVIDER_KEY_MISMATCH PROVIDER_NOT_FOUND
		PROVIDER_NOT_ENABLED CHECKOUT_NOT_FOUND CONFLICT IDEMPOTENCY_CONFLICT DIRECT_DEBIT_SETUP_INCOMPLETE
		CHECKOUT_ERASED SETUP_LINK_UNKNOWN SETUP_LINK_EXPIRED TERMS_CHANGED BUSY`)
	var got []string
	for _, code := range checkout.Codes() {
		got = append(got, string(code))
	}
	if !slices.Equal(got, want) {
		t.Errorf("Codes() = %q\nwant    %q", got, want)
	}
}

// What leads to each refusal, and the fields that it names.
func TestEveryRefusal(t *testing.T) {
	stored, cmd := ready(t)
	create := parseCreate(t, legacyBody)
	unbegun := opened(create, intentOf(t, create), opening(t)).Next
	off := usable()
	off.Active = false
	decide := func(_ any, err error) error { return err }
	byKey := stored
	byKey.OrderID = "ORDER-2"
	otherIntent := stored
	otherIntent.Intent.CourseName = "Other"
	otherToken, otherDDA := cmd, cmd
	otherToken.Token = checkout.Some("other")
	otherDDA.DDAID = checkout.Some("other")
	unknownMandate := stored
	unknownMandate.Setup.Mandate = "paused"
	terms := agreement.DebitTerms{Provider: "Tūī College"}

	made := map[checkout.Code]bool{}
	for _, tt := range []struct {
		name   string
		err    error
		code   checkout.Code
		fields []string
	}{
		{"a body that is no JSON", checkout.Malformed("the body is not JSON"), checkout.CodeValidation, []string{}},
		{"a body with a section of another type", checkout.Malformed("the body is faulty", checkout.Fault{Field: "plan", Message: "must be an object"}),
			checkout.CodeValidation, []string{"plan"}},
		{"a field that is missing", weeklyWithout(func(c *checkout.Create) { c.Email = checkout.Missing[string](suggesting("")) }).Check(catalogue.Authoritative),
			checkout.CodeValidation, []string{"student.email"}},
		{"a course that is unknown", decide(resolve(weekly, nil)), checkout.CodeValidation, []string{"course.course_code"}},
		{"no API key", checkout.MissingAPIKey("send one"), checkout.CodeMissingAPIKey, []string{}},
		{"an unknown API key", checkout.Authenticate(nil, catalogue.Sandbox), checkout.CodeInvalidAPIKey, []string{}},
		{"two Authorization headers", checkout.RepeatedAPIKey(), checkout.CodeInvalidAPIKey, []string{}},
		{"another provider", checkout.Admit("TUI", checkout.Some("RIMU"), nil, catalogue.Sandbox), checkout.CodeKeyMismatch,
			[]string{"provider.provider_code"}},
		{"no configuration", checkout.Admit("TUI", checkout.Some("TUI"), nil, catalogue.Sandbox), checkout.CodeProviderNotFound, []string{}},
		{"a configuration that is off", checkout.Admit("TUI", checkout.Some("TUI"), &off, catalogue.Sandbox),
			checkout.CodeProviderNotEnabled, []string{}},
		{"an unknown checkout", checkout.CheckoutNotFound(), checkout.CodeCheckoutNotFound, []string{}},
		{"the key of another order", decide(create.Decide(checkout.Facts{Mode: catalogue.Legacy, ByKey: &byKey})),
			checkout.CodeIntentConflict, []string{"Idempotency-Key", "provider.provider_order_id"}},
		{"another intent", decide(create.Decide(checkout.Facts{Mode: catalogue.Legacy, ByOrder: &otherIntent})),
			checkout.CodeIntentConflict, []string{"course.course_name"}},
		{"other identifiers", otherDDA.Match(stored, latest), checkout.CodeConflict, []string{"checkout.dda_id"}},
		{"another token", otherToken.Match(stored, latest), checkout.CodeConflict, []string{"checkout.checkout_token"}},
		{"a setup that is not complete", confirmFor(cmd, unbegun).Ready(unbegun, latest), checkout.CodeSetupIncomplete, []string{}},
		{"a mandate that cannot be confirmed", cmd.Ready(unknownMandate, latest), checkout.CodeSetupIncomplete, []string{}},
		{"a checkout that was erased", unbegun.Erase(noon).Available(), checkout.CodeErased, []string{}},
		{"a link without a valid signature", checkout.LinkUnknown(), checkout.CodeLinkUnknown, []string{}},
		{"a link whose time is over", decide(checkout.Acceptance{}.Decide(checkout.PageExpired, terms, noon)), checkout.CodeLinkExpired, []string{}},
		{"terms that have changed", decide(checkout.Acceptance{TermsID: "older"}.Decide(checkout.PageOpen, terms, noon)),
			checkout.CodeTermsChanged, []string{}},
		{"a provider that is off, on the setup page", decide(checkout.Acceptance{}.Decide(checkout.PageNotEnabled, terms, noon)),
			checkout.CodeProviderNotEnabled, []string{}},
		{"no time", checkout.Busy(), checkout.CodeBusy, []string{}},
	} {
		code, named := refusalOf(tt.err)
		if code != tt.code || !slices.Equal(named, tt.fields) {
			t.Errorf("%s: %v is code %q with fields %q, want %q with %q", tt.name, tt.err, code, named, tt.code, tt.fields)
		}
		if text := fmt.Sprint(tt.err); text == "" || strings.HasPrefix(text, ":") || strings.HasSuffix(text, " ") {
			t.Errorf("%s: message %q", tt.name, text)
		}
		made[code] = true
	}
	for _, code := range checkout.Codes() {
		if !made[code] {
			t.Errorf("no case leads to %s", code)
		}
	}
}

func weeklyWithout(change func(*checkout.Create)) checkout.Create {
	c := weekly
	change(&c)
	return c
}

// confirmFor returns the confirm with the identifiers of another checkout.
func confirmFor(c checkout.Confirm, of checkout.Checkout) checkout.Confirm {
	c.CheckoutID, c.OrderID = checkout.Some(of.ID), checkout.Some(of.OrderID)
	c.OpportunityID, c.DDAID = checkout.Some(of.Records.OpportunityID), checkout.Some(of.Records.DDAID)
	return c
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
