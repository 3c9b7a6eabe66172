package main

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

	"github.com/provider-checkout/provider-checkout/adapters/httpapi"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// forgeries returns texts that are not a setup token of this sandbox, by what is wrong with them.
func forgeries(t *testing.T, s *sandbox, token string) map[string]string {
	t.Helper()
	all := map[string]string{"no token": "", "API key": s.keys["KOWHAI"], "a word": "token", "four dots": "....",
		"in capitals": strings.ToUpper(token), "with a space": token + " ", "with a NUL": token + "\x00",
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
	all["ours, never issued"], _ = s.config.Keyring.Text(parts[0], s.config.Keyring.Issue(2, later))
	all["ours, of no checkout"], _ = s.config.Keyring.Text(parts[0]+"x", s.config.Keyring.Issue(1, later))
	other := s.create(t, "ANOTHER").string("direct_debit.token")
	all["signature of another checkout"] = token[:strings.LastIndex(token, ".")] + other[strings.LastIndex(other, "."):]
	return all
}

func TestContract5AForgedOrForeignTokenGetsOneIdenticalPage(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		token := s.create(t, "ORDER-1").string("direct_debit.token")
		forged := forgeries(t, s, token)
		before := s.dossiers(t)
		what := func(r response) string {
			header := maps.Clone(r.header)
			delete(header, "X-Request-Id")
			delete(header, "Date")
			return fmt.Sprintln(r.status, header, r.text)
		}
		for _, door := range []struct {
			name string
			open func(token string) response
		}{
			{"GET page", func(token string) response { return s.visit(t, setupPagePath+"?token="+url.QueryEscape(token)) }},
			{"GET terms", func(token string) response { return s.visit(t, setupPagePath+"/legal?token="+url.QueryEscape(token)) }},
			{"POST page", func(token string) response { return s.submit(t, setupPagePath, []string{"token", token}) }},
			{"GET bank form", func(token string) response { return s.visit(t, bankFormPath+"?token="+url.QueryEscape(token)) }},
			{"POST bank form", func(token string) response {
				return s.submit(t, bankFormPath, append([]string{"token", token}, bankDetails(response{}, goodAccount)[2:]...))
			}},
		} {
			unknown := door.open("unknown")
			shows(t, door.name, unknown, http.StatusNotFound, unknownTitle)
			for name, text := range forged {
				if got := door.open(text); what(got) != what(unknown) {
					t.Errorf("%s with token %s: %s\nwant %s", door.name, name, what(got), what(unknown))
				}
			}
		}
		unknown := s.visit(t, setupPagePath+"?token=unknown")
		for name, query := range map[string]string{"no token": "", "token twice": "?token=" + token + "&token=" + token,
			"in capitals": "?TOKEN=" + token} {
			if r := s.visit(t, setupPagePath+query); what(r) != what(unknown) {
				t.Errorf("%s: %s", name, what(r))
			}
		}
		r := s.send(t, http.MethodPost, setupPagePath+"?token="+token, "", "Content-Type", "application/x-www-form-urlencoded")
		shows(t, "token in the address of a form", r, http.StatusNotFound, unknownTitle)
		if after := s.dossiers(t); !reflect.DeepEqual(before, after) {
			t.Error("forged tokens changed the record")
		}
		for _, secret := range []string{token, s.keys["KOWHAI"]} {
			if strings.Contains(s.logs.String(), secret) {
				t.Errorf("the log holds %q", secret)
			}
		}
	})
}

func TestContract5ASetupTokenIsNoAPIKey(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		created := s.create(t, "ORDER-1")
		token := "Bearer " + created.string("direct_debit.token")
		for _, path := range []string{"/v1/provider-checkouts", checkoutPath(created) + "/confirm"} {
			refused(t, s.send(t, http.MethodPost, path, confirmBody(created), "Authorization", token,
				"Content-Type", "application/json"), http.StatusForbidden, "INVALID_API_KEY")
		}
		refused(t, s.send(t, http.MethodGet, checkoutPath(created), "", "Authorization", token),
			http.StatusForbidden, "INVALID_API_KEY")
		r := s.visit(t, setupPagePath, "Authorization", "Bearer "+s.keys["KOWHAI"])
		shows(t, "page with the key in a header", r, http.StatusNotFound, unknownTitle)
	})
}

func TestContract5AFormFromAnotherWebsiteIsRefused(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		created := s.create(t, "ORDER-1")
		token := []string{"token", created.string("direct_debit.token")}
		cross := []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}
		before := s.dossiers(t)
		shows(t, "setup page", s.submit(t, setupPagePath, token, cross...),
			http.StatusForbidden, "This form came from another website")
		if !reflect.DeepEqual(before, s.dossiers(t)) {
			t.Error("a refused form began the setup")
		}
		s.toBank(t, created)
		shows(t, "bank's form", s.submit(t, bankFormPath, bankDetails(created, goodAccount), cross...),
			http.StatusForbidden, "This form came from another website")
		if s.get(t, "KOWHAI", checkoutPath(created)).at("direct_debit.setup_complete") != false {
			t.Error("a refused form completed the setup")
		}
		shows(t, "link on another website", s.visit(t, created.string("direct_debit.setup_url"), cross[:2]...), http.StatusOK, openTitle)
		// Under no-referrer a browser says this of the page's own form.
		own := s.submit(t, bankFormPath, bankDetails(created, goodAccount), "Sec-Fetch-Site", "same-origin", "Origin", "null")
		if own.status != http.StatusSeeOther {
			t.Errorf("the page's own form: %d %s", own.status, own.text)
		}
		if got := own.header.Values("Set-Cookie"); got != nil {
			t.Errorf("the pages set cookies: %q", got)
		}
	})
}

// everyPage returns a page of each kind, by its name.
func everyPage(t *testing.T, s *sandbox) map[string]response {
	t.Helper()
	created := s.create(t, "ORDER-1")
	setupURL, token := created.string("direct_debit.setup_url"), []string{"token", created.string("direct_debit.token")}
	pages := map[string]response{
		"open":         s.visit(t, setupURL),
		"terms":        s.visit(t, strings.Replace(setupURL, "?", "/legal?", 1)),
		"unknown":      s.visit(t, setupPagePath+"?token=unknown"),
		"unknown path": s.visit(t, setupPagePath+"/nothing"),
		"method":       s.send(t, http.MethodPut, setupPagePath, ""),
		"cross-site":   s.submit(t, setupPagePath, token, "Sec-Fetch-Site", "cross-site"),
		"type":         s.send(t, http.MethodPost, setupPagePath, "{}", "Content-Type", "application/json"),
		"large":        s.submit(t, setupPagePath, []string{"token", strings.Repeat("x", 20_000)}),
		"not a form":   s.send(t, http.MethodPost, setupPagePath, "token=%zz", "Content-Type", "application/x-www-form-urlencoded"),
	}
	pages["bank form"] = s.visit(t, s.toBank(t, created))
	pages["bank form with mistakes"] = s.submit(t, bankFormPath, bankDetails(created, "1"))
	other := s.create(t, "ORDER-2")
	s.setUp(t, created)
	pages["done"] = s.visit(t, setupURL)
	s.clock.forward(8 * 24 * time.Hour)
	pages["expired"] = s.visit(t, other.string("direct_debit.setup_url"))
	s.configure(t, strings.Replace(providers, `"active": true`, `"active": false`, 1))
	pages["not enabled"] = s.visit(t, setupURL)
	s.configure(t, providers)
	return pages
}

func TestContract5EveryPageKeepsToItself(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors "
		framed := []string{"open", "terms", "done", "expired", "not enabled", "bank form", "bank form with mistakes"}
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
				if got := strings.Join(r.header.Values(header), ", "); got != want {
					t.Errorf("page %s: %s %q, want %q", name, header, got, want)
				}
			}
			selfContained(t, name, r)
		}
	})
}

// selfContained checks that a page is made of nothing but itself and this server's files, and
// leads nowhere but to the pages beside it and the provider's own addresses.
func selfContained(t *testing.T, name string, r response) {
	t.Helper()
	outside := []string{"https://enrol.kowhai.example/done", "https://enrol.kowhai.example/cancelled", "mailto:help@kowhai.example"}
	own := regexp.MustCompile(`^(/api/dd-setup|/sandbox/processor)[/?]?[!-~]*$`)
	for _, e := range elements(t, r) {
		switch e.name {
		case "style", "iframe", "object", "embed", "base", "img", "svg", "video", "audio":
			t.Errorf("page %s has an element %s", name, e.name)
		case "script":
			if e.attr["src"] == "" || e.text != "" {
				t.Errorf("page %s has an inline script %q", name, e.text)
			}
		}
		for attr, value := range e.attr {
			switch {
			case attr == "style" || strings.HasPrefix(attr, "on"):
				t.Errorf("page %s has %s=%q", name, attr, value)
			case attr == "src" || attr == "action" || attr == "formaction" || attr == "href" && e.name != "a":
				if !own.MatchString(value) {
					t.Errorf("page %s: %s %s=%q is not this server's", name, e.name, attr, value)
				}
			case attr == "href" && !own.MatchString(value) && !slices.Contains(outside, value):
				t.Errorf("page %s links to %q", name, value)
			}
		}
	}
}

func TestContract5FramesAreThoseOfTheAllowlistedOrigins(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		created := s.create(t, "ORDER-1")
		tui := s.post(t, "TUI", "/v1/provider-checkouts", order(legacyCreate, "ORDER-1")) // has none
		s.configure(t, strings.Replace(providers, `["https://enrol.kowhai.example"]`,
			`["https://enrol.kowhai.example", "https://apply.kowhai.example:8443"]`, 1))
		ancestors := func(r response) string {
			_, found, _ := strings.Cut(r.header.Get("Content-Security-Policy"), "frame-ancestors ")
			return found
		}
		const origins = "https://enrol.kowhai.example https://apply.kowhai.example:8443"
		if got := ancestors(s.visit(t, created.string("direct_debit.setup_url"))); got != origins {
			t.Errorf("frame-ancestors %q, want %q", got, origins)
		}
		if got := ancestors(s.visit(t, tui.string("direct_debit.setup_url"))); got != "'none'" {
			t.Errorf("frame-ancestors %q of a provider without origins", got)
		}

		s.setUp(t, created)
		s.setUp(t, tui)
		notified := pick(elements(t, s.visit(t, created.string("direct_debit.setup_url"))), "body", "data-notify", origins)
		if len(notified) != 1 {
			t.Error("the page that is done does not notify exactly the allowlisted origins")
		}
		for _, e := range elements(t, s.visit(t, tui.string("direct_debit.setup_url"))) {
			if e.attr["data-notify"] != "" {
				t.Errorf("a provider without origins is notified at %q", e.attr["data-notify"])
			}
		}
	})
}

func TestContract4TheMessageAfterTheSetupIsAHintToTheAllowlistedOriginsOnly(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		pages := everyPage(t, s)
		var script string
		for name, r := range pages {
			for _, e := range elements(t, r) {
				switch {
				case e.name != "script":
				case name == "done":
					script = e.attr["src"]
				case !strings.HasPrefix(name, "bank form"): // whose script helps with the account number
					t.Errorf("page %s runs a script", name)
				case strings.Contains(s.visit(t, e.attr["src"]).text, "postMessage"):
					t.Errorf("page %s sends messages", name)
				}
			}
		}
		r := s.visit(t, script)
		if r.status != http.StatusOK || !strings.HasPrefix(r.header.Get("Content-Type"), "text/javascript") {
			t.Fatalf("script: %d %v", r.status, r.header)
		}
		if !strings.Contains(r.text, `{ source: "provider-checkout", type: "setup_changed" }`) {
			t.Errorf("the message has another source or type:\n%s", r.text)
		}
		calls := regexp.MustCompile(`postMessage\(([^)]*)\)`).FindAllStringSubmatch(r.text, -1)
		if len(calls) != 1 || calls[0][1] != "message, origin" || regexp.MustCompile("[\"'`]\\*[\"'`]").MatchString(r.text) {
			t.Errorf("the message is not sent to one origin at a time:\n%s", r.text)
		}
	})
}

func TestContract5SuccessAndCancelArePlainLinks(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		pages := everyPage(t, s)
		for page, link := range map[string]string{"open": "cancelled", "expired": "cancelled", "done": "done"} {
			all := elements(t, pages[page])
			if len(pick(all, "a", "href", "https://enrol.kowhai.example/"+link)) != 1 {
				t.Errorf("page %s has no plain link to %q:\n%s", page, link, pages[page].text)
			}
			for _, e := range all {
				if e.name == "form" && !strings.HasPrefix(e.attr["action"], "/") {
					t.Errorf("page %s sends a form to %q", page, e.attr["action"])
				}
			}
		}
	})
}

func TestContract5NamesAreTextOnEveryPage(t *testing.T) {
	const first, last, course = `<script>alert('1')</script>`, `Tūhoe-Ōtāhuhu & "Sons"`, `<img src=x onerror=alert(1)> Tohu Mātauranga {{.Token}}`
	contract(t, func(t *testing.T, s *sandbox) {
		body := set(t, order(legacyCreate, "ORDER-1"), "student.first_name", fmt.Sprintf("%q", first))
		body = set(t, set(t, body, "student.last_name", fmt.Sprintf("%q", last)), "course.course_name", fmt.Sprintf("%q", course))
		created := s.post(t, "TUI", "/v1/provider-checkouts", body)
		if created.status != http.StatusCreated {
			t.Fatalf("create: %d %s", created.status, created.text)
		}
		s.configure(t, strings.Replace(providers, `"Tūī Trades Academy"`, `"<b onclick=x()>Tūī</b> Trades"`, 1))
		setupURL := created.string("direct_debit.setup_url")
		for name, r := range map[string]response{"open": s.visit(t, setupURL), "bank form": s.visit(t, s.toBank(t, created)),
			"done": func() response { s.setUp(t, created); return s.visit(t, setupURL) }()} {
			selfContained(t, name, r)
			text := elements(t, r)[0].text // of the whole document
			for _, want := range []string{course, "<b onclick=x()>Tūī</b> Trades"} {
				if !strings.Contains(text, want) {
					t.Errorf("page %s does not read %q:\n%s", name, want, r.text)
				}
			}
			if name != "bank form" && !strings.Contains(text, first+" "+last) {
				t.Errorf("page %s does not read the student's name:\n%s", name, r.text)
			}
		}
	})
}

func TestContract8PagesAreRateLimited(t *testing.T) {
	slow := func(_ *service.Config, o *httpapi.Options) {
		o.RateLimit = 0.1 // one in ten seconds
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}
	contract(t, func(t *testing.T, s *sandbox) {
		setupURL := s.create(t, "ORDER-1").string("direct_debit.setup_url")
		from := func(address string) response { return s.visit(t, setupURL, "X-Forwarded-For", address) }
		limited := func(what string, r response) {
			t.Helper()
			shows(t, what, r, http.StatusTooManyRequests, "Too many requests")
			if wait, err := strconv.Atoi(r.header.Get("Retry-After")); err != nil || wait < 1 || wait > 10 {
				t.Errorf("%s: Retry-After %q, want what is left of ten seconds", what, r.header.Get("Retry-After"))
			}
		}
		shows(t, "first look", from("192.0.2.1"), http.StatusOK, openTitle)
		limited("second look from an address", from("192.0.2.1"))
		limited("look from another address with the same token", from("192.0.2.2"))
		shows(t, "another token from another address",
			s.visit(t, setupPagePath+"?token=x", "X-Forwarded-For", "192.0.2.3"), http.StatusNotFound, unknownTitle)
		s.clock.forward(10 * time.Second)
		shows(t, "look after waiting", from("192.0.2.1"), http.StatusOK, openTitle)
	}, slow)
}
