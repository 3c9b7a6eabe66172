package contract_test

import (
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

const createPath = "/v1/provider-checkouts"

// exactly checks that an answer is this JSON, with exactly the same fields and number texts. "?" in want
// matches any text but the empty one, and the KEY=… pairs in names replace KEY in want.
func exactly(t *testing.T, r response, status int, want string, names ...string) {
	t.Helper()
	wanted, err := apiclient.ParseObject([]byte(strings.NewReplacer(names...).Replace(want)))
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != status {
		t.Errorf("status %d, want %d", r.Status, status)
	}
	got := members(r.JSON)
	if debit, ok := got["direct_debit"].(members); ok && outside.GoCardless {
		delete(debit, "mandate_since") // which the fake processor does not say, and tests of the adapter hold
	}
	for _, difference := range differences("", got, members(wanted)) {
		t.Errorf("%s\nin %s", difference, r.Body)
	}
}

// differences lists where two JSON values differ, in any order.
func differences(path string, got, want any) (all []string) {
	wanted, isObject := want.(members)
	if !isObject {
		text, isText := got.(string)
		if !(want == "?" && isText && text != "") && !reflect.DeepEqual(got, want) {
			all = append(all, fmt.Sprintf("%s is %#v, want %#v", path, got, want))
		}
		return all
	}
	object, ok := got.(members)
	if !ok {
		return []string{fmt.Sprintf("%s is %#v, want an object", path, got)}
	}
	for name, value := range wanted {
		if inner, ok := object[name]; ok {
			all = append(all, differences(path+"."+name, inner, value)...)
		} else {
			all = append(all, path+"."+name+" is missing")
		}
	}
	for name, value := range object {
		if _, ok := wanted[name]; !ok {
			all = append(all, fmt.Sprintf("%s.%s is %#v, want no such field", path, name, value))
		}
	}
	return all
}

// opened is the answer to a first create. openedNames replaces the names in capitals.
const opened = `{"success": true, "idempotent_replay": false,
	"provider": {"provider_code": "PROVIDER", "provider_order_id": "ORDER"},
	"records": {"contact_id": "?", "opportunity_id": "?", "dda_id": "DDA"},
	"checkout": {"checkout_id": "CHECKOUT", "status": "direct_debit_setup_required", "requires_direct_debit": true},
	"direct_debit": {"setup_complete": false, "dda_id": "DDA", "setup_url": "BASE/api/dd-setup?token=TOKEN", "token": "TOKEN",
		"expires_at": "?", "next_poll_after": 2},
	"plan": {"payment_type": "interest_free_payment_plan", PLAN, "first_payment_date": "2027-02-01"},
	"pricing": PRICING}`

// openedNames returns the values of the names in opened.
func (s *suite) openedNames(r response, provider, order, plan, pricing string) []string {
	return []string{"PROVIDER", provider, "ORDER", order, "PLAN", plan, "PRICING", pricing, "BASE", s.URL,
		"DDA", r.String("records.dda_id"), "CHECKOUT", r.String("checkout.checkout_id"), "TOKEN", r.String("direct_debit.token")}
}

const (
	cataloguePlan = `"payment_frequency": "Weekly", "number_of_instalments": 52,
		"instalment_amount": 53.65, "final_instalment_amount": 53.85`
	cataloguePricing = `{"course_price": 2990.00, "amount_to_finance": 2790.00, "upfront_payment": 200.00}`
	legacyPlan       = `"payment_frequency": "Weekly", "number_of_instalments": 3,
		"instalment_amount": 333.33, "final_instalment_amount": 333.34`
	legacyPricing = `{"course_price": 1250.00, "amount_to_finance": 1000.00, "upfront_payment": 250.00}`
)

func TestContract22AFirstCreateAnswersTheseFieldsAndNoOthers(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		for _, tt := range []struct{ name, provider, body, plan, pricing string }{
			{"catalogue", "KOWHAI", catalogueCreate, cataloguePlan, cataloguePricing},
			{"legacy", "TUI", legacyCreate, legacyPlan, legacyPricing},
		} {
			t.Run(tt.name, func(t *testing.T) {
				r := s.Post(t, tt.provider, createPath, order(tt.body, "ENR/<1>& é"))
				exactly(t, r, http.StatusCreated, opened,
					s.openedNames(r, tt.provider, "ENR/<1>& é", tt.plan, tt.pricing)...)
			})
		}
	})
}

func TestContract4AFirstCreateIs201WithTheLocationOfItsCheckout(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Create(t, "ORDER-1")
		location := created.Header.Get("Location")
		if location != created.CheckoutPath() {
			t.Errorf("Location %q, want %q", location, created.CheckoutPath())
		}
		if found := s.Get(t, "KOWHAI", location); found.Status != http.StatusOK ||
			found.String("checkout.checkout_id") != created.String("checkout.checkout_id") {
			t.Errorf("GET of the location answers %d %s", found.Status, found.Body)
		}
		if replay := s.Post(t, "KOWHAI", createPath, order(catalogueCreate, "ORDER-1")); replay.Header.Get("Location") != "" {
			t.Errorf("a replay created nothing, yet has the Location %q", replay.Header.Get("Location"))
		}
	})
}

func TestContract22ACheckoutIDIsTheProvidersCodeDigitsAndASuffix(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		shape := regexp.MustCompile(`^KOWHAI-([0-9]{13})-[a-z2-7]{16}$`)
		before := s.Clock.Now().UnixMilli()
		first, second := s.Create(t, "ORDER-1"), s.Create(t, "ORDER-2")
		after := s.Clock.Now().UnixMilli()
		for _, r := range []response{first, second} {
			parts := shape.FindStringSubmatch(r.String("checkout.checkout_id"))
			if parts == nil || parts[1] < fmt.Sprint(before) || parts[1] > fmt.Sprint(after) {
				t.Errorf("checkout_id %q, want KOWHAI-<unix milliseconds of now>-<16 characters>", r.At("checkout.checkout_id"))
			}
		}
		if first.String("checkout.checkout_id")[21:] == second.String("checkout.checkout_id")[21:] {
			t.Errorf("two checkouts share the suffix of %q", first.String("checkout.checkout_id"))
		}
	})
}

func TestContract3ACreateMakesAContactAnEnrolmentAndADraftAuthority(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Create(t, "ORDER-1")
		all := s.Records(t)
		if len(all) != 1 {
			t.Fatalf("%d checkouts on record, want 1", len(all))
		}
		c := all[0].Checkout
		want := checkout.Records{ContactID: created.String("records.contact_id"),
			OpportunityID: created.String("records.opportunity_id"), DDAID: created.String("records.dda_id")}
		if c.Records(catalogue.Sandbox) != want || want.ContactID == want.OpportunityID || want.OpportunityID == want.DDAID {
			t.Errorf("records %+v, want the three of %s", c.Records(catalogue.Sandbox), created.Body)
		}
		if want := (checkout.Student{FirstName: "Aroha", LastName: "Ngata", Email: "aroha.ngata@students.example.ac.nz"}); c.Student != want {
			t.Errorf("student %+v, want %+v", c.Student, want)
		}
		if c.Status != checkout.SetupRequired || all[0].Agreement != nil || all[0].Document != 0 {
			t.Errorf("a create leaves status %s, agreement %v, document %v", c.Status, all[0].Agreement, all[0].Document)
		}
		if len(all[0].Events()) != 1 || len(s.Receiver.Deliveries()) != 1 || s.Receiver.Deliveries()[0].JSON.Text("event") != "checkout.created" {
			t.Errorf("%d events on record, delivered %v; want checkout.created", len(all[0].Events()), s.Receiver.Deliveries())
		}
	})
}

func TestContract21UnknownFieldsAreIgnoredAndBindNothing(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		body := order(catalogueCreate, "ORDER-1")
		for path, raw := range map[string]string{"student.phone": "1", "student.id": "1", "plan.discount": "1", "checkout.status": `"confirmed"`,
			"checkout.checkout_id": `"mine"`, "records.contact_id": `"mine"`, "records.opportunity_id": `"mine"`, "records.dda_id": `"mine"`,
			"direct_debit.setup_complete": "true", "direct_debit.token": `"mine"`, "enrolment.status": `"complete"`,
			"provider.environment": `"production"`, "provider.account_id": `"mine"`} {
			body = set(t, body, path, raw)
		}
		body = strings.Replace(body, "{", `{"status": "confirmed", "success": false, "__proto__": {"a": 1}, "constructor": null,
			"unheard": {"of": [null, 1e999]}, "x": `+strings.Repeat("[", 31)+strings.Repeat("]", 31)+`,`, 1)
		r := s.Post(t, "KOWHAI", createPath, body)
		exactly(t, r, http.StatusCreated, opened, s.openedNames(r, "KOWHAI", "ORDER-1", cataloguePlan, cataloguePricing)...)
		if strings.Contains(r.Body, "mine") {
			t.Errorf("a field that the contract does not know is in %s", r.Body)
		}
		refused(t, s.Confirm(t, r), http.StatusConflict, "DIRECT_DEBIT_SETUP_INCOMPLETE")
	})
}

// nothingStored checks that no checkout is on record and no event was sent.
func nothingStored(t *testing.T, s *suite) {
	t.Helper()
	if stored, sent := s.Records(t), s.Receiver.Deliveries(); len(stored) != 0 || len(sent) != 0 {
		t.Errorf("%d checkouts on record and %d events sent, want none", len(stored), len(sent))
	}
}

func TestContract21NamesAreNormalisedAndTrimmedAndIdentifiersAreNot(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		const decomposed, composed = "Tu\u0304hoe", "Tūhoe"
		body := order(legacyCreate, `\u2003e\u0301 `)
		body = set(t, body, "student.last_name", `"\u00a0 `+decomposed+` "`)
		body = set(t, body, "course.course_name", `" `+decomposed+`\u3000"`)
		r := s.Post(t, "TUI", createPath, body)
		if got := r.String("provider.provider_order_id"); r.Status != http.StatusCreated || got != "\u2003e\u0301 " {
			t.Fatalf("order id came back as %q with %d", got, r.Status)
		}
		c := s.Records(t)[0].Checkout
		if c.Student.LastName != composed || c.Intent.CourseName != composed || c.OrderID != "\u2003e\u0301 " {
			t.Errorf("stored last name %q, course %q, order %q", c.Student.LastName, c.Intent.CourseName, c.OrderID)
		}
		others := []string{`\u2003\u00e9 `, `e\u0301`, `E\u0301`, ` e\u0301`}
		for i, other := range others {
			if r := s.Post(t, "TUI", createPath, order(legacyCreate, other)); r.Status != http.StatusCreated {
				t.Errorf("order %d, which only looks the same: %d %s", i, r.Status, r.Body)
			}
		}
	})
}

func TestContract21TextsOf1To255CharactersAreTaken(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		units := 1
		if outside.Salesforce { // it counts the units of UTF-16
			units = 2
		}
		longest := strings.Repeat("🦜", 255/units)
		name := func(text, field string) string { return first(text, longestName(field)/units) }
		for i, text := range []string{"a", longest, strings.Repeat("ā", 255), "'; DROP TABLE checkouts; --", "=cmd|'/c calc'!A1", "<script>alert(1)</script>", "{{.}} %s ${x}"} {
			body := set(t, order(legacyCreate, fmt.Sprint("ORDER-", i, "-")), "course.course_name", fmt.Sprintf("%q", text))
			body = set(t, body, "provider.provider_order_id", fmt.Sprintf("%q", text))
			for _, field := range []string{"student.first_name", "student.last_name"} {
				body = set(t, body, field, fmt.Sprintf("%q", name(text, field)))
			}
			r := s.Post(t, "TUI", createPath, body)
			if r.Status != http.StatusCreated || r.String("provider.provider_order_id") != text {
				t.Errorf("%.20q: %d %.200s", text, r.Status, r.Body)
			}
		}
		all := s.Records(t)
		whole := func(d checkout.CheckoutRecord) bool {
			return d.Checkout.OrderID == longest && d.Checkout.Intent.CourseName == longest &&
				d.Checkout.Student.FirstName == name(longest, "student.first_name")
		}
		if !slices.ContainsFunc(all, whole) {
			t.Error("characters outside the first plane were not stored whole")
		}
	})
}

// first returns the first n characters of a text.
func first(text string, n int) string {
	runes := []rune(text)
	return string(runes[:min(n, len(runes))])
}
