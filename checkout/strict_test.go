package checkout_test

import (
	"math"
	"math/big"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// A caller that uses the rules without the JSON API in front of them gets the same strictness: what Check accepts can
// be stored, sums exactly, and reads back unchanged.

var (
	anyText = rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"", " ", "Aroha", " Aroha ", "Ta\u0304mati", "a\x00", "a\xff", "a\u202eb", "a\u2028b", "\ufdd0", "\u200b",
			strings.Repeat("ā", 255), strings.Repeat("ā", 256), strings.Repeat("a\u0304", 255), "aroha@example.ac.nz", "a@b"}),
	)
	anyCents = rapid.OneOf(
		rapid.Map(rapid.Int64(), func(n int64) money.Cents { return money.Cents(n) }),
		rapid.Map(rapid.Int64Range(-2, 3000_00), func(n int64) money.Cents { return money.Cents(n) }),
		rapid.SampledFrom([]money.Cents{0, 1, money.Max - 1, money.Max, money.Max + 1, 1 << 62, math.MaxInt64, math.MinInt64, -1}),
	)
	anyNumber = rapid.OneOf(rapid.Int(), rapid.IntRange(-1, 12), rapid.SampledFrom([]int{0, 1, 2, 599, 600, 601, math.MaxInt, math.MinInt}))
	anyDate   = rapid.OneOf(
		rapid.Custom(func(t *rapid.T) money.Date {
			return money.Date{Year: rapid.Int().Draw(t, "year"), Month: time.Month(rapid.Int().Draw(t, "month")), Day: rapid.Int().Draw(t, "day")}
		}),
		rapid.Custom(func(t *rapid.T) money.Date {
			return money.Date{Year: rapid.IntRange(1998, 2201).Draw(t, "year"), Month: time.Month(rapid.IntRange(-1, 14).Draw(t, "month")),
				Day: rapid.IntRange(-1, 33).Draw(t, "day")}
		}),
		rapid.SampledFrom([]money.Date{{}, {Year: 2027, Month: 2, Day: 30}, {Year: 12345, Month: 1, Day: 1}, {Year: 2028, Month: 2, Day: 29}}),
	)
)

// optional generates a value, or its absence.
func optional[T any](t *rapid.T, values *rapid.Generator[T], label string) checkout.Optional[T] {
	if rapid.IntRange(0, 5).Draw(t, label+" is missing") == 0 {
		return checkout.Optional[T]{}
	}
	return checkout.Some(values.Draw(t, label))
}

// sometimes replaces a field in one case of sixteen.
func sometimes(t *rapid.T, label string, replace func()) {
	if rapid.IntRange(0, 15).Draw(t, label+" is replaced") == 0 {
		replace()
	}
}

// anyCreate generates a create that is valid except for the replaced fields, whose values are arbitrary.
func anyCreate(t *rapid.T) checkout.Create {
	c := parseCreate(t, legacyBody)
	for label, field := range map[string]*checkout.Optional[string]{"key": &c.IdempotencyKey, "provider": &c.ProviderCode,
		"order": &c.OrderID, "first name": &c.FirstName, "last name": &c.LastName, "email": &c.Email,
		"course code": &c.CourseCode, "course name": &c.CourseName, "type": &c.PaymentType, "frequency": &c.Frequency} {
		sometimes(t, label, func() { *field = optional(t, anyText, label) })
	}
	for label, field := range map[string]*checkout.Optional[money.Cents]{"price": &c.Price, "principal": &c.Principal,
		"upfront": &c.Upfront, "regular": &c.Regular, "final": &c.Final} {
		sometimes(t, label, func() { *field = optional(t, anyCents, label) })
	}
	sometimes(t, "number", func() { c.Number = optional(t, anyNumber, "number") })
	sometimes(t, "date", func() { c.First = optional(t, anyDate, "date") })
	if rapid.Bool().Draw(t, "figures are made to fit") { // in wrapping arithmetic, as a careless caller's are
		n, regular := c.Number.Value, c.Regular.Value
		sometimes(t, "number", func() { n = anyNumber.Draw(t, "number") })
		sometimes(t, "regular", func() { regular = anyCents.Draw(t, "regular") })
		c.Number, c.Regular = checkout.Some(n), checkout.Some(regular)
		c.Principal = checkout.Some(money.Cents(n-1)*regular + c.Final.Value)
		c.Price = checkout.Some(c.Upfront.Value + c.Principal.Value)
	}
	return c
}

func TestWhatCreateCheckAcceptsCanBeKept(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		c := anyCreate(t)
		if rapid.Bool().Draw(t, "normalized") {
			c = c.Normalized()
		}
		if c.Check(catalogue.Legacy) != nil {
			return
		}
		accepted++
		for label, v := range map[string]checkout.Optional[string]{"provider": c.ProviderCode, "order": c.OrderID} {
			if !v.Given || !keepable(v.Value) {
				t.Errorf("%s %q is accepted", label, v.Value)
			}
		}
		texts := map[string]checkout.Optional[string]{"last name": c.LastName, "email": c.Email, "course name": c.CourseName}
		if c.FirstName.Value != "" {
			texts["first name"] = c.FirstName
		}
		for label, v := range texts {
			if !v.Given || !keepable(v.Value) || !readable(v.Value) {
				t.Errorf("%s %q is accepted", label, v.Value)
			}
		}
		for label, name := range map[string]string{"first name": c.FirstName.Value, "last name": c.LastName.Value, "course name": c.CourseName.Value} {
			if !norm.NFC.IsNormalString(name) || strings.TrimSpace(name) != name {
				t.Errorf("%s %q is accepted: it is not normalised", label, name)
			}
		}
		if c.IdempotencyKey.Given && (c.IdempotencyKey.Value == "" || strings.Trim(c.IdempotencyKey.Value, visibleASCII) != "") {
			t.Errorf("idempotency key %q is accepted", c.IdempotencyKey.Value)
		}
		if c.CourseCode.Given {
			t.Errorf("a course code is accepted: %q", c.CourseCode.Value)
		}
		checkDate(t, c.First.Value)
		checkFigures(t, intentOf(t, c))
	})
	if accepted == 0 {
		t.Error("no case was accepted: this test holds to nothing")
	}
}

const visibleASCII = "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz{|}~"

// keepable reports whether every store keeps a text as it is.
func keepable(s string) bool {
	return utf8.ValidString(s) && s != "" && utf8.RuneCountInString(s) <= 255 && !strings.ContainsFunc(s, unicode.IsControl)
}

// readable reports whether every reader sees a text as it is.
func readable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r) || r&0xfffe == 0xfffe
	})
}

func checkDate(t rapid.TB, d money.Date) {
	t.Helper()
	if back, err := money.ParseDate(d.String()); err != nil || back != d {
		t.Errorf("date %+v is accepted, and reads back as %+v, %v", d, back, err)
	}
}

// checkFigures checks the figures of an intent against the contract, in arithmetic that cannot overflow.
func checkFigures(t rapid.TB, i checkout.Intent) {
	t.Helper()
	p := i.Plan
	for label, c := range map[string]money.Cents{"price": i.Pricing.Price, "principal": i.Pricing.Principal, "regular": p.Regular, "final": p.Final} {
		if c < 1 || c > money.Max {
			t.Errorf("%s of %s is accepted", label, c)
		}
	}
	if i.Pricing.Upfront < 0 || i.Pricing.Upfront > money.Max {
		t.Errorf("upfront payment of %s is accepted", i.Pricing.Upfront)
	}
	if p.Number < 1 || p.Number > 600 || !p.Frequency.Valid() {
		t.Errorf("%d instalments, %q, are accepted", p.Number, p.Frequency)
	}
	if sum := add(i.Pricing.Upfront, i.Pricing.Principal); sum.Cmp(exact(i.Pricing.Price)) != 0 {
		t.Errorf("upfront and principal are %s cents, the price %d", sum, i.Pricing.Price)
	}
	if sum := sumOf(p.Instalments); sum.Cmp(exact(i.Pricing.Principal)) != 0 {
		t.Errorf("the instalments are %s cents, the principal %d", sum, i.Pricing.Principal)
	}
	if p.Number == 1 && (p.Regular != i.Pricing.Principal || p.Final != i.Pricing.Principal) {
		t.Errorf("one instalment of %s and %s for a principal of %s is accepted", p.Regular, p.Final, i.Pricing.Principal)
	}
	var charged money.Cents
	for _, c := range money.Schedule(i.Pricing.Upfront, p) {
		charged += c.Amount
	}
	if charged != i.Pricing.Price {
		t.Errorf("the charges sum to %s, the price is %s", charged, i.Pricing.Price)
	}
}

func exact(c money.Cents) *big.Int  { return big.NewInt(int64(c)) }
func add(a, b money.Cents) *big.Int { return new(big.Int).Add(exact(a), exact(b)) }
func sumOf(p money.Instalments) *big.Int { // (n − 1) × regular + final
	product := new(big.Int).Mul(big.NewInt(int64(p.Number-1)), exact(p.Regular))
	return product.Add(product, exact(p.Final))
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

func TestWhatConfirmCheckAcceptsCanBeKept(t *testing.T) {
	_, good := ready(t)
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		c := good
		texts := map[string]*checkout.Optional[string]{"provider": &c.ProviderCode, "order": &c.OrderID, "checkout": &c.CheckoutID,
			"token": &c.Token, "opportunity": &c.OpportunityID, "dda": &c.DDAID, "method": &c.PaymentMethod}
		for label, field := range texts {
			sometimes(t, label, func() { *field = optional(t, anyText, label) })
		}
		accepts := map[string]*checkout.Optional[bool]{"deposit": &c.DepositConfirmed, "plan": &c.PaymentPlanAccepted,
			"information": &c.InformationConfirmed, "privacy": &c.PrivacyConsentAccepted}
		for label, field := range accepts {
			sometimes(t, label, func() { *field = optional(t, rapid.Bool(), label) })
		}
		sometimes(t, "date", func() { c.FirstPayment = optional(t, anyDate, "date") })
		if c.Check() != nil {
			return
		}
		accepted++
		for label, v := range texts {
			if !v.Given || !keepable(v.Value) {
				t.Errorf("%s %q is accepted", label, v.Value)
			}
		}
		for label, v := range accepts {
			if !v.Given || !v.Value {
				t.Errorf("%s %+v is accepted", label, *v)
			}
		}
		if c.PaymentMethod.Value != checkout.PaymentMethod {
			t.Errorf("payment method %q is accepted", c.PaymentMethod.Value)
		}
		checkDate(t, c.FirstPayment.Value)
	})
	if accepted == 0 {
		t.Error("no case was accepted: this test holds to nothing")
	}
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

func TestNormalizedMakesSpellingsOne(t *testing.T) {
	c := parseCreate(t, legacyBody)
	c.FirstName, c.LastName, c.CourseName = checkout.Some(" Ma\u0304ia "), checkout.Some("\u00a0Nga\u0304ta"), checkout.Some("Tohu\u2003")
	c.OrderID, c.Email = checkout.Some(" A "), checkout.Some(" a@b.nz")
	got := c.Normalized()
	for _, tt := range []struct{ name, got, want string }{
		{"first name", got.FirstName.Value, "Māia"},
		{"last name", got.LastName.Value, "Ngāta"},
		{"course name", got.CourseName.Value, "Tohu"},
		{"order id", got.OrderID.Value, " A "},
		{"e-mail", got.Email.Value, " a@b.nz"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
		}
	}
	if c.FirstName.Value != " Ma\u0304ia " {
		t.Errorf("Normalized changed the command: %q", c.FirstName.Value)
	}
	if again := got.Normalized(); again != got {
		t.Errorf("normalised twice: %+v, want %+v", again, got)
	}
	missing := checkout.Create{FirstName: checkout.Missing[string](suggesting("hint"))}
	if got := missing.Normalized(); got != missing {
		t.Errorf("a missing name becomes %+v", got.FirstName)
	}
}
