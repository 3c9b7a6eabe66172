package contract_test

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// Sections 2.4 and 2.5: the request and the answer of a confirm.

const setupLifetime = 7 * 24 * time.Hour

// confirmAs sends a confirm with a body of its own to a checkout of KOWHAI.
func (s *suite) confirmAs(t *testing.T, created response, body string) response {
	t.Helper()
	return s.Post(t, "KOWHAI", created.CheckoutPath()+"/confirm", body)
}

// record returns what is on record about an order, or the zero CheckoutRecord.
func (s *suite) record(t *testing.T, order string) (found checkout.CheckoutRecord) {
	t.Helper()
	for _, d := range s.Records(t) {
		if d.Checkout.OrderID == order {
			if found.Checkout.ID != "" {
				t.Errorf("order %s has two checkouts: %s and %s", order, found.Checkout.ID, d.Checkout.ID)
			}
			found = d
		}
	}
	return found
}

// members are the members of a JSON object.
type members = map[string]any

// leaves returns the dotted path of every value in an answer, sorted.
func leaves(a members) (paths []string) {
	for name, v := range a {
		if object, ok := v.(members); ok {
			for _, path := range leaves(object) {
				paths = append(paths, name+"."+path)
			}
			continue
		}
		paths = append(paths, name)
	}
	slices.Sort(paths)
	return paths
}

// holdsExactly checks that an answer has these values and no others; nil matches any text but "".
func holdsExactly(t *testing.T, r response, want map[string]any) {
	t.Helper()
	if got := leaves(members(r.JSON)); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Errorf("answer %s has the fields %q", r.Body, got)
	}
	for path, value := range want {
		switch got := r.At(path); {
		case value == nil && r.JSON.Text(path) == "":
			t.Errorf("answer %s: %s is %v, want a text", r.Body, path, got)
		case value != nil && got != value:
			t.Errorf("answer %s: %s is %v, want %v", r.Body, path, got, value)
		}
	}
}

// confirmFields are the fields of section 2.4.
var confirmFields = []string{
	"provider.provider_code", "provider.provider_order_id",
	"checkout.checkout_id", "checkout.checkout_token", "checkout.opportunity_id", "checkout.dda_id",
	"payment.payment_method", "payment.first_payment_date", "payment.deposit_confirmed",
	"declarations.payment_plan_accepted", "declarations.information_confirmed",
	"declarations.privacy_consent_accepted",
}

func TestContract24EveryFieldOfAConfirmIsRequired(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Ready(t, "ORDER-1")
		before := s.record(t, "ORDER-1")
		for _, field := range confirmFields {
			for _, raw := range []string{"", "null", "7", "[]", "{}"} {
				t.Run(field+"="+raw, func(t *testing.T) {
					got := s.confirmAs(t, created, set(t, created.ConfirmBody(), field, raw))
					refused(t, got, http.StatusBadRequest, "VALIDATION_ERROR", field)
				})
			}
		}
		all := s.confirmAs(t, created, `{}`)
		refused(t, all, http.StatusBadRequest, "VALIDATION_ERROR", confirmFields...)
		if after := s.record(t, "ORDER-1"); !reflect.DeepEqual(after, before) {
			t.Errorf("refused confirms changed the record:\n%+v\nwant\n%+v", after, before)
		}
	})
}

func TestContract24ADeclarationCountsOnlyAsTrueItself(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Ready(t, "ORDER-1")
		acceptances := confirmFields[8:]
		none := created.ConfirmBody()
		for _, field := range acceptances {
			for _, raw := range []string{"false", `"true"`, `"yes"`, "1", `{"value": true}`, "[true]"} {
				t.Run(field+"="+raw, func(t *testing.T) {
					got := s.confirmAs(t, created, set(t, created.ConfirmBody(), field, raw))
					refused(t, got, http.StatusBadRequest, "VALIDATION_ERROR", field)
				})
			}
			none = set(t, none, field, "false")
		}
		refused(t, s.confirmAs(t, created, none), http.StatusBadRequest, "VALIDATION_ERROR", acceptances...)
	})
}

func TestContract24TheValuesOfThePaymentAreThoseOfTheContract(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Ready(t, "ORDER-1")
		for _, tt := range []struct{ name, field, raw string }{
			{"another payment method", "payment.payment_method", `"card"`},
			{"payment method in another letter case", "payment.payment_method", `"Service_Payment_Plan"`},
			{"a day that does not exist", "payment.first_payment_date", `"2027-02-29"`},
			{"a date with a time", "payment.first_payment_date", `"2027-02-01T00:00:00Z"`},
			{"a date of another form", "payment.first_payment_date", `"01/02/2027"`},
			{"a date before 2000", "payment.first_payment_date", `"1999-12-31"`},
			{"a date after 2199", "payment.first_payment_date", `"2200-01-01"`},
		} {
			t.Run(tt.name, func(t *testing.T) {
				got := s.confirmAs(t, created, set(t, created.ConfirmBody(), tt.field, tt.raw))
				refused(t, got, http.StatusBadRequest, "VALIDATION_ERROR", tt.field)
			})
		}
	})
}

func TestContract24IdentifiersMustBeThoseOfTheStoredCheckout(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created, other := s.Ready(t, "ORDER-1"), s.Ready(t, "ORDER-2")
		before := s.Records(t)
		identifiers := []string{"checkout.checkout_id", "provider.provider_order_id", "checkout.opportunity_id",
			"checkout.dda_id", "checkout.checkout_token"}
		mine, others := sent(t, created), sent(t, other)
		for _, field := range identifiers {
			for name, value := range map[string]string{
				"unknown":                "nobody's",
				"another checkout's":     others.Text(field),
				"with a space after it":  mine.Text(field) + " ",
				"in another letter case": flipped(mine.Text(field)),
				"cut short":              mine.Text(field)[1:],
			} {
				t.Run(field+" "+name, func(t *testing.T) {
					got := s.confirmAs(t, created, set(t, created.ConfirmBody(), field, fmt.Sprintf("%q", value)))
					refused(t, got, http.StatusConflict, "CONFLICT", field)
				})
			}
		}
		wholly := s.confirmAs(t, created, other.ConfirmBody())
		refused(t, wholly, http.StatusConflict, "CONFLICT", identifiers[:4]...)
		for _, code := range []string{"TUI", "kowhai", "NOBODY"} {
			t.Run("provider code "+code, func(t *testing.T) {
				got := s.confirmAs(t, created, set(t, created.ConfirmBody(), "provider.provider_code", fmt.Sprintf("%q", code)))
				refused(t, got, http.StatusForbidden, "PROVIDER_KEY_MISMATCH", "provider.provider_code")
			})
		}
		if after := s.Records(t); !reflect.DeepEqual(after, before) {
			t.Errorf("refused confirms changed the record:\n%+v\nwant\n%+v", after, before)
		}
	})
}

// sent returns the fields of the valid confirm for a create's answer.
func sent(t *testing.T, created response) apiclient.Object {
	t.Helper()
	a, err := apiclient.ParseObject([]byte(created.ConfirmBody()))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// flipped returns text with the letter case of its last letter changed.
func flipped(text string) string {
	at := strings.LastIndexFunc(text, unicode.IsLetter)
	last := text[at : at+1]
	if lower := strings.ToLower(last); lower != last {
		return text[:at] + lower + text[at+1:]
	}
	return text[:at] + strings.ToUpper(last) + text[at+1:]
}

func TestContract24TheCheckoutIDMustAppearInThePath(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Ready(t, "ORDER-1")
		for _, path := range []string{"/v1/provider-checkouts/confirm", "/v1/provider-checkouts//confirm"} {
			got := s.Post(t, "KOWHAI", path, created.ConfirmBody())
			if got.Status != http.StatusNotFound && got.Status != http.StatusMethodNotAllowed {
				t.Errorf("POST %s answers %d %s", path, got.Status, got.Body)
			}
		}
		unknown := s.Post(t, "KOWHAI", "/v1/provider-checkouts/KOWHAI-1-aaaaaaaaaaaaaaaa/confirm", created.ConfirmBody())
		refused(t, unknown, http.StatusNotFound, "CHECKOUT_NOT_FOUND")
	})
}

func TestContract24FieldsThatTheContractDoesNotKnowBindNothing(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Ready(t, "ORDER-1")
		body := created.ConfirmBody()
		for path, raw := range map[string]string{
			"agreement.id": `"mine"`, "agreement.number": `"PPA-1"`, "agreement.pdf_generated": "false",
			"checkout.status": `"direct_debit_setup_required"`, "enrolment.status": `"draft"`,
			"payment.course_price": "1.00", "pricing.course_price": "1.00", "direct_debit.mandate_status": `"cancelled"`,
		} {
			body = set(t, body, path, raw)
		}
		confirmed := s.confirmAs(t, created, body)
		if confirmed.String("agreement.id") == "mine" || confirmed.String("checkout.status") != "confirmed" ||
			confirmed.String("direct_debit.mandate_status") != "pending_submission" {
			t.Errorf("confirm answers %s", confirmed.Body)
		}
		if price := s.record(t, "ORDER-1").Agreement.Pricing.Price; price != 2990_00 {
			t.Errorf("the agreement's price is %s", price)
		}
	})
}

func TestContract24TheTokenIsTheLatestOneAfterAnyReplay(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Ready(t, "ORDER-1")
		s.Clock.Forward(setupLifetime - 23*time.Hour)
		replayed := s.Post(t, "KOWHAI", "/v1/provider-checkouts", order(catalogueCreate, "ORDER-1"))
		if replayed.String("direct_debit.token") == created.String("direct_debit.token") {
			t.Fatalf("with less than a day left a replay answers the same token: %s", replayed.Body)
		}
		refused(t, s.Confirm(t, created), http.StatusConflict, "CONFLICT", "checkout.checkout_token")
		if got := s.Confirm(t, replayed); got.Status != http.StatusOK || got.At("already_confirmed") != false {
			t.Errorf("with the latest token confirm answers %d %s", got.Status, got.Body)
		}
		if got := s.Confirm(t, created); got.Status != http.StatusOK || got.At("already_confirmed") != true {
			t.Errorf("with the earlier token a repeat answers %d %s", got.Status, got.Body)
		}
	})
}

func TestContract24TheLatestTokenConfirmsThoughItsPageHasExpired(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Ready(t, "ORDER-1")
		s.Clock.Forward(setupLifetime + time.Hour)
		if got := s.Confirm(t, created); got.Status != http.StatusOK || got.At("already_confirmed") != false {
			t.Errorf("confirm answers %d %s", got.Status, got.Body)
		}
	})
}

func TestContract24ConfirmsDateIsTheAgreedOne(t *testing.T) {
	for _, tt := range []struct {
		name, provider, body string
		first, second        string // charges
	}{
		{"with an upfront payment", "KOWHAI", catalogueCreate, "initial_payment 2027-03-15", "instalment 2027-03-22"},
		{"without one", "TUI", strings.NewReplacer("1250.00", "1000.00", "250.00", "0").Replace(legacyCreate),
			"instalment 2027-03-15", "instalment 2027-03-22"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			contract(t, func(t *testing.T, s *suite) {
				created := s.Post(t, tt.provider, "/v1/provider-checkouts", order(tt.body, "ORDER-1"))
				s.SetUp(t, created)
				body := set(t, created.ConfirmBody(), "payment.first_payment_date", `"2027-03-15"`)
				confirmed := s.Post(t, tt.provider, created.CheckoutPath()+"/confirm", body)
				if confirmed.Status != http.StatusOK {
					t.Fatalf("confirm answers %d %s", confirmed.Status, confirmed.Body)
				}
				// A repeat that names yet another date changes nothing.
				s.Post(t, tt.provider, created.CheckoutPath()+"/confirm", created.ConfirmBody())

				d := s.record(t, "ORDER-1")
				if got := d.Agreement.Plan.First.String(); got != "2027-03-15" {
					t.Errorf("the agreement's first payment date is %s", got)
				}
				charges := d.Agreement.Schedule
				say := func(c money.Charge) string { return fmt.Sprint(c.Type, " ", c.Due) }
				if say(charges[0]) != tt.first || say(charges[1]) != tt.second {
					t.Errorf("the charges begin with %s and %s, want %s and %s",
						say(charges[0]), say(charges[1]), tt.first, tt.second)
				}
				if !slices.Equal(charges, d.Checkout.Schedule()) {
					t.Errorf("the agreement's charges are %v, the checkout's %v", charges, d.Checkout.Schedule())
				}
				var sum money.Cents
				for _, c := range charges {
					sum += c.Amount
				}
				if sum != d.Agreement.Pricing.Price {
					t.Errorf("the charges sum to %s, the price is %s", sum, d.Agreement.Pricing.Price)
				}
				replayed := s.Post(t, tt.provider, "/v1/provider-checkouts", order(tt.body, "ORDER-1"))
				if replayed.Status != http.StatusOK || replayed.String("plan.first_payment_date") != "2027-02-01" {
					t.Errorf("a replay with the preferred date answers %d %s", replayed.Status, replayed.Body)
				}
			})
		})
	}
}

func TestContract25AConfirmIsAnsweredWithTheseFieldsAndNoOthers(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Ready(t, "ORDER-1")
		confirmed := s.Confirm(t, created)
		want := map[string]any{
			"success":                     true,
			"checkout.status":             "confirmed",
			"checkout.id":                 created.At("checkout.checkout_id"),
			"enrolment.status":            "complete",
			"direct_debit.setup_complete": true,
			"direct_debit.mandate_status": "pending_submission",
			"agreement.id":                nil,
			"agreement.number":            nil,
			"agreement.pdf_generated":     true,
			"already_confirmed":           false,
		}
		holdsExactly(t, confirmed, want)
		if number := confirmed.String("agreement.number"); !regexp.MustCompile(`^PPA-20\d\d-[0-9A-HJKMNP-TV-Z]{11}$`).MatchString(number) {
			t.Errorf("the agreement's number is %q", number)
		}
		want["already_confirmed"] = true
		want["agreement.id"], want["agreement.number"] = confirmed.At("agreement.id"), confirmed.At("agreement.number")
		holdsExactly(t, s.Confirm(t, created), want)
	})
}

func TestContract25TheAnswerIsWhatIsOnRecord(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Ready(t, "ORDER-1")
		confirmed := s.Confirm(t, created)
		d := s.record(t, "ORDER-1")
		if d.Checkout.AgreementID(catalogue.Sandbox, d.Agreement.Number) != confirmed.String("agreement.id") || d.Agreement.Number != confirmed.String("agreement.number") {
			t.Errorf("on record is agreement %s; the answer says %s", d.Agreement.Number, confirmed.Body)
		}
		if d.Checkout.Confirmation.RequestID != confirmed.Header.Get("X-Request-Id") {
			t.Errorf("the record names request %s, want %s",
				d.Checkout.Confirmation.RequestID, confirmed.Header.Get("X-Request-Id"))
		}
		if d.Document == 0 {
			t.Errorf("pdf_generated is true; on record is the document of %d bytes", d.Document)
		}
	})
}
