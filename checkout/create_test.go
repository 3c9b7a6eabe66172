package checkout_test

import (
	"errors"
	"fmt"
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

// expectFault checks that err refuses with this code and exactly this field, or is nil for field "".
func expectFault(t *testing.T, err error, code checkout.Code, field string) {
	t.Helper()
	if field == "" {
		if err != nil {
			t.Errorf("refused: %v; want it accepted", err)
		}
		return
	}
	var refusal *checkout.Error
	if !errors.As(err, &refusal) || refusal.Code != code || !slices.Equal(fields(refusal.Faults), []string{field}) {
		t.Errorf("got %v; want a refusal with code %s that names %s only", err, code, field)
	}
}

// With these messages a provider's engineer corrects a request.
func TestWhatIsSaidOfFigures(t *testing.T) {
	cents := checkout.Some[money.Cents]
	for _, tt := range []struct {
		name string
		send func(*checkout.Create)
		want string
	}{
		{"a negative amount", func(c *checkout.Create) { c.Upfront = cents(-1) }, "pricing.upfront_payment must not be negative"},
		{"an amount of zero", func(c *checkout.Create) { c.Regular = cents(0) }, "plan.instalment_amount must be above zero"},
		{"a negative amount that must be above zero", func(c *checkout.Create) { c.Regular = cents(-1) },
			"plan.instalment_amount must not be negative"},
		{"an amount that is too large", func(c *checkout.Create) { c.Price = cents(money.Max + 1) },
			"pricing.course_price must be at most 9999999.99"},
		{"a price that does not add up", func(c *checkout.Create) { c.Price = cents(1250_01) },
			"pricing.course_price must be upfront_payment + amount_to_finance = 1250.00"},
		{"a number that is out of range", func(c *checkout.Create) { c.Number = checkout.Some(601) },
			"plan.number_of_instalments must be from 1 to 600"},
		{"one instalment of another amount", func(c *checkout.Create) { c.Number, c.Regular = checkout.Some(1), cents(500_00) },
			"plan.instalment_amount must be amount_to_finance 1000.00, as there is one instalment"},
		{"one instalment with another final one", func(c *checkout.Create) { c.Number, c.Regular = checkout.Some(1), cents(1000_00) },
			"plan.final_instalment_amount must be amount_to_finance 1000.00, as there is one instalment, or be left out"},
		{"instalments that leave nothing", func(c *checkout.Create) { c.Regular = cents(500_00) },
			"plan.instalment_amount is too much: 2 × 500.00 leaves nothing of amount_to_finance 1000.00 for the final instalment"},
		{"another final instalment", func(c *checkout.Create) { c.Final = cents(333_33) },
			"plan.final_instalment_amount must be 333.34, so that 2 × 333.33 and the final instalment are amount_to_finance 1000.00"},
		{"no final instalment", func(c *checkout.Create) { c.Final = checkout.Optional[money.Cents]{} },
			"plan.instalment_amount does not fit: 3 × 333.33 is 999.99, not amount_to_finance 1000.00; send final_instalment_amount 333.34"},
		{"an idempotency key that is too long", func(c *checkout.Create) { c.IdempotencyKey = checkout.Some(strings.Repeat("k", 256)) },
			"Idempotency-Key must be at most 255 characters, not 256"},
	} {
		c := parseCreate(t, legacyBody)
		tt.send(&c)
		want := "the request has missing or invalid fields; details says what each must be: " + tt.want
		if err := c.Check(catalogue.Legacy); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", tt.name, err, want)
		}
	}
}

// The key of a request is its header, or is made of its order (section 4, rule 1). It is bound to the checkout.
func TestKey(t *testing.T) {
	for _, tt := range []struct {
		name string
		key  checkout.Optional[string]
		want string
	}{
		{"with a header", checkout.Some("key-1"), "key-1"},
		{"without one", checkout.Optional[string]{}, "TUI:ORDER-1"},
		{"with a header that spells its own default", checkout.Some("TUI:ORDER-1"), "TUI:ORDER-1"},
	} {
		c := parseCreate(t, legacyBody)
		c.IdempotencyKey = tt.key
		if got, bound := c.Key(), c.Open(intentOf(t, c), opening(t)).Next.IdempotencyKey; got != tt.want || bound != tt.want {
			t.Errorf("%s: key %q, bound %q; want %q", tt.name, got, bound, tt.want)
		}
	}
}

func TestEveryFaultIsReportedAtOnce(t *testing.T) {
	var refusal *checkout.Error
	if err := (checkout.Create{}).Check(catalogue.Legacy); !errors.As(err, &refusal) {
		t.Fatalf("Check of an empty create = %v", err)
	}
	want := []string{"provider.provider_code", "provider.provider_order_id",
		"student.last_name", "student.email", "course.course_name", "pricing.course_price",
		"pricing.amount_to_finance", "pricing.upfront_payment", "plan.payment_type",
		"plan.number_of_instalments", "plan.instalment_amount", "plan.payment_frequency", "plan.first_payment_date"}
	if got := fields(refusal.Faults); !slices.Equal(got, want) {
		t.Errorf("faults in %q\nwant      %q", got, want)
	}
}

// A provider that changed its mode has orders on record of the other. What neither mode allows is refused as its own
// mode refuses it.
func TestCheckEither(t *testing.T) {
	legacy := parseCreate(t, legacyBody)
	faulty, unread, both := legacy, weekly, legacy
	faulty.Email = checkout.Some("aroha")
	unread.CourseCode = checkout.Unreadable[string](checkout.Fault{Field: "course.course_code", Message: "must be a string"})
	both.CourseCode = checkout.Some("NZDIP") // the values that a create of a course was answered
	for _, tt := range []struct {
		name    string
		cmd     checkout.Create
		allowed bool
	}{
		{"of a legacy provider", legacy, true},
		{"of a provider with a catalogue", weekly, true},
		{"of a course, with the values that it resolves to", both, true},
		{"faulty in both modes", faulty, false},
		{"a course code that cannot be read", unread, false},
		{"nothing", checkout.Create{}, false},
	} {
		for _, mode := range []catalogue.Mode{catalogue.Authoritative, catalogue.Legacy} {
			got, refusal := tt.cmd.CheckEither(mode), tt.cmd.Check(mode)
			if tt.allowed && got != nil || !tt.allowed && (got == nil || got.Error() != refusal.Error()) {
				t.Errorf("%s, mode %s: CheckEither = %v; want nil: %v, or %v", tt.name, mode, got, tt.allowed, refusal)
			}
		}
	}
}

func TestCheckLeavesTheCommandAsItWas(t *testing.T) {
	c := parseCreate(t, legacyBody)
	c.OrderID = checkout.Optional[string]{}
	c.Email = checkout.Unreadable[string](checkout.Fault{Field: "student.email", Message: "must be a string"})
	before := c
	first, second := c.Check(catalogue.Legacy), c.Check(catalogue.Legacy)
	if first.Error() != second.Error() || c != before {
		t.Errorf("a second Check says %v, the first %v", second, first)
	}
}

func TestOpenMakesOneEventAndTellsTheCRM(t *testing.T) {
	c := parseCreate(t, legacyBody)
	change := c.Open(intentOf(t, c), opening(t))
	got := change.Next
	if got.ID != checkoutID || got.Status != checkout.SetupRequired || got.SetupComplete() || got.Student.Email != "aroha@example.ac.nz" {
		t.Errorf("opened %+v", got)
	}
	if told := told(change); !slices.Equal(told, []string{"event checkout.created", "sync"}) || change.Jobs[0].RequestID != c.RequestID ||
		change.Agreement != nil || change.Document != nil || !change.At.Equal(noon) {
		t.Errorf("change %+v, want checkout.created and the CRM's job alone", change)
	}
}

func ExampleNewID() {
	fmt.Println(checkout.NewID("KOWHAI", time.UnixMilli(1795132800000), [10]byte{0xff}))
	// Output: KOWHAI-1795132800000-74aaaaaaaaaaaaaa
}

func ExampleCreate_Check() {
	err := checkout.Create{
		ProviderCode: checkout.Some("KOWHAI"),
		OrderID:      checkout.Some("ORDER-1"),
		FirstName:    checkout.Some("Aroha"),
		LastName:     checkout.Some("Ngata"),
		Email:        checkout.Some("aroha at example.ac.nz"),
		CourseCode:   checkout.Some("NZDIP"),
		Frequency:    checkout.Some("Daily"),
		First:        checkout.Some(money.Date{Year: 2027, Month: time.February, Day: 1}),
	}.Check(catalogue.Authoritative)
	var refusal *checkout.Error
	if errors.As(err, &refusal) {
		for _, fault := range refusal.Faults {
			fmt.Println(fault.Field, fault.Message)
		}
	}
	// Output:
	// student.email must be an e-mail address, such as name@example.ac.nz
	// plan.payment_frequency must be "Weekly", "Fortnightly" or "Monthly"
}
