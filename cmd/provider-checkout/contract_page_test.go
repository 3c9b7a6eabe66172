package main

import (
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
)

const (
	setupPagePath = "/api/dd-setup"
	bankFormPath  = "/sandbox/processor/billing-requests"
	goodAccount   = "01-0902-0068389-00"
)

// visit opens a page as a browser without script does.
func (s *sandbox) visit(t *testing.T, address string, headers ...string) response {
	t.Helper()
	return s.send(t, http.MethodGet, address, "", headers...)
}

// submit sends a form. fields are names and values in turn.
func (s *sandbox) submit(t *testing.T, path string, fields []string, headers ...string) response {
	t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return s.send(t, http.MethodPost, path, form.Encode(),
		append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)...)
}

// toBank leads from the setup page to the address of the bank's form.
func (s *sandbox) toBank(t *testing.T, created response) string {
	t.Helper()
	r := s.submit(t, setupPagePath, []string{"token", created.string("direct_debit.token")})
	if r.status != http.StatusSeeOther || !strings.HasPrefix(r.header.Get("Location"), s.url+bankFormPath) {
		t.Fatalf("begin: %d to %q", r.status, r.header.Get("Location"))
	}
	return r.header.Get("Location")
}

// bankDetails are the fields of the bank's form as a payer fills them in.
func bankDetails(created response, account string) []string {
	return []string{"token", created.string("direct_debit.token"), "account_holder_name", "Aroha Ngata",
		"account_number", account, "authority_confirmed", "yes"}
}

// element is one element of a page with all of the text in it.
type element struct {
	name string
	attr map[string]string
	text string
}

// elements parses a page.
func elements(t *testing.T, r response) (all []*element) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(r.text))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var open []*element
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("parse %s: %v", r.text, err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: strings.ToLower(token.Name.Local), attr: map[string]string{}}
			for _, a := range token.Attr {
				e.attr[strings.ToLower(a.Name.Local)] = a.Value
			}
			all, open = append(all, e), append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			for _, e := range open {
				e.text += string(token)
			}
		}
	}
}

// pick returns the elements of a name, or of every name where it is "", that have an attribute with this value.
func pick(all []*element, name, attr, value string) (found []*element) {
	for _, e := range all {
		if got, ok := e.attr[attr]; (name == "" || e.name == name) && ok && got == value {
			found = append(found, e)
		}
	}
	return found
}

// heading returns the text of a page's h1.
func heading(t *testing.T, r response) string {
	t.Helper()
	for _, e := range elements(t, r) {
		if e.name == "h1" {
			return e.text
		}
	}
	return ""
}

func shows(t *testing.T, what string, r response, status int, title string) {
	t.Helper()
	if r.status != status || !strings.HasPrefix(r.header.Get("Content-Type"), "text/html") || heading(t, r) != title {
		t.Errorf("%s: %d %s\nwant %d %q", what, r.status, r.text, status, title)
	}
}

// Headings of the pages.
const (
	openTitle     = "Set up your direct debit"
	doneTitle     = "Your direct debit is set up"
	expiredTitle  = "This link has expired"
	disabledTitle = "This page is not available"
	unknownTitle  = "We cannot find this page"
	bankTitle     = "Bank details"
)

func TestContract4OpeningTheSetupPageChangesNothing(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		created := s.create(t, "ORDER-1")
		setupURL := created.string("direct_debit.setup_url")
		if setupURL != s.url+setupPagePath+"?token="+created.string("direct_debit.token") {
			t.Errorf("setup_url is %q", setupURL)
		}
		legalURL := strings.Replace(setupURL, setupPagePath, setupPagePath+"/legal", 1)
		look := func(pages ...string) {
			t.Helper()
			before, sent := s.dossiers(t), len(s.hooks.all())
			for range 100 {
				for _, page := range pages {
					got := s.visit(t, page, "Sec-Purpose", "prefetch;prerender")
					head := s.send(t, http.MethodHead, page, "")
					if got.status != http.StatusOK || head.status != got.status || head.text != "" ||
						head.header.Get("Content-Type") != got.header.Get("Content-Type") {
						t.Fatalf("GET %s %d, HEAD %d %q", page, got.status, head.status, head.text)
					}
				}
			}
			if after := s.dossiers(t); !reflect.DeepEqual(before, after) || len(s.hooks.all()) != sent {
				t.Errorf("opening pages changed\n%+v to\n%+v", before, after)
			}
		}
		look(setupURL, legalURL)
		look(setupURL, s.toBank(t, created))
		s.submit(t, bankFormPath, bankDetails(created, goodAccount))
		look(setupURL, legalURL)
	})
}

func TestContract4APayerCompletesTheSetupWithoutScript(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		created := s.create(t, "ORDER-1")
		setupURL := created.string("direct_debit.setup_url")
		r := s.visit(t, setupURL)
		shows(t, "setup page", r, http.StatusOK, openTitle)
		for _, want := range []string{"Kōwhai Institute", "Diploma in Business", "Aroha Ngata", "$2,990.00", "$200.00",
			"51 weekly payments of $53.65", "$53.85", "Monday 1 February 2027"} {
			if !strings.Contains(r.text, want) {
				t.Errorf("the setup page does not tell %q:\n%s", want, r.text)
			}
		}
		all := elements(t, r)
		if len(pick(all, "form", "action", setupPagePath)) != 1 ||
			len(pick(all, "input", "value", created.string("direct_debit.token"))) != 1 {
			t.Errorf("the setup page has no form that carries the token:\n%s", r.text)
		}
		legal := pick(all, "a", "href", setupPagePath+"/legal?token="+created.string("direct_debit.token"))
		if len(legal) != 1 {
			t.Fatalf("the setup page does not lead to the terms:\n%s", r.text)
		}
		shows(t, "terms", s.visit(t, legal[0].attr["href"]), http.StatusOK, "Direct debit terms")

		form := s.toBank(t, created)
		shows(t, "bank's form", s.visit(t, form), http.StatusOK, bankTitle)
		if s.get(t, "KOWHAI", checkoutPath(created)).at("direct_debit.setup_complete") != false {
			t.Error("the setup is complete before the form is sent")
		}
		r = s.submit(t, bankFormPath, bankDetails(created, goodAccount))
		if r.status != http.StatusSeeOther || r.header.Get("Location") != setupURL {
			t.Errorf("the form leads to %d %q, want the setup page", r.status, r.header.Get("Location"))
		}
		shows(t, "page when done", s.visit(t, setupURL), http.StatusOK, doneTitle)
		if s.get(t, "KOWHAI", checkoutPath(created)).at("direct_debit.setup_complete") != true {
			t.Error("the setup is not complete")
		}
		r = s.submit(t, bankFormPath, bankDetails(created, goodAccount)) // a double click
		if r.status != http.StatusSeeOther || s.url+strings.TrimPrefix(r.header.Get("Location"), s.url) != setupURL {
			t.Errorf("the form sent twice leads to %d %q, want the setup page", r.status, r.header.Get("Location"))
		}
	})
}

func TestContract4AMistakeComesBackOnTheFormWithWhatWasTyped(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		created := s.create(t, "ORDER-1")
		s.toBank(t, created)
		before := s.dossiers(t)
		for _, tt := range []struct {
			name, holder, account, authority string
			alerts                           int
			says                             string
		}{
			{"a digit swapped", "Aroha Ngata", "01-0902-0068398-00", "yes", 1, "account number"},
			{"too short", "Aroha Ngata", "01-0902", "yes", 1, "15 or 16 digits"},
			{"no such bank", "Aroha Ngata", "99-0902-0068389-00", "yes", 1, "bank"},
			{"not digits", "Aroha Ngata", "０１-0902-0068389-00", "yes", 1, "digits"},
			{"no account number", "Aroha Ngata", "", "yes", 1, "account number"},
			{"no holder", "", goodAccount, "yes", 1, "name of the account holder"},
			{"no authority", "Aroha Ngata", goodAccount, "", 1, "no one else has to sign"},
			{"nothing at all", "", "", "", 3, ""},
			{"script for a name", `"><script>alert(1)</script>`, "12-345", "yes", 1, "digits"},
			{"macrons in the name", "Mārama Tūhoe & Sons", "1", "yes", 1, "digits"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				fields := []string{"token", created.string("direct_debit.token"),
					"account_holder_name", tt.holder, "account_number", tt.account}
				if tt.authority != "" {
					fields = append(fields, "authority_confirmed", tt.authority)
				}
				r := s.submit(t, bankFormPath, fields)
				shows(t, tt.name, r, http.StatusUnprocessableEntity, bankTitle)
				all := elements(t, r)
				alerts := pick(all, "", "role", "alert")
				if len(alerts) != tt.alerts || !strings.Contains(alerts[0].text, tt.says) {
					t.Fatalf("%d alerts in\n%s\nwant %d that tell of %q", len(alerts), r.text, tt.alerts, tt.says)
				}
				for name, typed := range map[string]string{"account_holder_name": tt.holder, "account_number": tt.account} {
					if kept := pick(all, "input", "name", name); len(kept) != 1 || kept[0].attr["value"] != typed {
						t.Errorf("the form does not keep %q of %s:\n%s", typed, name, r.text)
					}
				}
				_, ticked := pick(all, "input", "name", "authority_confirmed")[0].attr["checked"]
				if ticked != (tt.authority != "") {
					t.Errorf("the box is ticked: %v", ticked)
				}
			})
		}
		if after := s.dossiers(t); !reflect.DeepEqual(before, after) {
			t.Errorf("faulty forms changed\n%+v to\n%+v", before, after)
		}
		r := s.submit(t, bankFormPath, bankDetails(created, goodAccount))
		if r.status != http.StatusSeeOther {
			t.Errorf("the mended form: %d %s", r.status, r.text)
		}
		shows(t, "page when done", s.visit(t, created.string("direct_debit.setup_url")), http.StatusOK, doneTitle)
	})
}

func TestContract4AnExpiredLinkSaysSoAndASupersededOneStillOpens(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		created := s.create(t, "ORDER-1")
		first := created.string("direct_debit.setup_url")
		if again := s.replayed(t, "ORDER-1"); again.string("direct_debit.setup_url") != first {
			t.Error("a replay at once returns another link")
		}
		s.clock.forward(6*24*time.Hour + time.Hour)
		replay := s.replayed(t, "ORDER-1")
		latest := replay.string("direct_debit.setup_url")
		if latest == first {
			t.Fatal("a replay on the last day returns the same link")
		}
		shows(t, "superseded link", s.visit(t, first), http.StatusOK, openTitle)
		s.clock.forward(24 * time.Hour)
		shows(t, "expired link", s.visit(t, first), http.StatusGone, expiredTitle)
		shows(t, "terms of an expired link", s.visit(t, strings.Replace(first, "?", "/legal?", 1)), http.StatusGone, expiredTitle)
		shows(t, "form of an expired link",
			s.submit(t, setupPagePath, []string{"token", created.string("direct_debit.token")}), http.StatusGone, expiredTitle)
		shows(t, "latest link", s.visit(t, latest), http.StatusOK, openTitle)

		s.setUp(t, replay)
		shows(t, "expired link when done", s.visit(t, first), http.StatusOK, doneTitle)
		s.clock.forward(30 * 24 * time.Hour)
		shows(t, "latest link, expired when done", s.visit(t, latest), http.StatusOK, doneTitle)
		if r := s.confirm(t, replay); r.status != http.StatusOK { // the latest token, expired or not
			t.Errorf("confirm: %d %s", r.status, r.text)
		}
		shows(t, "latest link when confirmed", s.visit(t, latest), http.StatusOK, doneTitle)
	})
}

func TestContract5PagesOfAProviderThatCannotBeUsedAreClosed(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		created := s.create(t, "ORDER-1")
		setupURL := created.string("direct_debit.setup_url")
		form := s.toBank(t, created)
		for _, tt := range []struct{ name, usable, unusable string }{
			{"inactive", `"active": true, "api_enabled"`, `"active": false, "api_enabled"`},
			{"not API-enabled", `"api_enabled": true`, `"api_enabled": false`},
			{"without an account", `"account_id": "acc-kowhai"`, `"account_id": ""`},
			{"not configured at all", `"provider_code": "KOWHAI"`, `"provider_code": "KAKA"`},
		} {
			t.Run(tt.name, func(t *testing.T) {
				s.configure(t, strings.Replace(providers, tt.usable, tt.unusable, 1))
				shows(t, "setup page", s.visit(t, setupURL), http.StatusGone, disabledTitle)
				shows(t, "terms", s.visit(t, strings.Replace(setupURL, "?", "/legal?", 1)), http.StatusGone, disabledTitle)
				shows(t, "form", s.submit(t, setupPagePath, []string{"token", created.string("direct_debit.token")}),
					http.StatusGone, disabledTitle)
				for _, r := range []response{s.visit(t, form), s.submit(t, bankFormPath, bankDetails(created, goodAccount))} {
					if r.status != http.StatusGone && r.status != http.StatusSeeOther {
						t.Errorf("the bank's form answers %d %s", r.status, r.text)
					}
				}
				if s.dossiers(t)[0].Checkout.SetupComplete() {
					t.Error("the setup went on")
				}
			})
		}
		s.configure(t, providers)
		shows(t, "setup page", s.visit(t, setupURL), http.StatusOK, openTitle)
	})
}
