package contract_test

import (
	"fmt"
	"net/http"
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
