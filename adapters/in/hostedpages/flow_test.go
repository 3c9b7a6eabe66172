package hostedpages_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// What a browser without script does: the page's own form, with what the payer types.
var (
	action = regexp.MustCompile(`<form method="post" action="([^"]+)"`)
	hidden = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)
)

func (b *bench) submit(page answer, typed url.Values) answer {
	b.t.Helper()
	to := action.FindStringSubmatch(page.body)
	if to == nil {
		b.t.Fatalf("the page has no form:\n%s", page.body)
	}
	for _, field := range hidden.FindAllStringSubmatch(page.body, -1) {
		typed.Set(field[1], field[2])
	}
	return b.do(http.MethodPost, to[1], typed.Encode(), func(r *http.Request) {
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Origin", "null")
	})
}

// follow goes where the answer leads, as long as that is ours.
func (b *bench) follow(a answer) answer {
	b.t.Helper()
	a.is(b.t, http.StatusSeeOther)
	at := a.header.Get("Location")
	if !strings.HasPrefix(at, baseURL+"/") && !strings.HasPrefix(at, "/") {
		b.t.Fatalf("Location = %q, want a page of %s", at, baseURL)
	}
	return b.get(at)
}

// poll reads the checkout as its provider does.
func (b *bench) poll() checkout.Checkout {
	b.t.Helper()
	c, err := b.service.Checkout(b.t.Context(), service.Caller{ProviderCode: "KOWHAI"}, b.id)
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

func TestPayerSetsUpADirectDebit(t *testing.T) {
	b := newBench(t, kowhai(), order(), 0)

	form := b.follow(b.submit(b.get(b.setupPath()), url.Values{}))
	form.is(t, http.StatusOK)
	form.wants(t, "Sandbox", "Kōwhai Institute")

	wrong := b.submit(form, url.Values{"account_holder_name": {"Hēmi O'Brien"}, "account_number": {"01-0902-0068388-00"}})
	wrong.is(t, http.StatusUnprocessableEntity)
	wrong.wants(t, "Hēmi O&#39;Brien", "01-0902-0068388-00", `role="alert"`)

	done := b.follow(b.submit(wrong, url.Values{"account_holder_name": {"Hēmi O'Brien"},
		"account_number": {"01 0902 0068389 00"}, "authority_confirmed": {"yes"}}))
	done.is(t, http.StatusOK)
	done.wants(t, "Your direct debit is set up", "https://enrol.kowhai.example/done?from=bank")
	if c := b.stored(); c.SetupComplete() {
		t.Errorf("setup = %+v, stored by reading the page", c.Setup)
	}

	b.poll()
	setup := b.stored().Setup
	if !b.stored().SetupComplete() || setup.AccountHolder != "Hēmi O'Brien" || setup.AccountMask != "01-0902-•••••89-00" ||
		setup.Mandate != checkout.MandatePendingSubmission || !setup.CompletedAt.Equal(b.now) {
		t.Errorf("setup = %+v", setup)
	}

	// The back button, and the form once more.
	again := b.follow(b.submit(form, url.Values{"account_holder_name": {"Someone Else"},
		"account_number": {"12-3140-0171323-50"}, "authority_confirmed": {"yes"}}))
	again.wants(t, "Your direct debit is set up")
	if got := b.stored().Setup; got != setup {
		t.Errorf("setup after the form came again = %+v, want %+v", got, setup)
	}
	if strings.Contains(b.log.String(), b.token) || strings.Contains(b.log.String(), "0068389") {
		t.Errorf("the log holds a token or an account number:\n%s", &b.log)
	}
}
