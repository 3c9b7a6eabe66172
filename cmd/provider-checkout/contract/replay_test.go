package contract_test

import (
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// replayed returns the answer to a replay of a create that was answered with r.
func replayed(r response, key string) string {
	return strings.Replace(r.Body, `"idempotent_replay":false,`, `"idempotent_replay":true,"idempotency_key":"`+key+`",`, 1)
}

func TestContract4AReplayIsTheFirstAnswerWithItsKeyAndMakesNothing(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		for _, tt := range []struct{ provider, body string }{{"KOWHAI", catalogueCreate}, {"TUI", legacyCreate}} {
			first := s.Post(t, tt.provider, createPath, order(tt.body, "ORDER-1"))
			before, sent := s.Records(t), len(s.Receiver.Deliveries())
			for range 3 {
				exactly(t, s.Post(t, tt.provider, createPath, order(tt.body, "ORDER-1")), http.StatusOK,
					replayed(first, tt.provider+":ORDER-1"))
			}
			unchanged(t, s, before)
			if got := len(s.Receiver.Deliveries()); got != sent {
				t.Errorf("%d events after the replays, want %d", got, sent)
			}
		}
	})
}

// unchanged checks that the record is the same as before.
func unchanged(t *testing.T, s *suite, before []checkout.CheckoutRecord) {
	t.Helper()
	if after := s.Records(t); !reflect.DeepEqual(after, before) {
		t.Errorf("on record %+v\nbefore    %+v", after, before)
	}
}

func TestContract4WhatIsNotInTheCanonicalIntentMayChangeOnAReplay(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		first := s.Post(t, "TUI", createPath, order(legacyCreate, "ORDER-1"))
		before := s.Records(t)
		for _, tt := range []struct{ name, field, raw string }{
			{"the first name", "student.first_name", `"Hēmi"`},
			{"the last name", "student.last_name", `"Other"`},
			{"the address", "student.email", `"other@example.nz"`},
			{"how an amount is written", "pricing.course_price", `1.25e3`},
			{"how a name is written", "course.course_name", `" Certificate in Joinery\u00a0"`},
			{"an unknown field", "plan.colour", `"green"`},
			{"nothing but the order of the fields", "plan.payment_frequency", `"Weekly"`},
		} {
			t.Run(tt.name, func(t *testing.T) {
				r := s.Post(t, "TUI", createPath, set(t, order(legacyCreate, "ORDER-1"), tt.field, tt.raw))
				exactly(t, r, http.StatusOK, replayed(first, "TUI:ORDER-1"))
			})
		}
		unchanged(t, s, before)

		even := set(t, set(t, order(legacyCreate, "EVEN"), "plan.number_of_instalments", "4"), "plan.instalment_amount", "250")
		withFinal, withoutFinal := set(t, even, "plan.final_instalment_amount", "250.00"), set(t, even, "plan.final_instalment_amount", "")
		first = s.Post(t, "TUI", createPath, withFinal)
		again := replayed(first, "TUI:EVEN")
		exactly(t, s.Post(t, "TUI", createPath, withFinal), http.StatusOK, again)
		exactly(t, s.Post(t, "TUI", createPath, withoutFinal), http.StatusOK, // only a final amount that was sent is echoed
			strings.Replace(again, `"final_instalment_amount":250.00,`, "", 1))
	})
}

func TestContract4AnotherIntentIsAConflictThatNamesEachFieldAndChangesNothing(t *testing.T) {
	const name, price, upfront, principal = "course.course_name", "pricing.course_price",
		"pricing.upfront_payment", "pricing.amount_to_finance"
	const regular, number, frequency, date, final = "plan.instalment_amount", "plan.number_of_instalments",
		"plan.payment_frequency", "plan.first_payment_date", "plan.final_instalment_amount"
	contract(t, func(t *testing.T, s *suite) {
		first := s.Post(t, "TUI", createPath, order(legacyCreate, "ORDER-1"))
		before, sent := s.Records(t), len(s.Receiver.Deliveries())
		for _, tt := range []struct {
			name    string
			changes []string // fields and values in turn
			fields  []string
		}{
			{"course name", []string{name, `"Certificate in joinery"`}, []string{name}},
			{"price and upfront", []string{price, "1251", upfront, "251"}, []string{price, upfront}},
			{"price and principal", []string{price, "1251", principal, "1001", final, "334.34"}, []string{price, principal}},
			{"upfront against principal", []string{upfront, "249", principal, "1001", final, "334.34"}, []string{upfront, principal}},
			{"regular instalment by a cent", []string{regular, "333.32", final, "333.36"}, []string{regular}},
			{"number", []string{number, "2", final, "666.67"}, []string{number}},
			{"frequency", []string{frequency, `"Monthly"`}, []string{frequency}},
			{"date by a day", []string{date, `"2027-02-02"`}, []string{date}},
			{"everything", []string{name, `"X"`, price, "10", upfront, "1", principal, "9", regular, "9", number, "1", final, "",
				frequency, `"Fortnightly"`, date, `"2028-02-29"`}, []string{name, price, upfront, principal, regular, number, frequency, date}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				body := order(legacyCreate, "ORDER-1")
				for i := 0; i < len(tt.changes); i += 2 {
					body = set(t, body, tt.changes[i], tt.changes[i+1])
				}
				refused(t, s.Post(t, "TUI", createPath, body), http.StatusConflict, "IDEMPOTENCY_CONFLICT", tt.fields...)
			})
		}
		unchanged(t, s, before)
		if got := len(s.Receiver.Deliveries()); got != sent {
			t.Errorf("%d events after the conflicts, want %d", got, sent)
		}
		exactly(t, s.Post(t, "TUI", createPath, order(legacyCreate, "ORDER-1")), http.StatusOK, replayed(first, "TUI:ORDER-1"))
	})
}

func TestContract4ACataloguesIntentIsWhatTheServiceResolved(t *testing.T) {
	const price, principal, upfront = "pricing.course_price", "pricing.amount_to_finance", "pricing.upfront_payment"
	const regular, number, frequency = "plan.instalment_amount", "plan.number_of_instalments", "plan.payment_frequency"
	contract(t, func(t *testing.T, s *suite) {
		s.Configure(t, withCourses([4]string{"OTHER", "2990", "200", `{"payment_frequency": "Weekly", "number_of_instalments": 52}`},
			[4]string{"DEARER", "3000", "0", `{"payment_frequency": "Weekly", "number_of_instalments": 50}`}))
		body := order(catalogueCreate, "ORDER-1")
		first := s.Create(t, "ORDER-1")
		before := s.Records(t)
		for _, tt := range repeated {
			exactly(t, s.Post(t, "KOWHAI", createPath, set(t, body, tt.field, tt.same)), http.StatusOK, replayed(first, "KOWHAI:ORDER-1"))
			refused(t, s.Post(t, "KOWHAI", createPath, set(t, body, tt.field, tt.other)), http.StatusBadRequest, "VALIDATION_ERROR", tt.field)
		}
		for _, tt := range []struct {
			field, raw string
			fields     []string
		}{
			{"plan.first_payment_date", `"2027-02-08"`, []string{"plan.first_payment_date"}},
			{"plan.payment_frequency", `"Fortnightly"`, []string{regular, number, frequency}},
			{"course.course_code", `"OTHER"`, []string{"course.course_name"}},
			{"course.course_code", `"DEARER"`, []string{"course.course_name", price, upfront, principal, regular, number}},
		} {
			refused(t, s.Post(t, "KOWHAI", createPath, set(t, body, tt.field, tt.raw)), http.StatusConflict, "IDEMPOTENCY_CONFLICT", tt.fields...)
		}
		unchanged(t, s, before)
	})
}

func TestContract4AReplayIsSafeWhateverBecameOfTheCatalogue(t *testing.T) {
	const course = `"course_code": "NZDIP", "course_name": "Diploma in Business", "course_price": 2990.00`
	contract(t, func(t *testing.T, s *suite) {
		first := s.Create(t, "ORDER-1")
		before := s.Records(t)
		for _, tt := range []struct{ name, old, new string }{
			{"the price was raised", course, strings.Replace(course, "2990.00", "3990.00", 1)},
			{"the course was renamed", course, strings.Replace(course, "Diploma in", "Degree in", 1)},
			{"the number of instalments was changed", `"number_of_instalments": 52`, `"number_of_instalments": 26`},
			{"the frequency is no longer offered", `{"payment_frequency": "Weekly", "number_of_instalments": 52},`, ""},
			{"the course retired", "\"active\": true, \"environment\": \"sandbox\", \"plans\": [\n\t\t\t{\"payment_frequency\": \"Weekly\"",
				"\"active\": false, \"environment\": \"sandbox\", \"plans\": [\n\t\t\t{\"payment_frequency\": \"Weekly\""},
			{"the course is gone", `"course_code": "NZDIP"`, `"course_code": "NZDIP-2"`},
		} {
			t.Run(tt.name, func(t *testing.T) {
				changed := strings.Replace(providers, tt.old, tt.new, 1)
				if changed == providers {
					t.Fatal("the provider file did not change")
				}
				s.Configure(t, changed)
				exactly(t, s.Post(t, "KOWHAI", createPath, order(catalogueCreate, "ORDER-1")), http.StatusOK, replayed(first, "KOWHAI:ORDER-1"))
				for _, same := range repeated {
					exactly(t, s.Post(t, "KOWHAI", createPath, set(t, order(catalogueCreate, "ORDER-1"), same.field, same.same)),
						http.StatusOK, replayed(first, "KOWHAI:ORDER-1"))
				}
				refused(t, s.Post(t, "KOWHAI", createPath, set(t, order(catalogueCreate, "ORDER-1"), "plan.first_payment_date", `"2027-02-02"`)),
					http.StatusConflict, "IDEMPOTENCY_CONFLICT", "plan.first_payment_date")
			})
		}
		unchanged(t, s, before)
	})
}

func TestContract4AReplayAfterTheSetupSaysThatItIsComplete(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Create(t, "ORDER-1")
		s.SetUp(t, created)
		exactly(t, s.Post(t, "KOWHAI", createPath, order(catalogueCreate, "ORDER-1")), http.StatusOK,
			strings.NewReplacer(`"setup_complete":false`, `"setup_complete":true`, `,"next_poll_after":2`, "").
				Replace(replayed(created, "KOWHAI:ORDER-1")))
	})
}

func TestContract4AReplayOfAConfirmedCheckoutHasNoSetupPairAndARetriedConfirmStillFits(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Create(t, "ORDER-1")
		s.SetUp(t, created)
		confirmed := s.Confirm(t, created)
		before, sent := s.Records(t), len(s.Receiver.Deliveries())
		want := strings.NewReplacer(`"setup_complete":false`, `"setup_complete":true`, `"direct_debit_setup_required"`, `"confirmed"`,
			`,"setup_url":"`+created.String("direct_debit.setup_url")+`","token":"`+created.String("direct_debit.token")+
				`","expires_at":"`+created.String("direct_debit.expires_at")+`","next_poll_after":2`, "").
			Replace(replayed(created, "KOWHAI:ORDER-1"))
		for _, later := range []time.Duration{0, 6*24*time.Hour + time.Minute, 400 * 24 * time.Hour} {
			s.Clock.Forward(later)
			exactly(t, s.Post(t, "KOWHAI", createPath, order(catalogueCreate, "ORDER-1")), http.StatusOK, want)
			refused(t, s.Post(t, "KOWHAI", createPath, set(t, order(catalogueCreate, "ORDER-1"), "plan.first_payment_date", `"2027-02-02"`)),
				http.StatusConflict, "IDEMPOTENCY_CONFLICT", "plan.first_payment_date")
		}
		repeat := s.Confirm(t, created)
		if repeat.At("already_confirmed") != true || repeat.String("agreement.number") != confirmed.String("agreement.number") {
			t.Errorf("the retried confirm answers %d %s", repeat.Status, repeat.Body)
		}
		unchanged(t, s, before)
		if got := len(s.Receiver.Deliveries()); got != sent {
			t.Errorf("%d events after the replays, want %d", got, sent)
		}
	})
}

func TestContract4ARetryAfterYearsIsStillAReplay(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		first := s.Post(t, "KOWHAI", createPath, order(catalogueCreate, "ORDER-1"), "Idempotency-Key", "key-1")
		s.Clock.Forward(5 * 365 * 24 * time.Hour)
		again := s.Post(t, "KOWHAI", createPath, order(catalogueCreate, "ORDER-1"), "Idempotency-Key", "key-1")
		if again.Status != http.StatusOK || again.String("checkout.checkout_id") != first.String("checkout.checkout_id") {
			t.Errorf("five years later: %d %s", again.Status, again.Body)
		}
		refused(t, s.Post(t, "KOWHAI", createPath, order(catalogueCreate, "ORDER-2"), "Idempotency-Key", "key-1"),
			http.StatusConflict, "IDEMPOTENCY_CONFLICT", "Idempotency-Key", "provider.provider_order_id")
		if n := len(s.Records(t)); n != 1 {
			t.Errorf("%d checkouts on record, want 1", n)
		}
	})
}

// lifetime sets the lifetime of setup tokens.
func lifetime(d time.Duration) func(*service.Config, *httpapi.Options) {
	return func(c *service.Config, _ *httpapi.Options) { c.SetupLifetime = func(string) time.Duration { return d } }
}

// The parts of the provider file about courses, to move each provider to the other pricing mode.
const (
	tuiLegacy    = `"provider_code": "TUI", "name": "Tūī Trades Academy", "account_id": "acc-tui",`
	tuiCatalogue = tuiLegacy + ` "courses": [{"course_code": "JOINERY", "course_name": "NAME", "course_price": 1250.00,
		"upfront_payment": 250.00, "active": true, "plans": [{"payment_frequency": "Weekly", "number_of_instalments": 3}]}],`
	joinery = `{"provider": {"provider_code": "TUI", "provider_order_id": "ORDER"},
		"student": {"first_name": "Hemi", "last_name": "Tūhoe", "email": "hemi@students.example.ac.nz"},
		"course": {"course_code": "JOINERY"}, "plan": {"payment_frequency": "Weekly", "first_payment_date": "2027-02-01"}}`
)

// withCatalogue returns the provider file in which TUI has a course of this name.
func withCatalogue(t *testing.T, courseName string) string {
	t.Helper()
	changed := strings.Replace(providers, tuiLegacy, strings.Replace(tuiCatalogue, "NAME", courseName, 1), 1)
	if changed == providers {
		t.Fatal("the provider file did not change")
	}
	return changed
}

// withoutCatalogue returns the provider file in which KOWHAI has no courses.
func withoutCatalogue(t *testing.T) string {
	t.Helper()
	from := strings.Index(providers, `,
	"courses": [`)
	to := strings.Index(providers, `]}]},
	{"provider_code": "TUI"`)
	if from < 0 || to < 0 {
		t.Fatal("the provider file has another shape")
	}
	return providers[:from] + providers[to+len("]}]"):]
}

func TestContract4AnOrderReplaysAfterItsProviderGotACatalogue(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		first := s.Post(t, "TUI", createPath, order(legacyCreate, "ORDER-1"))
		before := s.Records(t)
		s.Configure(t, withCatalogue(t, "Certificate in Joinery"))

		exactly(t, s.Post(t, "TUI", createPath, order(legacyCreate, "ORDER-1")), http.StatusOK, replayed(first, "TUI:ORDER-1"))
		refused(t, s.Post(t, "TUI", createPath, set(t, order(legacyCreate, "ORDER-1"), "plan.first_payment_date", `"2027-02-02"`)),
			http.StatusConflict, "IDEMPOTENCY_CONFLICT", "plan.first_payment_date")
		refused(t, s.Post(t, "TUI", createPath, order(legacyCreate, "ORDER-2")),
			http.StatusBadRequest, "VALIDATION_ERROR", "course.course_code")
		// The provider's new requests mean the same enrolment if the catalogue has the same figures.
		if r := s.Post(t, "TUI", createPath, order(joinery, "ORDER-1")); r.Status != http.StatusOK {
			t.Errorf("a request by the catalogue, with the same intent: %d %s", r.Status, r.Body)
		}
		s.Configure(t, withCatalogue(t, "Joinery, Level 3"))
		refused(t, s.Post(t, "TUI", createPath, order(joinery, "ORDER-1")), http.StatusConflict, "IDEMPOTENCY_CONFLICT", "course.course_name")
		unchanged(t, s, before)
		s.SetUp(t, first)
		if r := s.Confirm(t, first); r.Status != http.StatusOK {
			t.Errorf("confirm: %d %s", r.Status, r.Body)
		}
	})
}

func TestContract4AnOrderReplaysAfterItsProviderLostItsCatalogue(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		first := s.Create(t, "ORDER-1")
		before := s.Records(t)
		s.Configure(t, withoutCatalogue(t))

		exactly(t, s.Post(t, "KOWHAI", createPath, order(catalogueCreate, "ORDER-1")), http.StatusOK, replayed(first, "KOWHAI:ORDER-1"))
		refused(t, s.Post(t, "KOWHAI", createPath, set(t, order(catalogueCreate, "ORDER-1"), "plan.first_payment_date", `"2027-02-02"`)),
			http.StatusConflict, "IDEMPOTENCY_CONFLICT", "plan.first_payment_date")
		if r := s.Post(t, "KOWHAI", createPath, order(catalogueCreate, "ORDER-2")); r.Status != http.StatusBadRequest {
			t.Errorf("a new order that names a course: %d %s, want 400", r.Status, r.Body)
		}
		unchanged(t, s, before)
		s.SetUp(t, first)
		if r := s.Confirm(t, first); r.Status != http.StatusOK {
			t.Errorf("confirm: %d %s", r.Status, r.Body)
		}
	})
}
