package contract_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// forgeries returns texts that are not a setup token of this sandbox, by their fault.
func forgeries(t *testing.T, s *suite, token string) map[string]string {
	t.Helper()
	all := map[string]string{"no token": "", "API key": s.Keys["KOWHAI"], "a word": "token", "four dots": "....",
		"in capitals": strings.ToUpper(token), "with a NUL": token + "\x00",
		"of 7,000 bytes": strings.Repeat("A", 7000)}
	for i := range token {
		other := byte('A')
		if token[i] == other {
			other = 'B'
		}
		all[fmt.Sprintf("byte %d changed", i)] = token[:i] + string(other) + token[i+1:]
	}
	for _, n := range []int{1, 2, 10, len(token) / 2} {
		all[fmt.Sprintf("%d bytes short", n)] = token[:len(token)-n]
	}
	parts := strings.Split(token, ".") // checkout id, epoch, kid, signature
	for name, epoch := range map[string]string{"next epoch": "2", "epoch 0": "0", "epoch 01": "01", "negative epoch": "-1"} {
		all[name] = strings.Join([]string{parts[0], epoch, parts[2], parts[3]}, ".")
	}
	foreign, err := checkout.NewKeyring(bytes.Repeat([]byte("f"), 32))
	if err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	all["signed under another secret"], _ = foreign.Text(parts[0], foreign.Issue(1, later))
	all["ours, never issued"], _ = s.Config.Keyring.Text(parts[0], s.Config.Keyring.Issue(2, later))
	all["ours, of no checkout"], _ = s.Config.Keyring.Text(parts[0]+"x", s.Config.Keyring.Issue(1, later))
	other := s.Create(t, "ANOTHER").String("direct_debit.token")
	all["signature of another checkout"] = token[:strings.LastIndex(token, ".")] + other[strings.LastIndex(other, "."):]
	return all
}

func TestContract5AForgedOrForeignTokenGetsOneIdenticalPage(t *testing.T) {
	withTheFake(t)
	contract(t, func(t *testing.T, s *suite) {
		token := s.Create(t, "ORDER-1").String("direct_debit.token")
		forged := forgeries(t, s, token)
		form := s.ToBank(t, s.Create(t, "ORDER-2"))
		// returningWith is the address of a bank's form that leads back to the setup page with a token.
		returningWith := func(token string) string {
			address, _, _ := strings.Cut(form, "?")
			return address + "?" + url.Values{"return_url": {sandbox.ReturnURL(s.URL + sandbox.SetupPagePath + "?token=" + token)}}.Encode()
		}
		before := s.Records(t)
		what := func(r response) string {
			header := maps.Clone(r.Header)
			delete(header, "X-Request-Id")
			delete(header, "Date")
			return fmt.Sprintln(r.Status, header, r.Body)
		}
		for _, entry := range []struct {
			name string
			open func(token string) response
		}{
			{"GET page", func(token string) response { return s.Visit(t, sandbox.SetupPagePath+"?token="+url.QueryEscape(token)) }},
			{"GET way back", func(token string) response {
				return s.Visit(t, sandbox.SetupPagePath+"/return?token="+url.QueryEscape(token))
			}},
			{"GET terms", func(token string) response {
				return s.Visit(t, sandbox.SetupPagePath+"/legal?token="+url.QueryEscape(token))
			}},
			{"GET agreement", func(token string) response {
				return s.Visit(t, sandbox.SetupPagePath+"/agreement?token="+url.QueryEscape(token))
			}},
			{"GET document", func(token string) response {
				return s.Visit(t, sandbox.SetupPagePath+"/agreement.pdf?token="+url.QueryEscape(token))
			}},
			{"GET proof", func(token string) response {
				return s.Visit(t, sandbox.SetupPagePath+"/agreement.proof.json?token="+url.QueryEscape(token))
			}},
			{"GET calendar", func(token string) response {
				return s.Visit(t, sandbox.SetupPagePath+"/payments.ics?token="+url.QueryEscape(token))
			}},
			{"POST page", func(token string) response { return s.Submit(t, sandbox.SetupPagePath, []string{"token", token}) }},
			{"POST link", func(token string) response {
				return s.Submit(t, sandbox.SetupPagePath+"/link", []string{"token", token})
			}},
			{"GET bank form", func(token string) response { return s.Visit(t, returningWith(token)) }},
			{"POST bank form", func(token string) response { return s.Submit(t, returningWith(token), bankDetails(goodAccount)) }},
		} {
			unknown := entry.open("unknown")
			shows(t, entry.name, unknown, http.StatusNotFound, sandbox.UnknownTitle)
			for name, text := range forged {
				if got := entry.open(text); what(got) != what(unknown) {
					t.Errorf("%s with token %s: %s\nwant %s", entry.name, name, what(got), what(unknown))
				}
			}
		}
		unknown := s.Visit(t, sandbox.SetupPagePath+"?token=unknown")
		for name, query := range map[string]string{"no token": "", "token twice": "?token=" + token + "&token=" + token,
			"in capitals": "?TOKEN=" + token} {
			if r := s.Visit(t, sandbox.SetupPagePath+query); what(r) != what(unknown) {
				t.Errorf("%s: %s", name, what(r))
			}
		}
		r := s.Send(t, http.MethodPost, sandbox.SetupPagePath+"?token="+token, "", "Content-Type", "application/x-www-form-urlencoded")
		shows(t, "token in the address of a form", r, http.StatusNotFound, sandbox.UnknownTitle)
		if after := s.Records(t); !reflect.DeepEqual(before, after) {
			t.Error("forged tokens changed the record")
		}
		for _, secret := range []string{token, s.Keys["KOWHAI"]} {
			if strings.Contains(s.Log.String(), secret) {
				t.Errorf("the log holds %q", secret)
			}
		}
	})
}

func TestContract5AFormFromAnotherWebsiteIsRefused(t *testing.T) {
	withTheFake(t)
	contract(t, func(t *testing.T, s *suite) {
		created := s.Create(t, "ORDER-1")
		token := []string{"token", created.String("direct_debit.token")}
		cross := []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}
		before := s.Records(t)
		shows(t, "setup page", s.Submit(t, sandbox.SetupPagePath, token, cross...),
			http.StatusForbidden, "This form came from another website")
		if !reflect.DeepEqual(before, s.Records(t)) {
			t.Error("a refused form began the setup")
		}
		form := s.ToBank(t, created)
		shows(t, "bank's form", s.Submit(t, form, bankDetails(goodAccount), cross...),
			http.StatusForbidden, "This form came from another website")
		if s.Get(t, "KOWHAI", created.CheckoutPath()).At("direct_debit.setup_complete") != false {
			t.Error("a refused form completed the setup")
		}
		shows(t, "link on another website", s.Visit(t, created.String("direct_debit.setup_url"), cross[:2]...), http.StatusOK, sandbox.OpenTitle)
		// Under no-referrer a browser sends this origin with the page's own form.
		own := s.Submit(t, form, bankDetails(goodAccount), "Sec-Fetch-Site", "same-origin", "Origin", "null")
		if own.Status != http.StatusSeeOther {
			t.Errorf("the page's own form: %d %s", own.Status, own.Body)
		}
		if got := own.Header.Values("Set-Cookie"); got != nil {
			t.Errorf("the pages set cookies: %q", got)
		}
	})
}

// everyPage returns a page of each kind, by its name.
func everyPage(t *testing.T, s *suite) map[string]response {
	t.Helper()
	created := s.Create(t, "ORDER-1")
	setupURL, token := created.String("direct_debit.setup_url"), []string{"token", created.String("direct_debit.token")}
	pages := map[string]response{
		"open":         s.Visit(t, setupURL),
		"terms":        s.Visit(t, strings.Replace(setupURL, "?", "/legal?", 1)),
		"unknown":      s.Visit(t, sandbox.SetupPagePath+"?token=unknown"),
		"unknown path": s.Visit(t, sandbox.SetupPagePath+"/nothing"),
		"method":       s.Send(t, http.MethodPut, sandbox.SetupPagePath, ""),
		"cross-site":   s.Submit(t, sandbox.SetupPagePath, token, "Sec-Fetch-Site", "cross-site"),
		"type":         s.Send(t, http.MethodPost, sandbox.SetupPagePath, "{}", "Content-Type", "application/json"),
		"large":        s.Submit(t, sandbox.SetupPagePath, []string{"token", strings.Repeat("x", 20_000)}),
		"not a form":   s.Send(t, http.MethodPost, sandbox.SetupPagePath, "token=%zz", "Content-Type", "application/x-www-form-urlencoded"),
	}
	form := s.ToBank(t, created)
	pages["bank form"] = s.Visit(t, form)
	pages["bank form with mistakes"] = s.Submit(t, form, bankDetails("1"))
	pages["check"] = s.Submit(t, form, append(bankDetails(goodAccount), "step", "check"))
	other := s.Create(t, "ORDER-2")
	s.SetUp(t, created)
	pages["done"] = s.Visit(t, setupURL)
	confirmed := s.Ready(t, "ORDER-3")
	s.Confirm(t, confirmed)
	pages["confirmed"] = s.Visit(t, confirmed.String("direct_debit.setup_url"))
	pages["agreement"] = s.Visit(t, strings.Replace(confirmed.String("direct_debit.setup_url"), "?", "/agreement?", 1))
	s.Clock.Forward(8 * 24 * time.Hour)
	pages["expired"] = s.Visit(t, other.String("direct_debit.setup_url"))
	s.Configure(t, strings.Replace(providers, `"active": true`, `"active": false`, 1))
	pages["not enabled"] = s.Visit(t, setupURL)
	s.Configure(t, providers)
	s.Clock.Forward(3 * 365 * 24 * time.Hour)
	pages["ended"] = s.Visit(t, confirmed.String("direct_debit.setup_url"))
	return pages
}

func TestContract5EveryPageKeepsToItself(t *testing.T) {
	withTheFake(t)
	contract(t, func(t *testing.T, s *suite) {
		const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors "
		framed := []string{"open", "terms", "done", "expired", "not enabled", "confirmed", "agreement", "ended"}
		for name, r := range everyPage(t, s) {
			want := policy + "'none'"
			if slices.Contains(framed, name) {
				want = policy + "https://enrol.kowhai.example"
			}
			for header, want := range map[string]string{
				"Content-Security-Policy": want, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
				"X-Content-Type-Options": "nosniff", "X-Robots-Tag": "noindex, nofollow", "Server": "", "Set-Cookie": "",
				"Content-Type": "text/html; charset=utf-8", "Access-Control-Allow-Origin": "", "Cross-Origin-Opener-Policy": "",
			} {
				if got := strings.Join(r.Header.Values(header), ", "); got != want {
					t.Errorf("page %s: %s %q, want %q", name, header, got, want)
				}
			}
			selfContained(t, name, r)
		}
	})
}

// selfContained checks that a page loads only this server's files, and leads only to this
// server's pages and to the provider's own addresses.
func selfContained(t *testing.T, name string, r response) {
	t.Helper()
	outside := []string{"https://enrol.kowhai.example/done", "https://enrol.kowhai.example/cancelled", "mailto:help@kowhai.example"}
	own := regexp.MustCompile(`^(?:http://127\.0\.0\.1:\d+)?(/api/dd-setup|/sandbox/processor)[/?]?[!-~]*$`)
	for _, e := range sandbox.Elements(t, r) {
		switch e.Name {
		case "style", "iframe", "object", "embed", "base", "img", "svg", "video", "audio":
			t.Errorf("page %s has an element %s", name, e.Name)
		case "script":
			if e.Attr["src"] == "" || e.Text != "" {
				t.Errorf("page %s has an inline script %q", name, e.Text)
			}
		}
		for attr, value := range e.Attr {
			switch {
			case attr == "style" || strings.HasPrefix(attr, "on"):
				t.Errorf("page %s has %s=%q", name, attr, value)
			case attr == "src" || attr == "action" || attr == "formaction" || attr == "href" && e.Name != "a":
				if !own.MatchString(value) {
					t.Errorf("page %s: %s %s=%q is not this server's", name, e.Name, attr, value)
				}
			case attr == "href" && strings.HasPrefix(value, "#"): // to a field of the form
			case attr == "href" && !own.MatchString(value) && !slices.Contains(outside, value):
				t.Errorf("page %s links to %q", name, value)
			}
		}
	}
}

func TestContract5FramesAreThoseOfTheAllowlistedOrigins(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Create(t, "ORDER-1")
		tui := s.Post(t, "TUI", "/v1/provider-checkouts", order(legacyCreate, "ORDER-1")) // has no origins
		s.Configure(t, strings.Replace(providers, `["https://enrol.kowhai.example"]`,
			`["https://enrol.kowhai.example", "https://apply.kowhai.example:8443"]`, 1))
		ancestors := func(r response) string {
			_, found, _ := strings.Cut(r.Header.Get("Content-Security-Policy"), "frame-ancestors ")
			return found
		}
		const origins = "https://enrol.kowhai.example https://apply.kowhai.example:8443"
		if got := ancestors(s.Visit(t, created.String("direct_debit.setup_url"))); got != origins {
			t.Errorf("frame-ancestors %q, want %q", got, origins)
		}
		if got := ancestors(s.Visit(t, tui.String("direct_debit.setup_url"))); got != "'none'" {
			t.Errorf("frame-ancestors %q of a provider without origins", got)
		}

		s.SetUp(t, created)
		s.SetUp(t, tui)
		notified := pick(sandbox.Elements(t, s.Visit(t, created.String("direct_debit.setup_url"))), "body", "data-notify", origins)
		if len(notified) != 1 {
			t.Error("the page that is done does not notify exactly the allowlisted origins")
		}
		for _, e := range sandbox.Elements(t, s.Visit(t, tui.String("direct_debit.setup_url"))) {
			if e.Attr["data-notify"] != "" {
				t.Errorf("a provider without origins is notified at %q", e.Attr["data-notify"])
			}
		}
	})
}

func TestContract4TheMessageAfterTheSetupIsAHintToTheAllowlistedOriginsOnly(t *testing.T) {
	withTheFake(t)
	contract(t, func(t *testing.T, s *suite) {
		pages := everyPage(t, s)
		var script string
		for name, r := range pages {
			for _, e := range sandbox.Elements(t, r) {
				switch {
				case e.Name != "script":
				case name == "done", name == "confirmed":
					script = e.Attr["src"]
				case !strings.HasPrefix(name, "bank form") && name != "check": // whose script is about the account number
					t.Errorf("page %s runs a script", name)
				case strings.Contains(s.Visit(t, e.Attr["src"]).Body, "postMessage"):
					t.Errorf("page %s sends messages", name)
				}
			}
		}
		r := s.Visit(t, script)
		if r.Status != http.StatusOK || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/javascript") {
			t.Fatalf("script: %d %v", r.Status, r.Header)
		}
		if !strings.Contains(r.Body, `{ source: "provider-checkout", type: "setup_changed" }`) {
			t.Errorf("the message has another source or type:\n%s", r.Body)
		}
		calls := regexp.MustCompile(`postMessage\(([^)]*)\)`).FindAllStringSubmatch(r.Body, -1)
		if len(calls) != 1 || calls[0][1] != "message, origin" || regexp.MustCompile("[\"'`]\\*[\"'`]").MatchString(r.Body) {
			t.Errorf("the message is not sent to one origin at a time:\n%s", r.Body)
		}
	})
}

func TestContract5SuccessAndCancelArePlainLinks(t *testing.T) {
	withTheFake(t)
	contract(t, func(t *testing.T, s *suite) {
		pages := everyPage(t, s)
		for page, link := range map[string]string{"open": "cancelled", "expired": "cancelled", "done": "done"} {
			all := sandbox.Elements(t, pages[page])
			if len(pick(all, "a", "href", "https://enrol.kowhai.example/"+link)) != 1 {
				t.Errorf("page %s has no plain link to %q:\n%s", page, link, pages[page].Body)
			}
			for _, e := range all {
				if e.Name == "form" && !strings.HasPrefix(e.Attr["action"], "/") {
					t.Errorf("page %s sends a form to %q", page, e.Attr["action"])
				}
			}
		}
	})
}

func TestContract5NamesAreTextOnEveryPage(t *testing.T) {
	withTheFake(t)
	const first, last, course = `<script>alert('1')</script>`, `Tūhoe-Ōtāhuhu & "Sons"`, `<img src=x onerror=alert(1)> Tohu Mātauranga {{.Token}}`
	contract(t, func(t *testing.T, s *suite) {
		body := set(t, order(legacyCreate, "ORDER-1"), "student.first_name", fmt.Sprintf("%q", first))
		body = set(t, set(t, body, "student.last_name", fmt.Sprintf("%q", last)), "course.course_name", fmt.Sprintf("%q", course))
		created := s.Post(t, "TUI", "/v1/provider-checkouts", body)
		if created.Status != http.StatusCreated {
			t.Fatalf("create: %d %s", created.Status, created.Body)
		}
		s.Configure(t, strings.Replace(providers, `"Tūī Trades Academy"`, `"<b onclick=x()>Tūī</b> Trades"`, 1))
		setupURL := created.String("direct_debit.setup_url")
		for name, r := range map[string]response{"open": s.Visit(t, setupURL), "bank form": s.Visit(t, s.ToBank(t, created)),
			"done": func() response { s.SetUp(t, created); return s.Visit(t, setupURL) }()} {
			selfContained(t, name, r)
			text := sandbox.Elements(t, r)[0].Text // of the whole document
			for _, want := range []string{course, "<b onclick=x()>Tūī</b> Trades"} {
				if !strings.Contains(text, want) {
					t.Errorf("page %s does not read %q:\n%s", name, want, r.Body)
				}
			}
			if name != "bank form" && !strings.Contains(text, first+" "+last) {
				t.Errorf("page %s does not read the student's name:\n%s", name, r.Body)
			}
		}
	})
}

func TestContract8PagesAreRateLimited(t *testing.T) {
	slow := func(_ *service.Config, o *httpapi.Options) {
		o.RateLimit = 0.1 // one in ten seconds
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}
	contract(t, func(t *testing.T, s *suite) {
		setupURL := s.Create(t, "ORDER-1").String("direct_debit.setup_url")
		from := func(address string) response { return s.Visit(t, setupURL, "X-Forwarded-For", address) }
		limited := func(what string, r response) {
			t.Helper()
			shows(t, what, r, http.StatusTooManyRequests, "Too many requests")
			if wait, err := strconv.Atoi(r.Header.Get("Retry-After")); err != nil || wait < 1 || wait > 10 {
				t.Errorf("%s: Retry-After %q, want what is left of ten seconds", what, r.Header.Get("Retry-After"))
			}
		}
		shows(t, "first look", from("192.0.2.1"), http.StatusOK, sandbox.OpenTitle)
		limited("second look from an address", from("192.0.2.1"))
		limited("look from another address with the same token", from("192.0.2.2"))
		shows(t, "another token from another address",
			s.Visit(t, sandbox.SetupPagePath+"?token=x", "X-Forwarded-For", "192.0.2.3"), http.StatusNotFound, sandbox.UnknownTitle)
		s.Clock.Forward(10 * time.Second)
		shows(t, "look after waiting", from("192.0.2.1"), http.StatusOK, sandbox.OpenTitle)
	}, slow)
}
