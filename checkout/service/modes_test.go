package service_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/money"
)

// legacy returns the configuration without a catalogue.
func legacy() catalogue.Configuration {
	c := kowhai()
	c.Provider.Mode, c.Courses = catalogue.Legacy, nil
	return c
}

// legacyCreate is a create with the figures that the catalogue resolves create to.
func legacyCreate(order string) checkout.Create {
	c := create(order)
	c.CourseCode = checkout.Optional[string]{}
	c.CourseName = checkout.Some("Diploma in Business")
	c.Price, c.Upfront, c.Principal = checkout.Some[money.Cents](2990_00), checkout.Some[money.Cents](200_00), checkout.Some[money.Cents](2790_00)
	c.PaymentType = checkout.Some(checkout.PaymentType)
	c.Number, c.Regular, c.Final = checkout.Some(52), checkout.Some[money.Cents](53_65), checkout.Some[money.Cents](53_85)
	return c
}

func changed(c checkout.Create, change func(*checkout.Create)) checkout.Create {
	change(&c)
	return c
}

// A provider that gets a catalogue, or loses it, has open checkouts. A create is compared in the mode in which its
// order was opened; a create in the present mode is a replay if it means the same.
func TestAnOrderIsComparedInTheModeInWhichItWasOpened(t *testing.T) {
	dearer := func(c *checkout.Create) {
		c.Price, c.Upfront = checkout.Some[money.Cents](2991_00), checkout.Some[money.Cents](201_00)
	}
	monthly := func(c *checkout.Create) { c.Frequency = checkout.Some("Monthly") }
	faulty := func(c *checkout.Create) { c.Email = checkout.Some("aroha") }
	otherCourse := func(c *checkout.Create) { c.CourseCode = checkout.Some("NZCERT") }
	unknown := func(c *checkout.Create) { c.CourseCode = checkout.Some("NOTHING") }
	wrongPrice := func(c *checkout.Create) { c.Price = checkout.Some[money.Cents](1_00) }
	withCert := kowhai()
	cert := withCert.Courses[0]
	cert.Code, cert.Name = "NZCERT", "Certificate in Business"
	withCert.Courses = append(withCert.Courses, cert)

	for _, tt := range []struct {
		name          string
		before, after catalogue.Configuration
		first, second checkout.Create
		code          checkout.Code // "" for a replay
		fields        []string
	}{
		{"legacy to catalogue: the same body", legacy(), withCert, legacyCreate("A"), legacyCreate("A"), "", nil},
		{"legacy to catalogue: the same order with other figures", legacy(), withCert, legacyCreate("A"), changed(legacyCreate("A"), dearer),
			checkout.CodeIntentConflict, []string{"pricing.course_price", "pricing.upfront_payment"}},
		{"legacy to catalogue: a course of the same name and figures", legacy(), withCert, legacyCreate("A"), create("A"), "", nil},
		{"legacy to catalogue: a course of another name", legacy(), withCert, legacyCreate("A"), changed(create("A"), otherCourse),
			checkout.CodeIntentConflict, []string{"course.course_name"}},
		{"legacy to catalogue: another frequency", legacy(), withCert, legacyCreate("A"), changed(create("A"), monthly),
			checkout.CodeIntentConflict, []string{"plan.instalment_amount", "plan.number_of_instalments", "plan.payment_frequency"}},
		{"legacy to catalogue: a course that is unknown", legacy(), withCert, legacyCreate("A"), changed(create("A"), unknown),
			checkout.CodeValidation, []string{"course.course_code"}},
		{"legacy to catalogue: a body that is faulty in both modes", legacy(), withCert, legacyCreate("A"), changed(legacyCreate("A"), faulty),
			checkout.CodeValidation, []string{"student.email", "course.course_code"}},
		{"legacy to catalogue: a legacy body for a new order", legacy(), withCert, legacyCreate("A"), legacyCreate("B"),
			checkout.CodeValidation, []string{"course.course_code"}},

		{"catalogue to legacy: the same body", withCert, legacy(), create("A"), create("A"), "", nil},
		{"catalogue to legacy: the same body with the values that were answered", withCert, legacy(), create("A"),
			changed(legacyCreate("A"), func(c *checkout.Create) { c.CourseCode = checkout.Some("NZDIP") }), "", nil},
		{"catalogue to legacy: the same body with another value", withCert, legacy(), create("A"), changed(create("A"), wrongPrice),
			checkout.CodeValidation, []string{"pricing.course_price"}},
		{"catalogue to legacy: the figures that were answered", withCert, legacy(), create("A"), legacyCreate("A"), "", nil},
		{"catalogue to legacy: other figures", withCert, legacy(), create("A"), changed(legacyCreate("A"), dearer),
			checkout.CodeIntentConflict, []string{"pricing.course_price", "pricing.upfront_payment"}},
		{"catalogue to legacy: a course that it does not name", withCert, legacy(), create("A"), changed(create("A"), otherCourse),
			checkout.CodeValidation, []string{"course.course_code"}},
		{"catalogue to legacy: a catalogue body for a new order", withCert, legacy(), create("A"), create("B"),
			checkout.CodeValidation, []string{"course.course_code", "course.course_name", "pricing.course_price", "pricing.amount_to_finance",
				"pricing.upfront_payment", "plan.payment_type", "plan.number_of_instalments", "plan.instalment_amount"}},

		{"no change: a body of the other mode", withCert, withCert, create("A"), legacyCreate("A"),
			checkout.CodeValidation, []string{"course.course_code"}},
		{"no change: a legacy provider names a course", legacy(), legacy(), legacyCreate("A"), create("A"),
			checkout.CodeValidation, []string{"course.course_code", "course.course_name", "pricing.course_price", "pricing.amount_to_finance",
				"pricing.upfront_payment", "plan.payment_type", "plan.number_of_instalments", "plan.instalment_amount"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.configure(t, tt.before)
			first, err := w.Create(t.Context(), caller, tt.first)
			if err != nil {
				t.Fatal(err)
			}
			w.configure(t, tt.after)
			for process, s := range map[string]*world{"the same process": w, "another process": w.again(t)} {
				got, err := s.Create(t.Context(), caller, tt.second)
				if tt.code != "" {
					expectFields(t, err, tt.code, tt.fields)
					continue
				}
				if err != nil || !got.Replay || got.Checkout.ID != first.Checkout.ID || got.Checkout.Intent != first.Checkout.Intent || got.Token != first.Token {
					t.Errorf("%s: %+v, %v; want a replay of %s", process, got, err, first.Checkout.ID)
				}
			}
			if n := len(w.records(t)); n != 1 {
				t.Errorf("%d checkouts on record, want one", n)
			}
		})
	}
}

// expectFields checks that err is a refusal with this code that names these fields.
func expectFields(t *testing.T, err error, code checkout.Code, fields []string) {
	t.Helper()
	expect(t, err, code)
	if got := namedBy(err); !slices.Equal(got, fields) {
		t.Errorf("%v names %q, want %q", err, got, fields)
	}
}

// An open checkout can still be set up and confirmed after its provider changed its mode.
func TestACheckoutGoesOnAfterItsProviderChangedItsMode(t *testing.T) {
	w := newWorld(t)
	w.configure(t, legacy())
	o, err := w.Create(t.Context(), caller, legacyCreate("ORDER-1"))
	if err != nil {
		t.Fatal(err)
	}
	w.configure(t, kowhai())
	again, err := w.Create(t.Context(), caller, legacyCreate("ORDER-1"))
	if err != nil || again.SetupURL != o.SetupURL {
		t.Fatalf("the replay has the setup URL %q, %v; want %q", again.SetupURL, err, o.SetupURL)
	}
	w.setUp(t, again.Token)
	done, err := w.confirm(t, confirm(again))
	if err != nil || done.Checkout.Status != checkout.Confirmed || w.records(t)["ORDER-1"].Agreement.Course.Code != "" {
		t.Errorf("confirmed: %s, %v", done.Checkout.Status, err)
	}
}

// A final instalment that was sent is echoed, even if it equals the others.
func TestAFinalInstalmentThatWasSentIsRemembered(t *testing.T) {
	w := newWorld(t)
	w.configure(t, legacy())
	for _, tt := range []struct {
		order string
		final checkout.Optional[money.Cents]
	}{
		{"A", checkout.Some[money.Cents](697_50)},
		{"B", checkout.Optional[money.Cents]{}},
	} {
		cmd := legacyCreate(tt.order)
		cmd.Number, cmd.Regular, cmd.Final = checkout.Some(4), checkout.Some[money.Cents](697_50), tt.final
		for _, replay := range []bool{false, true} {
			o, err := w.Create(t.Context(), caller, cmd)
			if err != nil || o.Replay != replay || o.SentFinal != tt.final.Given {
				t.Errorf("order %s, replay %v: sent %v, %v; want %v", tt.order, o.Replay, o.SentFinal, err, tt.final.Given)
			}
		}
	}
}

// One key means one enrolment, whether it was sent as a header or is the default for a create without one.
func TestOneKeyOnTwoOrders(t *testing.T) {
	keyed := func(order, key string) checkout.Create {
		c := create(order)
		if key != "" {
			c.IdempotencyKey = checkout.Some(key)
		}
		return c
	}
	both := []string{"Idempotency-Key", "provider.provider_order_id"}
	for _, tt := range []struct {
		name          string
		first, second checkout.Create
		conflict      bool
	}{
		{"the same header", keyed("A", "key-1"), keyed("B", "key-1"), true},
		{"the default key of the first, as a header of the second", keyed("A", ""), keyed("B", "KOWHAI:A"), true},
		{"the default key of the second, as a header of the first", keyed("A", "KOWHAI:B"), keyed("B", ""), true},
		{"the default key of the second, as a header of both", keyed("A", "KOWHAI:B"), keyed("B", "KOWHAI:B"), true},
		{"its own default key as a header, and then the same of the first", keyed("A", "KOWHAI:A"), keyed("B", "KOWHAI:A"), true},
		{"keys that differ in their letter case", keyed("A", "key-1"), keyed("B", "KEY-1"), false},
		{"default keys", keyed("A", ""), keyed("B", ""), false},
		{"the default key that the first has not bound, since it sent a header", keyed("A", "key-1"), keyed("B", "KOWHAI:A"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			if _, err := w.Create(t.Context(), caller, tt.first); err != nil {
				t.Fatal(err)
			}
			for _, s := range []*world{w, w.again(t)} {
				o, err := s.Create(t.Context(), caller, tt.second)
				if tt.conflict {
					expectFields(t, err, checkout.CodeIntentConflict, both)
				} else if err != nil || o.Checkout.OrderID != "B" {
					t.Errorf("%+v, %v; want a checkout of order B", o, err)
				}
			}
			if again, err := w.Create(t.Context(), caller, tt.first); err != nil || !again.Replay {
				t.Errorf("the first create again: %v; want a replay", err)
			}
			want := map[bool]int{true: 1, false: 2}[tt.conflict]
			if n := len(w.records(t)); n != want {
				t.Errorf("%d checkouts on record, want %d", n, want)
			}
		})
	}
}

// Another provider's keys and orders are its own.
func TestKeysAreScopedToTheProvider(t *testing.T) {
	w := newWorld(t)
	rimu := kowhai()
	rimu.Provider.Code = "RIMU"
	w.configure(t, kowhai(), rimu)
	cmd := create("A")
	cmd.IdempotencyKey = checkout.Some("key-1")
	first, err := w.Create(t.Context(), caller, cmd)
	if err != nil {
		t.Fatal(err)
	}
	cmd.ProviderCode = checkout.Some("RIMU")
	second, err := w.Create(t.Context(), service.Caller{ProviderCode: "RIMU"}, cmd)
	if err != nil || second.Replay || second.Checkout.ID == first.Checkout.ID || second.Checkout.Records == first.Checkout.Records {
		t.Errorf("the same order and key of another provider: %+v, %v; want a checkout of its own", second, err)
	}
}

// Of many orders that are created with one key at once, one is opened.
func TestOfManyOrdersWithOneKeyOneOpens(t *testing.T) {
	w := newWorld(t)
	var opened, conflicts atomic.Int64
	var all sync.WaitGroup
	for i := range crowd {
		all.Go(func() {
			cmd := create(fmt.Sprint("ORDER-", i))
			cmd.IdempotencyKey = checkout.Some("key-1")
			_, err := w.Create(t.Context(), caller, cmd)
			if err == nil {
				opened.Add(1)
				return
			}
			expect(t, err, checkout.CodeIntentConflict)
			conflicts.Add(1)
		})
	}
	all.Wait()
	if opened.Load() != 1 || conflicts.Load() != crowd-1 || len(w.records(t)) != 1 {
		t.Errorf("%d opened, %d conflicts, %d on record; want one", opened.Load(), conflicts.Load(), len(w.records(t)))
	}
}
