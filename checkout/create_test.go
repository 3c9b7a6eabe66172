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
