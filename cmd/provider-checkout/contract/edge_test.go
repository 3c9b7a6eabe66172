package contract_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
)

// listening serves the sandbox as the serve command does, its limits included, and returns the address.
func (s *suite) listening(t *testing.T) (address string) {
	t.Helper()
	svc := s.Service(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var server sync.WaitGroup
	server.Go(func() {
		err := httpserver.Serve(ctx, httpserver.Config{Listener: ln, Handler: s.Handler(svc),
			Background: svc.Run, Log: s.Options.Log})
		if err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(func() { stop(); server.Wait() })
	return ln.Addr().String()
}

// raw sends bytes over a new connection and returns the answers until the server closes it, as it
// must after what was sent.
func raw(t *testing.T, address string, sent ...string) (answers []string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	out := bufio.NewWriter(conn) // writes strings without a copy of each
	for _, part := range sent {
		out.WriteString(part)
		if out.Flush() != nil {
			break // the server stopped reading: its answer follows
		}
	}
	for in := bufio.NewReader(conn); ; {
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
				t.Errorf("the connection stays open after %.200q: %q", sent, answers)
			}
			return answers
		}
		body, _ := io.ReadAll(res.Body)
		answers = append(answers, fmt.Sprintf("%d %s", res.StatusCode, body))
	}
}

// request is the beginning of a create of TUI, up to its last header.
func (s *suite) request(headers ...string) string {
	return "POST /v1/provider-checkouts HTTP/1.1\r\nHost: pay.example\r\nAuthorization: Bearer " + s.Keys["TUI"] + "\r\n" +
		strings.Join(append(headers, "\r\n"), "\r\n")
}

func TestContract7ABodyOver64KiBIsRefusedUnread(t *testing.T) {
	const large = "413 "
	contract(t, func(t *testing.T, s *suite) {
		address := s.listening(t)
		fits := order(legacyCreate, "FITS")
		fits += strings.Repeat(" ", 64<<10-len(fits))
		if r := s.Post(t, "TUI", "/v1/provider-checkouts", fits); r.Status != http.StatusCreated {
			t.Errorf("64 KiB: %d %s", r.Status, r.Body)
		}
		refused(t, s.Post(t, "TUI", "/v1/provider-checkouts", fits+" "), http.StatusRequestEntityTooLarge, "REQUEST_TOO_LARGE")
		refused(t, s.Post(t, "TUI", "/v1/provider-checkouts/x/confirm", fits+" "), http.StatusRequestEntityTooLarge, "REQUEST_TOO_LARGE")

		const json = "Content-Type: application/json"
		for name, sent := range map[string][]string{
			"1 GiB announced, none sent":             {s.request(json, "Content-Length: 1073741824")},
			"1 GiB announced, to be asked for":       {s.request(json, "Expect: 100-continue", "Content-Length: 1073741824")},
			"1 GiB announced and coming":             {s.request(json, "Content-Length: 1073741824"), strings.Repeat(" ", 4<<20)},
			"an endless chunk":                       {s.request(json, "Transfer-Encoding: chunked"), "40000000\r\n", strings.Repeat(" ", 4<<20)},
			"one byte too many in a chunk":           {s.request(json, "Transfer-Encoding: chunked"), "10001\r\n", fits + " \r\n0\r\n\r\n"},
			"chunks without end":                     {s.request(json, "Transfer-Encoding: chunked"), strings.Repeat("400\r\n"+strings.Repeat(" ", 1024)+"\r\n", 1024)},
			"more digits than a length can sensibly": {s.request(json, "Content-Length: 9223372036854775807")},
		} {
			answers := raw(t, address, sent...)
			if len(answers) > 1 || len(answers) == 1 && !strings.HasPrefix(answers[0], large) {
				t.Errorf("%s: %q, want 413 and a closed connection", name, answers)
			}
			if len(sent) == 1 && len(answers) == 0 {
				t.Errorf("%s: no answer", name)
			}
		}
		if n := len(s.Records(t)); n != 1 {
			t.Errorf("%d checkouts are on record, want the one that fits", n)
		}
		calm(t, s)
	})
}

func TestContract7HostileBodiesCostBoundedMemory(t *testing.T) {
	for _, store := range stores { // one after the other: what is measured is the whole process
		t.Run(store.name, func(t *testing.T) {
			s := newSuite(t, store.open)
			address := s.listening(t)
			const json = "Content-Type: application/json"
			good := order(legacyCreate, "ORDER-1")
			bodies := map[string]string{
				"10,000 deep":            strings.Repeat("[", 10_000),
				"1e999999":               strings.Replace(good, "1250.00", "1e999999", 1),
				"an exponent of 60 KB":   strings.Replace(good, "1250.00", "1e"+strings.Repeat("9", 60_000), 1),
				"a number of 60 KB":      strings.Replace(good, "1250.00", strings.Repeat("9", 60_000), 1),
				"10,000 names":           "{" + strings.TrimSuffix(strings.Repeat(`"":1,`, 10_000), ",") + "}",
				"30,000 values":          `{"x": [` + strings.TrimSuffix(strings.Repeat(`0,`, 30_000), ",") + `]}`,
				"10,000 escapes in text": strings.Replace(good, "Hemi", strings.Repeat(`\u0041`, 10_000), 1),
				"10,000 marks on text":   strings.Replace(good, "Hemi", "e"+strings.Repeat("\u0301", 10_000), 1),
			}
			const rounds, each = 5, 16 << 20 // bytes in all, most of them short-lived: 256 for each of a body
			for name, body := range bodies {
				began := time.Now()
				grown := allocated(func() {
					for range rounds {
						if r := s.Post(t, "TUI", "/v1/provider-checkouts", body); r.Status != http.StatusBadRequest {
							t.Errorf("%s: %d", name, r.Status)
						}
					}
				})
				if grown/rounds > each || testlevel.Elapsed(began)/rounds > time.Second {
					t.Errorf("%s costs %d bytes and %v a request", name, grown/rounds, time.Since(began)/rounds)
				}
			}
			megabyte := strings.Repeat(" ", 1<<20)
			if grown := allocated(func() {
				raw(t, address, append([]string{s.request(json, "Content-Length: 1073741824")}, manyTimes(megabyte, 1024)...)...)
				raw(t, address, append([]string{s.request(json, "Transfer-Encoding: chunked") + "40000000\r\n"}, manyTimes(megabyte, 1024)...)...)
			}); grown > 4<<20 {
				t.Errorf("two bodies of 1 GiB cost %d bytes", grown)
			}
			untouched(t, s)
		})
	}
}

// allocated returns how many bytes the process allocates while f runs.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func manyTimes(text string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = text
	}
	return all
}

func TestContract5NoRequestHidesBehindAnother(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		address := s.listening(t)
		body := order(legacyCreate, "HIDDEN")
		hidden := s.request("Content-Type: application/json", fmt.Sprintf("Content-Length: %d", len(body)), "Connection: close") + body
		create := func(headers string) string {
			return s.request(append([]string{"Content-Type: application/json"}, strings.Split(headers, "|")...)...)
		}
		for _, tt := range []struct{ name, sent, status string }{
			{"a length beside chunks", create("Content-Length: 400|Transfer-Encoding: chunked") + "0\r\n\r\n", "400"},
			{"chunks beside a length", create("Transfer-Encoding: chunked|Content-Length: 5") + "0\r\n\r\n", "400"},
			{"two lengths", create("Content-Length: 2|Content-Length: 3") + "{}", "400"},
			{"a list of lengths", create("Content-Length: 2, 2") + "{}", "400"},
			{"a length with a sign", create("Content-Length: +2") + "{}", "400"},
			{"a length in hexadecimal", create("Content-Length: 0x2") + "{}", "400"},
			{"a negative length", create("Content-Length: -1") + "{}", "400"},
			{"a length over 64 bits", create("Content-Length: 18446744073709551618") + "{}", "400"},
			{"chunked twice", create("Transfer-Encoding: chunked|Transfer-Encoding: chunked") + "0\r\n\r\n", "501"},
			{"chunked not last", create("Transfer-Encoding: chunked, identity") + "0\r\n\r\n", "501"},
			{"another coding before chunked", create("Transfer-Encoding: gzip, chunked") + "0\r\n\r\n", "501"},
			{"a coding that looks like chunked", create("Transfer-Encoding: xchunked") + "0\r\n\r\n", "501"},
			{"chunked in quotes", create(`Transfer-Encoding: "chunked"`) + "0\r\n\r\n", "501"},
			{"chunked after a vertical tab", create("Transfer-Encoding: \x0bchunked") + "0\r\n\r\n", "400"},
			{"chunked on a folded line", create("Transfer-Encoding:|  chunked") + "0\r\n\r\n", "400"},
			{"a space before the colon", create("Transfer-Encoding : chunked") + "0\r\n\r\n", "400"},
			{"chunks that end in a bare LF", create("Transfer-Encoding: chunked") + "2\n{}\n0\n\n", "400"},
			{"a chunk extension with a bare LF", create("Transfer-Encoding: chunked") + "2;x\n{}\r\n0\r\n\r\n", "400"},
			{"a chunk that is longer than it says", create("Transfer-Encoding: chunked") + "2\r\n{}}\r\n0\r\n\r\n", "400"},
			{"a chunk of negative size", create("Transfer-Encoding: chunked") + "-2\r\n{}\r\n0\r\n\r\n", "400"},
			{"a chunk size with a prefix", create("Transfer-Encoding: chunked") + "0x2\r\n{}\r\n0\r\n\r\n", "400"},
			{"a chunk size over 64 bits", create("Transfer-Encoding: chunked") + "10000000000000002\r\n{}\r\n0\r\n\r\n", "400"},
			{"chunks to a server of 1.0", strings.Replace(create("Transfer-Encoding: chunked")+"0\r\n\r\n", "HTTP/1.1", "HTTP/1.0", 1), "400"},
			{"a body with a GET", "GET /v1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "200"},
			{"a bare CR in a header", strings.Replace(create("X: a\rContent-Length: 2"), "\r\n\r\n", "\r\nContent-Length: 0\r\n\r\n", 1), "400"},
			{"a NUL in a header", create("X: a\x00b|Content-Length: 0"), "400"},
			{"a header before the first", strings.Replace(create("Content-Length: 0"), "\r\nHost", "\r\n Host", 1), "400"},
			{"two hosts", create("Host: evil.example|Content-Length: 0"), "400"},
			{"no host", strings.Replace(create("Content-Length: 0"), "Host: pay.example\r\n", "", 1), "400"},
			{"a host that is none", strings.Replace(create("Content-Length: 0"), "pay.example", "a b/c", 1), "400"},
			{"a space in the target", strings.Replace(create("Content-Length: 0"), "checkouts HTTP", "checkouts x HTTP", 1), "400"},
			{"headers of 32 KiB", create("X: " + strings.Repeat("x", 32<<10)), "431"},
			{"HTTP/0.9", "GET /v1\r\n\r\n", "400"},
			{"HTTP/2 without being asked", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "404"},
			{"HTTP/9.9", "GET /v1 HTTP/9.9\r\nHost: x\r\n\r\n", "505"},
		} {
			answers := raw(t, address, tt.sent+hidden)
			if len(answers) != 1 || !strings.HasPrefix(answers[0], tt.status+" ") {
				t.Errorf("%s: %q, want %s and the end of the connection", tt.name, answers, tt.status)
			}
		}
		untouched(t, s)
	})
}

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
