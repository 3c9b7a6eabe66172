package checkout_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

var noon = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

const legacyBody = `{"provider":{"provider_code":"TUI","provider_order_id":"ORDER-1"},
	"student":{"first_name":"Aroha","last_name":"Ngata","email":"aroha@example.ac.nz"},
	"course":{"course_name":"Certificate in Wellbeing"},
	"pricing":{"course_price":1250.00,"amount_to_finance":1000.00,"upfront_payment":250.00},
	"plan":{"payment_type":"interest_free_payment_plan","payment_frequency":"Weekly","number_of_instalments":3,
		"instalment_amount":333.33,"final_instalment_amount":333.34,"first_payment_date":"2027-02-01"}}`

func keyring(t rapid.TB, secrets ...string) checkout.Keyring {
	t.Helper()
	if secrets == nil {
		secrets = []string{strings.Repeat("s", 32)}
	}
	var bytes [][]byte
	for _, s := range secrets {
		bytes = append(bytes, []byte(s))
	}
	r, err := checkout.NewKeyring(bytes...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func opening(t rapid.TB) checkout.Opening {
	return checkout.Opening{ID: checkoutID, Now: noon, Environment: catalogue.Sandbox, Token: keyring(t).Issue(1, noon.Add(7*24*time.Hour))}
}

// checkoutID is the id of the checkouts of these tests.
const checkoutID = "TUI-1795132800000-aaaaaaaaaaaaaaaa"

// openedNow returns the change that opens a checkout of legacyBody at noon. Its setup token expires after seven days.
func openedNow(t rapid.TB) checkout.Change {
	t.Helper()
	create := parseCreate(t, legacyBody)
	return create.Open(intentOf(t, create), opening(t))
}

// expectFault checks that err refuses with this code and exactly this field.
func expectFault(t *testing.T, err error, code checkout.Code, field string) {
	t.Helper()
	var refusal *checkout.Error
	if !errors.As(err, &refusal) || refusal.Code != code || !slices.Equal(fields(refusal.Faults), []string{field}) {
		t.Errorf("got %v; want a refusal with code %s that names %s only", err, code, field)
	}
}

// With these messages a provider's engineer corrects a request.
func TestWhatIsSaidOfFigures(t *testing.T) {
	for _, tt := range []struct {
		name string
		send func(*checkout.Create)
		want string
	}{
		{"a number that is out of range", func(c *checkout.Create) { c.Number = checkout.Some(601) },
			"plan.number_of_instalments must be from 1 to 600"},
		{"instalments that leave nothing", func(c *checkout.Create) { c.Regular = checkout.Some[money.Cents](500_00) },
			"plan.instalment_amount is too much: 2 × 500.00 leaves nothing of amount_to_finance 1000.00 for the final instalment"},
	} {
		c := parseCreate(t, legacyBody)
		tt.send(&c)
		want := "the request has missing or invalid fields; details says what each must be: " + tt.want
		if err := c.Check(catalogue.Legacy); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", tt.name, err, want)
		}
	}
}

// What a catalogue resolves, sent as a provider without a catalogue would send it, is accepted and
// means the same.
func TestResolveThenValidateIsTheIdentity(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		price := money.Cents(rapid.Int64Range(2, int64(money.Max)).Draw(r, "price"))
		upfront := money.Cents(rapid.Int64Range(0, int64(price)-1).Draw(r, "upfront"))
		option := catalogue.Option{Frequency: rapid.SampledFrom([]money.Frequency{money.Weekly, money.Fortnightly, money.Monthly}).Draw(r, "frequency")}
		if rapid.Bool().Draw(r, "by number") {
			option.Number = rapid.IntRange(1, money.MaxInstalments).Draw(r, "number")
		} else {
			option.Amount = money.Cents(rapid.Int64Range(1, int64(price)).Draw(r, "amount"))
		}
		course := catalogue.Course{Code: "NZDIP", Name: "Diploma", Price: price, Upfront: upfront, Active: true,
			Environment: catalogue.Sandbox, Options: []catalogue.Option{option}}
		cmd := weekly
		cmd.Frequency = checkout.Some(string(option.Frequency))
		resolved, err := resolve(cmd, &course)
		if err != nil {
			return // a plan that no provider file may hold
		}
		sent := cmd
		sent.CourseCode = checkout.Optional[string]{}
		sent.CourseName = checkout.Some(resolved.CourseName)
		sent.Price, sent.Upfront = checkout.Some(resolved.Pricing.Price), checkout.Some(resolved.Pricing.Upfront)
		sent.Principal = checkout.Some(resolved.Pricing.Principal)
		sent.PaymentType = checkout.Some(checkout.PaymentType)
		sent.Number, sent.Regular = checkout.Some(resolved.Plan.Number), checkout.Some(resolved.Plan.Regular)
		if resolved.Plan.Residual() {
			sent.Final = checkout.Some(resolved.Plan.Final)
		}
		if err := sent.Check(catalogue.Legacy); err != nil {
			r.Fatalf("resolved %+v, refused: %v", resolved, err)
		}
		if got := intentOf(r, sent); got != resolved {
			r.Fatalf("resolved %+v\nmeans    %+v", resolved, got)
		}
	})
}

// A legacy plan is accepted if and only if its figures are in their bounds and add up, as exact arithmetic says.
func TestALegacyPlanIsAcceptedIfItAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := parseCreate(t, legacyBody)
		principal := money.Cents(rapid.Int64Range(600, int64(money.Max)-1).Draw(t, "principal"))
		divided, err := money.ByNumber(principal, rapid.IntRange(1, 600).Draw(t, "number"))
		if err != nil {
			t.Fatal(err)
		}
		c.Number, c.Principal = checkout.Some(divided.Number), checkout.Some(principal)
		c.Upfront = checkout.Some(money.Cents(rapid.Int64Range(0, int64(money.Max-principal)).Draw(t, "upfront")))
		c.Price = checkout.Some(c.Upfront.Value + principal)
		c.Regular, c.Final = checkout.Some(divided.Regular), checkout.Optional[money.Cents]{}
		if divided.Residual() || rapid.Bool().Draw(t, "final is sent") {
			c.Final = checkout.Some(divided.Final)
		}
		if err := c.Check(catalogue.Legacy); err != nil {
			t.Fatalf("Check of %+v = %v, want it accepted", divided, err)
		}

		off := money.Cents(rapid.SampledFrom([]int64{-1, 1}).Draw(t, "cent off"))
		field := rapid.SampledFrom([]*checkout.Optional[money.Cents]{&c.Price, &c.Principal, &c.Upfront, &c.Regular, &c.Final}).Draw(t, "field")
		if !field.Given {
			return
		}
		field.Value += off
		if err := c.Check(catalogue.Legacy); err == nil {
			t.Errorf("%+v, upfront %s, price %s with a cent off is accepted", intentOf(t, c).Plan.Instalments, c.Upfront.Value, c.Price.Value)
		}
	})
}

// Values that no JSON request can bring here, but a form of the host's own might. The others are in testdata/acceptance.json.
func TestCheckIsAsStrictAsTheAPI(t *testing.T) {
	for _, tt := range []struct {
		name  string
		send  func(*checkout.Create)
		field string
	}{
		{"year 12345", func(c *checkout.Create) { c.First = checkout.Some(money.Date{Year: 12345, Month: 1, Day: 1}) }, "plan.first_payment_date"},
		{"no day", func(c *checkout.Create) { c.First = checkout.Some(money.Date{}) }, "plan.first_payment_date"},
		{"instalments that wrap round to the principal", func(c *checkout.Create) {
			c.Number, c.Regular, c.Final = checkout.Some(5), checkout.Some[money.Cents](1<<62), checkout.Some[money.Cents](1000_00)
		}, "plan.instalment_amount"},
		{"more instalments than there may be", func(c *checkout.Create) { c.Number = checkout.Some(math.MaxInt) }, "plan.number_of_instalments"},
		{"a name with blanks around it", func(c *checkout.Create) { c.FirstName = checkout.Some(" Aroha") }, "student.first_name"},
		{"a name with separate combining marks", func(c *checkout.Create) { c.CourseName = checkout.Some("Te Ara Ma\u0304ori") }, "course.course_name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := parseCreate(t, legacyBody)
			tt.send(&c)
			expectFault(t, c.Check(catalogue.Legacy), checkout.CodeValidation, tt.field)
		})
	}
	for _, d := range []money.Date{{}, {Year: 2027, Month: 2, Day: 30}, {Year: 12345, Month: 1, Day: 1}} {
		_, cmd := ready(t)
		cmd.FirstPayment = checkout.Some(d)
		expectFault(t, cmd.Check(), checkout.CodeValidation, "payment.first_payment_date")
	}
}
