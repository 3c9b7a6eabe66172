package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// wholeCreate has every field that a create knows.
const wholeCreate = `{
  "provider": {"provider_code": "KOWHAI", "provider_order_id": "ENR-1"},
  "student": {"first_name": "Mere", "last_name": "Tōmuri", "email": "mere@example.nz"},
  "course": {"course_code": "NZDIP", "course_name": "Diploma in Business"},
  "pricing": {"course_price": 2990.00, "amount_to_finance": 2790, "upfront_payment": 2e2},
  "plan": {"payment_type": "interest_free_payment_plan", "payment_frequency": "Weekly", "number_of_instalments": 52,
           "instalment_amount": 53.65, "final_instalment_amount": 53.85, "first_payment_date": "2027-02-01"}
}`

// wholeConfirm has every field that a confirm knows.
const wholeConfirm = `{
  "provider": {"provider_code": "KOWHAI", "provider_order_id": "ENR-1"},
  "checkout": {"checkout_id": "KOWHAI-1-a", "checkout_token": "t", "opportunity_id": "o", "dda_id": "d"},
  "payment": {"payment_method": "service_payment_plan", "first_payment_date": "2027-02-08", "deposit_confirmed": true},
  "declarations": {"payment_plan_accepted": true, "information_confirmed": true, "privacy_consent_accepted": true}
}`

func readCreate(body string) (checkout.Create, error) {
	v, err := parseBody([]byte(body))
	if err != nil {
		return checkout.Create{}, err
	}
	return toCreate(v, nil)
}

func readConfirm(body string) (checkout.Confirm, error) {
	v, err := parseBody([]byte(body))
	if err != nil {
		return checkout.Confirm{}, err
	}
	return toConfirm(v)
}

func TestEveryFieldOfACreateIsRead(t *testing.T) {
	got, err := readCreate(wholeCreate)
	give := checkout.Some[string]
	cents := checkout.Some[money.Cents]
	want := checkout.Create{
		ProviderCode: give("KOWHAI"), OrderID: give("ENR-1"),
		FirstName: give("Mere"), LastName: give("Tōmuri"), Email: give("mere@example.nz"),
		CourseCode: give("NZDIP"), CourseName: give("Diploma in Business"),
		Price: cents(2990_00), Principal: cents(2790_00), Upfront: cents(200_00),
		PaymentType: give("interest_free_payment_plan"), Frequency: give("Weekly"), Number: checkout.Some(52),
		Regular: cents(53_65), Final: cents(53_85), First: checkout.Some(money.Date{Year: 2027, Month: 2, Day: 1}),
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, %v\nwant %+v", got, err, want)
	}
}

func TestEveryFieldOfAConfirmIsRead(t *testing.T) {
	got, err := readConfirm(wholeConfirm)
	give, yes := checkout.Some[string], checkout.Some(true)
	want := checkout.Confirm{
		ProviderCode: give("KOWHAI"), OrderID: give("ENR-1"),
		CheckoutID: give("KOWHAI-1-a"), Token: give("t"), OpportunityID: give("o"), DDAID: give("d"),
		PaymentMethod: give("service_payment_plan"), FirstPayment: checkout.Some(money.Date{Year: 2027, Month: 2, Day: 8}),
		DepositConfirmed: yes, PaymentPlanAccepted: yes, InformationConfirmed: yes, PrivacyConsentAccepted: yes,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, %v\nwant %+v", got, err, want)
	}
}

func TestAbsentAndNullAreTheSame(t *testing.T) {
	for _, body := range []string{
		`{}`,
		`{"provider": null, "student": null, "course": null, "pricing": null, "plan": null}`,
		`{"provider": {}, "student": {"first_name": null, "email": null}, "pricing": {"course_price": null},
		  "plan": {"number_of_instalments": null, "first_payment_date": null}}`,
		`{"provider_code": "KOWHAI", "status": "confirmed", "records": {"dda_id": "d"}, "plan": {"provider_code": "KOWHAI"}}`,
	} {
		got, err := readCreate(body)
		if err != nil || len(faults(got.Check(catalogue.Legacy))) != 13 {
			t.Errorf("%s is read as %+v, %v; want every field missing", body, got, err)
		}
		for _, f := range faults(got.Check(catalogue.Legacy)) {
			if !strings.HasPrefix(f.Message, "is required") {
				t.Errorf("%s: %s %s; want it missing", body, f.Field, f.Message)
			}
		}
	}
}

func TestAmbiguousBodiesAreMalformed(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		fields     []string // that the answer names
	}{
		{"nothing", "", nil},
		{"null", "null", nil},
		{"array", "[]", nil},
		{"trailing data", `{} {}`, nil},
		{"33 deep", strings.Repeat(`{"a":`, 33) + "1" + strings.Repeat("}", 33), nil},
		{"lone surrogate", `{"a": "\ud800"}`, []string{"a"}},
		{"section twice", `{"plan": {}, "plan": {}}`, []string{"plan"}},
		{"field twice", `{"plan": {"payment_type": "a", "payment_type": "a"}}`, []string{"plan.payment_type"}},
		{"section in capitals", `{"PLAN": {}}`, []string{"plan"}},
		{"field in capitals", `{"plan": {"Payment_Type": "a"}}`, []string{"plan.payment_type"}},
		{"field in two letter cases", `{"provider": {"provider_code": "A", "PROVIDER_CODE": "B"}}`, []string{"provider.provider_code"}},
		{"field folded beyond ASCII", `{"\u017ftudent": {"fir\u017ft_name": "a"}, "plan": {"payment_type": "a"}}`, []string{"student"}},
		{"several", `{"Student": {}, "plan": {"Payment_Type": 1, "PAYMENT_TYPE": 2, "Instalment_amount": 1}}`,
			[]string{"student", "plan.payment_type", "plan.instalment_amount"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := readCreate(tt.body)
			var refusal *checkout.Error
			if !errors.As(err, &refusal) || refusal.Code != checkout.CodeValidation {
				t.Fatalf("error %v, want a VALIDATION_ERROR", err)
			}
			var fields []string
			for _, f := range refusal.Faults {
				fields = append(fields, f.Field)
			}
			if tt.fields != nil && !reflect.DeepEqual(fields, tt.fields) {
				t.Errorf("faults name %q, want %q: %v", fields, tt.fields, err)
			}
		})
	}
}

func TestWrongTypesAreReportedTogether(t *testing.T) {
	cmd, err := readCreate(`{"provider": {"provider_code": 1}, "student": "Mere", "course": [], "pricing": {"course_price": "2990.00"},
	  "plan": {"number_of_instalments": "52", "first_payment_date": 20270201}}`)
	got := faults(cmd.Check(catalogue.Legacy))
	for _, want := range []checkout.Fault{
		{Field: "student", Message: "must be an object"},
		{Field: "course", Message: "must be an object"},
		{Field: "provider.provider_code", Message: "must be a string"},
		{Field: "pricing.course_price", Message: money.ErrNotNumber.Error()},
		{Field: "plan.number_of_instalments", Message: "must be a whole number from 1 to 600"},
		{Field: "plan.first_payment_date", Message: "must be a string"},
	} {
		if !slices.Contains(got, want) || err != nil {
			t.Errorf("no fault %q among %q, %v", want, got, err)
		}
	}
}

// faults returns the faults of a refusal; nil for a nil error.
func faults(err error) []checkout.Fault {
	refusal, ok := errors.AsType[*checkout.Error](err)
	if !ok {
		return nil
	}
	return refusal.Faults
}

// faultsOf returns the messages about a field.
func faultsOf(err error, field string) (messages []string) {
	for _, f := range faults(err) {
		if f.Field == field {
			messages = append(messages, f.Message)
		}
	}
	return messages
}

func TestNumbersAreReadExactly(t *testing.T) {
	for text, want := range map[string]money.Cents{"0e999999": 0, "1.25e3": 1250_00, "0.29": 29, "8.41": 8_41, "9999999.99": 9_999_999_99} {
		cmd, err := readCreate(`{"pricing": {"course_price": ` + text + `}}`)
		if err != nil || cmd.Price != checkout.Some(want) {
			t.Errorf("%s is read as %+v, %v; want %v", text, cmd.Price, err, want)
		}
	}
	for text, want := range map[string]int{"52.0": 52, "5.2e1": 52, "600": 600} {
		cmd, err := readCreate(`{"plan": {"number_of_instalments": ` + text + `}}`)
		if err != nil || cmd.Number != checkout.Some(want) {
			t.Errorf("%s is read as %+v, %v; want %d", text, cmd.Number, err, want)
		}
	}
	for _, text := range []string{"-1", "0.001", "9999999.991", "1e999999", "92233720368547758.08", `"52"`, "true", "[1]", "{}"} {
		cmd, err := readCreate(`{"pricing": {"course_price": ` + text + `}, "plan": {"number_of_instalments": ` + text + `}}`)
		for _, field := range []string{checkout.FieldPrice, checkout.FieldNumber} {
			if refused := faultsOf(cmd.Check(catalogue.Legacy), field); err != nil || len(refused) != 1 {
				t.Errorf("%s as %s is refused as %q, %v; want one fault", text, field, refused, err)
			}
		}
	}
}

func TestOnlyTrueAccepts(t *testing.T) {
	for _, text := range []string{"false", "null", `"true"`, "1", `"yes"`, "[true]", `{"accepted": true}`} {
		cmd, err := readConfirm(strings.ReplaceAll(wholeConfirm, "true", text))
		if err != nil || cmd.DepositConfirmed.Value || cmd.PaymentPlanAccepted.Value ||
			cmd.InformationConfirmed.Value || cmd.PrivacyConsentAccepted.Value {
			t.Errorf("%s is taken for an acceptance: %+v, %v", text, cmd, err)
			continue
		}
		var refusal *checkout.Error
		if !errors.As(cmd.Check(), &refusal) || len(refusal.Faults) != 4 || refusal.Faults[0].Message != "must be true" {
			t.Errorf("%s is refused as %v, want four fields that must be true", text, refusal)
		}
	}
}

func TestConfirmIsHeldToItsOwnNames(t *testing.T) {
	if _, err := readConfirm(`{"Declarations": {}}`); err == nil {
		t.Error("a section in another letter case was let through")
	}
	if _, err := readConfirm(`{"Student": {}, "plan": {"Payment_type": 1}}`); err != nil {
		t.Errorf("sections that a confirm does not know are not ignored: %v", err)
	}
}

func TestIdempotencyKeyIsPassedOnAsItCame(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []string
		want   checkout.Optional[string]
		faults int
	}{
		{"no header", nil, checkout.Optional[string]{}, 0},
		{"a key", []string{"ENR-1"}, checkout.Some("ENR-1"), 0},
		{"empty", []string{""}, checkout.Some(""), 1},
		{"too long", []string{strings.Repeat("a", 256)}, checkout.Some(strings.Repeat("a", 256)), 1},
		{"two headers", []string{"a", "a"}, checkout.Optional[string]{}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			app := &stub{}
			do(handler(app), request("POST", checkoutsPath, "{}", header("Idempotency-Key", tt.values...)))
			got, refused := app.created.IdempotencyKey, faultsOf(app.created.Check(catalogue.Legacy), checkout.FieldIdempotencyKey)
			if got.Value != tt.want.Value || got.Given != tt.want.Given || len(refused) != tt.faults {
				t.Errorf("key %+v, refused as %q; want %+v and %d faults", got, refused, tt.want, tt.faults)
			}
		})
	}
}

func TestAMissingFieldIsReportedWithTheUnknownFields(t *testing.T) {
	long := strings.Repeat("email", 1000)
	for body, want := range map[string]string{
		`{"student": {"emial": "a"}}`:                                    `is required; unknown fields beside it: "emial"`,
		`{"student": {}, "email": "a"}`:                                  `is required; unknown fields beside it: "email"`,
		`{"sudent": {"email": "a"}}`:                                     `is required; unknown fields beside it: "sudent"`,
		`{"student": {"d": 1, "c": 1}, "b": 1, "a": 1}`:                  `is required; unknown fields beside it: "d", "c", "b"`,
		`{"student": {"` + long + `": 1}}`:                               `is required; unknown fields beside it: "` + long[:64] + `"`,
		`{"student": {"last_name": "a", "first_name": "b"}, "plan": {}}`: `is required`,
	} {
		cmd, err := readCreate(body)
		if got := faultsOf(cmd.Check(catalogue.Legacy), checkout.FieldEmail); err != nil || !slices.Equal(got, []string{want}) {
			t.Errorf("%.60s: refused as %q, %v; want %q", body, got, err, want)
		}
	}
}

func TestParametersOfAList(t *testing.T) {
	for query, want := range map[string]string{
		"":                                  `"" 100 ""`,
		"?after=&limit=&provider_order_id=": `"" 100 ""`,
		"?after=7&limit=20&provider_order_id=A%2FB&other=1": `"7" 20 "A/B"`,
		"?after=7&after=8&limit=101":                        "after limit",
		"?limit=0":                                          "limit",
		"?limit=1&limit=1&provider_order_id=a%00":           "limit provider_order_id",
	} {
		app := &stub{}
		do(handler(app), request("GET", eventsPath+query, ""))
		got := ""
		limit, err := app.listed.Check()
		for _, f := range faults(err) {
			got = strings.TrimSpace(got + " " + f.Field)
		}
		if err == nil {
			got = fmt.Sprintf("%q %d %q", app.listed.After.Value, limit, app.listed.OrderID.Value)
		}
		if got != want {
			t.Errorf("%q is read as %q, want %q", query, got, want)
		}
	}
	app := &stub{}
	wantRefusal(t, do(handler(app), request("GET", eventsPath+"?after=%zz", "")), http.StatusBadRequest, "VALIDATION_ERROR")
	if app.listed != nil {
		t.Error("a malformed query is served")
	}
}
