package contract_test

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

const goodAccount = apiclient.AccountNumber

// bankDetails are the fields of the bank's form as a payer fills them in.
func bankDetails(account string) []string {
	return []string{"account_holder_name", "Aroha Ngata", "account_number", account, "authority_confirmed", "yes"}
}

// pick returns the elements with this name, or any name if it is "", that have an attribute with this value.
func pick(all []*apiclient.Element, name, attr, value string) (found []*apiclient.Element) {
	for _, e := range all {
		if got, ok := e.Attr[attr]; (name == "" || e.Name == name) && ok && got == value {
			found = append(found, e)
		}
	}
	return found
}

// heading returns the text of a page's h1.
func heading(t *testing.T, r response) string {
	t.Helper()
	for _, e := range sandbox.Elements(t, r) {
		if e.Name == "h1" {
			return e.Text
		}
	}
	return ""
}

func shows(t *testing.T, what string, r response, status int, title string) {
	t.Helper()
	if r.Status != status || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") || heading(t, r) != title {
		t.Errorf("%s: %d %s\nwant %d %q", what, r.Status, r.Body, status, title)
	}
}

func TestContract4OpeningTheSetupPageChangesNothing(t *testing.T) {
	withTheFake(t)
	contract(t, func(t *testing.T, s *suite) {
		created := s.Create(t, "ORDER-1")
		setupURL := created.String("direct_debit.setup_url")
		if setupURL != s.URL+sandbox.SetupPagePath+"?token="+created.String("direct_debit.token") {
			t.Errorf("setup_url is %q", setupURL)
		}
		legalURL := strings.Replace(setupURL, sandbox.SetupPagePath, sandbox.SetupPagePath+"/legal", 1)
		times := 20
		if _, inMemory := s.Store.(*memory.Store); testlevel.IsFull() { // the pages are the same over each store
			times = map[bool]int{true: 1_000, false: 100}[inMemory] // ten times over
		}
		look := func(status int, pages ...string) {
			t.Helper()
			before, sent := s.Records(t), len(s.Receiver.Deliveries())
			for range times / len(pages) / 2 {
				for _, page := range pages {
					got := s.Visit(t, page, "Sec-Purpose", "prefetch;prerender")
					head := s.Send(t, http.MethodHead, page, "")
					if got.Status != status || head.Status != got.Status || head.Body != "" ||
						head.Header.Get("Content-Type") != got.Header.Get("Content-Type") {
						t.Fatalf("GET %s %d, HEAD %d %q, want %d", page, got.Status, head.Status, head.Body, status)
					}
				}
			}
			if after := s.Records(t); !reflect.DeepEqual(before, after) || len(s.Receiver.Deliveries()) != sent {
				t.Errorf("opening pages changed\n%+v to\n%+v", before, after)
			}
		}
		look(http.StatusOK, setupURL, legalURL)
		form := s.ToBank(t, created)
		look(http.StatusOK, setupURL, form)
		s.Submit(t, form, bankDetails(goodAccount))
		look(http.StatusOK, setupURL, legalURL)
		s.Clock.Forward(3 * time.Minute) // the mandate is active by then
		look(http.StatusOK, setupURL, legalURL)
		shows(t, "page of the payer who comes back", s.Back(t, setupURL), http.StatusOK, sandbox.DoneTitle)
		look(http.StatusOK, setupURL, legalURL)
		if r := s.Confirm(t, created); r.Status != http.StatusOK {
			t.Fatalf("confirm: %d %s", r.Status, r.Body)
		}
		s.Clock.Forward(24 * time.Hour)
		look(http.StatusOK, setupURL, strings.Replace(setupURL, "?", "/agreement?", 1))
		other := s.Create(t, "ORDER-2")
		s.ToBank(t, other)
		s.Clock.Forward(8 * 24 * time.Hour)
		look(http.StatusGone, other.SetupURL())
	})
}

func TestContract4APayerCompletesTheSetupWithoutScript(t *testing.T) {
	withTheFake(t)
	contract(t, func(t *testing.T, s *suite) {
		created := s.Create(t, "ORDER-1")
		setupURL := created.String("direct_debit.setup_url")
		r := s.Visit(t, setupURL)
		shows(t, "setup page", r, http.StatusOK, sandbox.OpenTitle)
		for _, want := range []string{"Kōwhai Institute", "Diploma in Business", "Aroha Ngata", "$2,990.00", "$200.00",
			"$53.65 a week", "the last payment is $53.85", "Monday 1 February 2027"} {
			if !strings.Contains(r.Body, want) {
				t.Errorf("the setup page does not show %q:\n%s", want, r.Body)
			}
		}
		all := sandbox.Elements(t, r)
		if len(pick(all, "form", "action", sandbox.SetupPagePath)) != 1 ||
			len(pick(all, "input", "value", created.String("direct_debit.token"))) != 1 {
			t.Errorf("the setup page has no form that carries the token:\n%s", r.Body)
		}
		legal := pick(all, "a", "href", sandbox.SetupPagePath+"/legal?token="+created.String("direct_debit.token"))
		if len(legal) != 1 {
			t.Fatalf("the setup page does not lead to the terms:\n%s", r.Body)
		}
		shows(t, "terms", s.Visit(t, legal[0].Attr["href"]), http.StatusOK, "Direct debit terms")

		form := s.ToBank(t, created)
		shows(t, "bank's form", s.Visit(t, form), http.StatusOK, sandbox.BankTitle)
		if s.Get(t, "KOWHAI", created.CheckoutPath()).At("direct_debit.setup_complete") != false {
			t.Error("the setup is complete before the form is sent")
		}
		r = s.Submit(t, form, bankDetails(goodAccount))
		if r.Status != http.StatusSeeOther || r.Header.Get("Location") != sandbox.ReturnURL(setupURL) {
			t.Errorf("the form leads to %d %q, want the way back", r.Status, r.Header.Get("Location"))
		}
		shows(t, "page when done", s.Back(t, setupURL), http.StatusOK, sandbox.DoneTitle)
		if s.Get(t, "KOWHAI", created.CheckoutPath()).At("direct_debit.setup_complete") != true {
			t.Error("the setup is not complete")
		}
		r = s.Submit(t, form, bankDetails(goodAccount)) // a double click
		if r.Status != http.StatusSeeOther || r.Header.Get("Location") != sandbox.ReturnURL(setupURL) {
			t.Errorf("the form sent twice leads to %d %q, want the way back", r.Status, r.Header.Get("Location"))
		}
	})
}

func TestContract4AMistakeComesBackOnTheFormWithWhatWasTyped(t *testing.T) {
	withTheFake(t)
	contract(t, func(t *testing.T, s *suite) {
		created := s.Create(t, "ORDER-1")
		form := s.ToBank(t, created)
		before := s.Records(t)
		for _, tt := range []struct {
			name, holder, account, authority string
			alerts                           int
			says                             string
		}{
			{"a digit swapped", "Aroha Ngata", "01-0902-0068398-00", "yes", 1, "account number"},
			{"too short", "Aroha Ngata", "01-0902", "yes", 1, "15 or 16 digits"},
			{"no such bank", "Aroha Ngata", "99-0902-0068389-00", "yes", 1, "bank"},
			{"not digits", "Aroha Ngata", "Ⅰ1-0902-0068389-00", "yes", 1, "digits"},
			{"no account number", "Aroha Ngata", "", "yes", 1, "account number"},
			{"no holder", "", goodAccount, "yes", 1, "name of the account holder"},
			{"no authority", "Aroha Ngata", goodAccount, "", 1, "no one else has to sign"},
			{"nothing at all", "", "", "", 3, ""},
			{"script for a name", `"><script>alert(1)</script>`, "12-345", "yes", 1, "digits"},
			{"macrons in the name", "Mārama Tūhoe & Sons", "1", "yes", 1, "digits"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				fields := []string{"account_holder_name", tt.holder, "account_number", tt.account}
				if tt.authority != "" {
					fields = append(fields, "authority_confirmed", tt.authority)
				}
				r := s.Submit(t, form, fields)
				shows(t, tt.name, r, http.StatusUnprocessableEntity, sandbox.BankTitle)
				all := sandbox.Elements(t, r)
				alerts := pick(all, "", "role", "alert")
				if len(alerts) != tt.alerts || !strings.Contains(alerts[0].Text, tt.says) {
					t.Fatalf("%d alerts in\n%s\nwant %d with %q", len(alerts), r.Body, tt.alerts, tt.says)
				}
				for name, typed := range map[string]string{"account_holder_name": tt.holder, "account_number": tt.account} {
					if kept := pick(all, "input", "name", name); len(kept) != 1 || kept[0].Attr["value"] != typed {
						t.Errorf("the form does not keep %q of %s:\n%s", typed, name, r.Body)
					}
				}
				_, ticked := pick(all, "input", "name", "authority_confirmed")[0].Attr["checked"]
				if ticked != (tt.authority != "") {
					t.Errorf("the box is ticked: %v", ticked)
				}
			})
		}
		if after := s.Records(t); !reflect.DeepEqual(before, after) {
			t.Errorf("faulty forms changed\n%+v to\n%+v", before, after)
		}
		r := s.Submit(t, form, bankDetails(goodAccount))
		if r.Status != http.StatusSeeOther {
			t.Errorf("the corrected form: %d %s", r.Status, r.Body)
		}
		shows(t, "page when done", s.Back(t, created.SetupURL()), http.StatusOK, sandbox.DoneTitle)
	})
}

func TestContract4AnExpiredLinkSaysSoAndASupersededOneStillOpens(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Create(t, "ORDER-1")
		first := created.String("direct_debit.setup_url")
		if again := s.Replay(t, "ORDER-1"); again.String("direct_debit.setup_url") != first {
			t.Error("a replay at once returns another link")
		}
		s.Clock.Forward(6*24*time.Hour + time.Hour)
		replay := s.Replay(t, "ORDER-1")
		latest := replay.String("direct_debit.setup_url")
		if latest == first {
			t.Fatal("a replay on the last day returns the same link")
		}
		shows(t, "superseded link", s.Visit(t, first), http.StatusOK, sandbox.OpenTitle)
		s.Clock.Forward(24 * time.Hour)
		shows(t, "expired link", s.Visit(t, first), http.StatusGone, sandbox.ExpiredTitle)
		shows(t, "terms of an expired link", s.Visit(t, strings.Replace(first, "?", "/legal?", 1)), http.StatusGone, sandbox.ExpiredTitle)
		shows(t, "form of an expired link",
			s.Submit(t, sandbox.SetupPagePath, []string{"token", created.String("direct_debit.token")}), http.StatusGone, sandbox.ExpiredTitle)
		shows(t, "latest link", s.Visit(t, latest), http.StatusOK, sandbox.OpenTitle)

		s.SetUp(t, replay)
		shows(t, "expired link when done", s.Visit(t, first), http.StatusOK, sandbox.DoneTitle)
		s.Clock.Forward(30 * 24 * time.Hour)
		shows(t, "latest link, expired when done", s.Visit(t, latest), http.StatusOK, sandbox.DoneTitle)
		if r := s.Confirm(t, replay); r.Status != http.StatusOK { // the latest token, expired or not
			t.Errorf("confirm: %d %s", r.Status, r.Body)
		}
		shows(t, "latest link when confirmed", s.Visit(t, latest), http.StatusOK, sandbox.ConfirmedTitle)
	})
}

// mailed is a notifier that takes everything.
type mailed struct{}

func (mailed) Notify(context.Context, checkout.PayerNotice) (string, error) {
	return "", nil
}

// The token of the create confirms, as in section 2.4, though its payer has asked for another link meanwhile.
func TestContract2ALinkByEmailTakesNothingFromTheProvider(t *testing.T) {
	withTheFake(t)
	contractWith(t, func(c *service.Config, _ *httpapi.Options) bool { c.Notifier = mailed{}; return true }, func(t *testing.T, s *suite, _ bool) {
		created := s.Create(t, "ORDER-1")
		token := created.String("direct_debit.token")
		s.Clock.Forward(8 * 24 * time.Hour)
		link := s.Submit(t, sandbox.SetupPagePath+"/link", []string{"token", token})
		shows(t, "answer to the form", link, http.StatusOK, "Check your email")
		mail := s.Config.Keyring.MailedText(s.record(t, "ORDER-1").Checkout)
		if mail == "" || strings.Contains(link.Body, mail) {
			t.Fatalf("the payer's token is %q", mail)
		}
		open := s.Visit(t, sandbox.SetupPagePath+"?token="+mail)
		shows(t, "link by e-mail", open, http.StatusOK, sandbox.OpenTitle)
		form := s.Submit(t, sandbox.SetupPagePath, []string{"token", mail, "terms", sandbox.ShownTerms(open)}).Header.Get("Location")
		s.Submit(t, form, bankDetails(goodAccount))
		shows(t, "link by e-mail, when done", s.Back(t, sandbox.SetupPagePath+"?token="+mail), http.StatusOK, sandbox.DoneTitle)
		if r := s.Confirm(t, created); r.Status != http.StatusOK {
			t.Errorf("a confirm with the token of the create: %d %s", r.Status, r.Body)
		}
	})
}

func TestContract5PagesOfAProviderThatCannotBeUsedAreClosed(t *testing.T) {
	withTheFake(t)
	contract(t, func(t *testing.T, s *suite) {
		created := s.Create(t, "ORDER-1")
		setupURL := created.String("direct_debit.setup_url")
		form := s.ToBank(t, created)
		for _, tt := range []struct{ name, usable, unusable string }{
			{"inactive", `"active": true, "api_enabled"`, `"active": false, "api_enabled"`},
			{"not API-enabled", `"api_enabled": true`, `"api_enabled": false`},
			{"without an account", `"account_id": "acc-kowhai"`, `"account_id": ""`},
			{"not configured at all", `"provider_code": "KOWHAI"`, `"provider_code": "KAKA"`},
		} {
			t.Run(tt.name, func(t *testing.T) {
				s.Configure(t, strings.Replace(providers, tt.usable, tt.unusable, 1))
				shows(t, "setup page", s.Visit(t, setupURL), http.StatusGone, sandbox.DisabledTitle)
				shows(t, "terms", s.Visit(t, strings.Replace(setupURL, "?", "/legal?", 1)), http.StatusGone, sandbox.DisabledTitle)
				shows(t, "form", s.Submit(t, sandbox.SetupPagePath, []string{"token", created.String("direct_debit.token")}),
					http.StatusGone, sandbox.DisabledTitle)
				// A payer can still reach the processor, which is another party. It has no effect here meanwhile.
				if r := s.Submit(t, form, bankDetails(goodAccount)); r.Status != http.StatusSeeOther || r.Header.Get("Location") != sandbox.ReturnURL(setupURL) {
					t.Errorf("the bank's form answers %d %s", r.Status, r.Body)
				}
				shows(t, "setup page, back from the bank", s.Back(t, setupURL), http.StatusGone, sandbox.DisabledTitle)
				if s.Records(t)[0].Checkout.SetupComplete() {
					t.Error("the setup went on")
				}
			})
		}
		s.Configure(t, providers)
		shows(t, "setup page", s.Back(t, setupURL), http.StatusOK, sandbox.DoneTitle)
	})
}
