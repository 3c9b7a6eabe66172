package contract_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

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

func TestContract4NoHeaderOfTheClientEntersALink(t *testing.T) {
	withTheFake(t)
	contract(t, func(t *testing.T, s *suite) {
		spoofed := []string{"X-Forwarded-Host", "evil.example", "X-Forwarded-Proto", "https", "X-Forwarded-Prefix", "/evil",
			"Forwarded", "host=evil.example;proto=https", "X-Original-URL", "/evil", "X-Rewrite-URL", "/evil", "X-Host", "evil.example",
			"Referer", "https://evil.example/", "Origin", "https://evil.example"}
		created := s.Post(t, "KOWHAI", "/v1/provider-checkouts", order(catalogueCreate, "ORDER-1"), spoofed...)
		setupURL := created.String("direct_debit.setup_url")
		if created.Status != http.StatusCreated || !strings.HasPrefix(setupURL, s.URL+"/api/dd-setup?token=") ||
			created.Header.Get("Location") != created.CheckoutPath() {
			t.Errorf("create: %d %s, Location %q", created.Status, created.Body, created.Header.Get("Location"))
		}
		begun := s.Press(t, created, spoofed[:len(spoofed)-2]...) // a form of another origin is refused
		if !strings.HasPrefix(begun.Header.Get("Location"), s.URL+sandbox.BankFormPath) {
			t.Errorf("the setup page leads to %q", begun.Header.Get("Location"))
		}
		for _, r := range []response{s.Send(t, http.MethodGet, "/v1", "", spoofed...), s.Send(t, http.MethodGet, "/v1/environment", "", spoofed...),
			s.Visit(t, setupURL, spoofed...), created} {
			if strings.Contains(r.Body, "evil") || strings.Contains(fmt.Sprint(r.Header), "evil") {
				t.Errorf("the answer repeats the client's values: %v %s", r.Header, r.Body)
			}
		}
		address := s.listening(t)
		replay := order(catalogueCreate, "ORDER-1")
		headers := fmt.Sprintf(" HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n",
			s.Keys["KOWHAI"], len(replay))
		for _, target := range []string{"/v1/provider-checkouts", "http://evil.example/v1/provider-checkouts"} {
			answers := raw(t, address, "POST "+target+headers+replay)
			if len(answers) != 1 || !strings.HasPrefix(answers[0], "200 ") || !strings.Contains(answers[0], `"setup_url":"`+s.URL+"/") ||
				strings.Contains(answers[0], "evil") {
				t.Errorf("POST %s with another host: %q", target, answers)
			}
		}
	})
}

var requestID = regexp.MustCompile(`^req_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

func TestContract4EveryAnswerKeepsToItselfAndHasARequestIDOfItsOwn(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created, confirmed := s.enrolled(t, "ORDER-1")
		origin := []string{"Origin", "https://evil.example"}
		all := map[string]response{
			"create": created, "confirm": confirmed, "get": s.Get(t, "KOWHAI", created.CheckoutPath()),
			"replay":      s.Replay(t, "ORDER-1"),
			"about":       s.Send(t, http.MethodGet, "/v1", "", origin...),
			"environment": s.Send(t, http.MethodGet, "/v1/environment", "", origin...),
			"preflight": s.Send(t, http.MethodOptions, "/v1/provider-checkouts", "",
				append(origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization")...),
			"no key":     s.Send(t, http.MethodGet, created.CheckoutPath(), ""),
			"bad key":    s.Send(t, http.MethodGet, created.CheckoutPath(), "", "Authorization", "Bearer x"),
			"unknown":    s.Get(t, "KOWHAI", "/v1/provider-checkouts/x"),
			"no path":    s.Get(t, "KOWHAI", "/nothing/<script>alert(1)</script>"),
			"no method":  s.Send(t, http.MethodPut, "/v1", ""),
			"no type":    s.Send(t, http.MethodPost, "/v1/provider-checkouts", "{}", "Authorization", "Bearer "+s.Keys["TUI"]),
			"not JSON":   s.Post(t, "TUI", "/v1/provider-checkouts", "<script>alert(1)</script>"),
			"too large":  s.Post(t, "TUI", "/v1/provider-checkouts", strings.Repeat(" ", 65<<10)),
			"mismatch":   s.Post(t, "TUI", "/v1/provider-checkouts", order(catalogueCreate, "ORDER-1")),
			"conflict":   s.Post(t, "KOWHAI", created.CheckoutPath()+"/confirm", strings.ReplaceAll(created.ConfirmBody(), "ORDER-1", "ORDER-2")),
			"headers":    s.Send(t, http.MethodHead, "/v1", ""),
			"wrong case": s.Send(t, http.MethodGet, "/V1", ""),
		}
		ids := map[string]string{}
		for name, r := range all {
			for header, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Content-Type": "application/json",
				"Content-Security-Policy": "default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
				"Server":                  "", "X-Powered-By": "", "Set-Cookie": "",
				"Access-Control-Allow-Origin": "", "Access-Control-Allow-Headers": "", "Access-Control-Allow-Credentials": "",
			} {
				if got := strings.Join(r.Header.Values(header), " | "); got != want {
					t.Errorf("%s: %s %q, want %q", name, header, got, want)
				}
			}
			id := strings.Join(r.Header.Values("X-Request-Id"), ",")
			if !requestID.MatchString(id) || ids[id] != "" {
				t.Errorf("%s: X-Request-Id %q, want a new req_<uuid>; %q has it too", name, id, ids[id])
			}
			ids[id] = name
			if strings.Contains(r.Body, "<script>") || strings.Contains(r.Body, "aroha.ngata@") || strings.Contains(r.Body, s.Keys["KOWHAI"]) {
				t.Errorf("%s exposes internals: %s", name, r.Body)
			}
			if r.Status >= 400 && (r.At("success") != false || r.String("request_id") != id || r.String("error.message") == "") {
				t.Errorf("%s is refused outside of the envelope: %d %s", name, r.Status, r.Body)
			}
		}
		own := s.Send(t, http.MethodGet, "/v1", "", "X-Request-Id", "req_mine")
		if own.Header.Get("X-Request-Id") == "req_mine" {
			t.Error("a client chooses the request id")
		}
		calm(t, s)
	})
}
