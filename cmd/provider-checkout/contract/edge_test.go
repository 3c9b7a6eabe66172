package contract_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/checkout/service"
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

func TestContract4ABodyMustBeDeclaredAsJSON(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		const json = "application/json"
		for i, tt := range []struct {
			types    []string
			coding   string
			accepted bool
		}{
			{types: nil}, {types: []string{""}}, {types: []string{"text/plain"}}, {types: []string{"application/x-www-form-urlencoded"}},
			{types: []string{"multipart/form-data; boundary=x"}}, {types: []string{"application/jsonp"}}, {types: []string{"text/json"}},
			{types: []string{"application/problem+json"}}, {types: []string{"application/json; charset=utf-16"}},
			{types: []string{"application/json; charset=iso-8859-1"}}, {types: []string{"application/json; charset"}},
			{types: []string{"application/json;;"}}, {types: []string{"application/json, text/plain"}}, {types: []string{json, "text/plain"}},
			{types: []string{json, json}}, {types: []string{json}, coding: "gzip"}, {types: []string{json}, coding: "br"},
			{types: []string{json}, accepted: true}, {types: []string{"Application/JSON"}, accepted: true},
			{types: []string{"application/json; charset=utf-8"}, accepted: true}, {types: []string{`APPLICATION/JSON;charset="UTF-8"`}, accepted: true},
			{types: []string{json}, coding: "identity", accepted: true},
		} {
			t.Run(fmt.Sprint(tt.types, " ", tt.coding), func(t *testing.T) {
				headers := []string{"Authorization", "Bearer " + s.Keys["TUI"]}
				for _, media := range tt.types {
					headers = append(headers, "Content-Type", media)
				}
				if tt.coding != "" {
					headers = append(headers, "Content-Encoding", tt.coding)
				}
				r := s.Send(t, http.MethodPost, createPath, order(legacyCreate, fmt.Sprint("ORDER-", i)), headers...)
				if !tt.accepted {
					refused(t, r, http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
					untouched(t, s)
				} else if r.Status != http.StatusCreated {
					t.Errorf("answer %d %s", r.Status, r.Body)
				}
			})
		}
	})
}

// There is no public download of the agreement and no demonstration (section 1), and beside the cancel nothing else that section 4 does
// not list.
func TestContract4OnlyTheListedMethodsAndPathsAreThere(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		address := s.listening(t)
		verbs := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "PRI", "get", "X"}
		for path, allow := range map[string]string{
			"/v1": "GET, HEAD", "/v1/environment": "GET, HEAD", "/v1/provider-checkouts": "POST",
			"/v1/provider-checkouts/TUI-1-x": "GET, HEAD", "/v1/provider-checkouts/TUI-1-x/confirm": "POST",
			"/v1/provider-checkouts/TUI-1-x/cancel": "POST", "/v1/events": "GET, HEAD",
		} {
			for _, verb := range verbs {
				if strings.Contains(", "+allow+",", ", "+verb+",") {
					continue
				}
				answers := raw(t, address, verb+" "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
				if verb == "HEAD" && len(answers) == 1 && strings.HasPrefix(answers[0], "405 ") {
					continue // without a body
				}
				if len(answers) != 1 || !strings.HasPrefix(answers[0], "405 ") || !strings.Contains(answers[0], "METHOD_NOT_ALLOWED") {
					t.Errorf("%s %s: %q, want 405", verb, path, answers)
				}
			}
			r := s.Send(t, http.MethodDelete, path, "", "Authorization", "Bearer "+s.Keys["TUI"])
			refused(t, r, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
			if got := r.Header.Get("Allow"); got != allow {
				t.Errorf("DELETE %s: Allow %q, want %q", path, got, allow)
			}
		}
		targets := []string{"OPTIONS *", "CONNECT pay.example:443", "GET //v1", "GET /v1/../v1", "GET /v1//environment",
			"GET /v1/provider-checkouts/..%2f..%2fetc", "GET /v1%2f"}
		one := "/v1/provider-checkouts/TUI-1-x"
		for _, path := range []string{"/V1", "/v1/", "/v1/Environment", "/v1/provider-checkouts/", one + "/", one + "/confirm/", one + "/withdraw",
			one + "/agreement", one + "/agreement.pdf", one + "/pdf", one + "/b/c", "/v1/agreements", "/v1/enrolments", "/v1/events/evt_1/redeliver", "/v1/agreements/PPA-2027-000001/pdf",
			"/v1/documents", "/v1/providers", "/v1/keys", "/v1/export", "/v2", "/v2/provider-checkouts", "/api", "/api/dd", "/api/demos/",
			"/api/demos/checkout", "/api/demos/enrol", "/sandbox", "/admin", "/metrics", "/healthz", "/debug/vars", "/debug/pprof/",
			"/.git/config", "/.env", "/favicon.ico"} {
			targets = append(targets, "GET "+path, "POST "+path)
		}
		for _, target := range targets {
			answers := raw(t, address, target+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			if len(answers) != 1 || !strings.HasPrefix(answers[0], "404 ") || !strings.Contains(answers[0], `"NOT_FOUND"`) {
				t.Errorf("%s: %q, want 404 in the envelope", target, answers)
			}
		}
		for _, header := range []string{"X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"} {
			r := s.Send(t, http.MethodGet, "/v1/provider-checkouts", "", header, "POST", "Authorization", "Bearer "+s.Keys["TUI"])
			refused(t, r, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
		}
		untouched(t, s)
	})
}

func TestContract5AnAddressIsBelievedFromATrustedProxyOnly(t *testing.T) {
	bad := func(t *testing.T, s *suite, address string) response {
		return s.Send(t, http.MethodGet, "/v1/provider-checkouts/x", "", "Authorization", "Bearer bad", "X-Forwarded-For", address)
	}
	slow := func(_ *service.Config, o *httpapi.Options) { o.RateLimit = 0.1 }
	t.Run("no proxy", func(t *testing.T) {
		contract(t, func(t *testing.T, s *suite) {
			refused(t, bad(t, s, "192.0.2.1"), http.StatusForbidden, "INVALID_API_KEY")
			refused(t, bad(t, s, "192.0.2.2"), http.StatusTooManyRequests, "RATE_LIMITED") // the same source, whatever its header
			refused(t, s.Get(t, "KOWHAI", "/v1/provider-checkouts/x"), http.StatusNotFound, "CHECKOUT_NOT_FOUND")
		}, slow)
	})
	t.Run("trusted proxy", func(t *testing.T) {
		contract(t, func(t *testing.T, s *suite) {
			refused(t, bad(t, s, "192.0.2.1"), http.StatusForbidden, "INVALID_API_KEY")
			refused(t, bad(t, s, "192.0.2.2"), http.StatusForbidden, "INVALID_API_KEY")
			refused(t, bad(t, s, "198.51.100.7, 192.0.2.1"), http.StatusTooManyRequests, "RATE_LIMITED") // a client may forge the entries left of it
		}, slow, func(_ *service.Config, o *httpapi.Options) {
			o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
		})
	})
}
