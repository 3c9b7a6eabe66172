package hostedpages_test

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

func TestOpenPageSaysWhoAsksForWhat(t *testing.T) {
	b := newBench(t, setting{})
	page := b.get(b.setupPath()).is(t, http.StatusOK)
	page.wants(t,
		`<html lang="en-NZ">`, "<title>Set up your direct debit – Kōwhai Institute</title>",
		"Kōwhai Institute", "Diploma in Business", "Hēmi O&#39;Brien", "Sandbox.",
		"all 53 planned payments", "Lender: Pūtea Limited", "nor sooner than 10 calendar days after that day.",
		"Initial payment", "Final instalment", "Total to pay",
		`<tr><td>1</td><th scope="row">Monday 1</th><td>Initial payment</td><td class="amount">$200.00</td></tr>`,
		`<tr><td>53</td><th scope="row">Monday 31</th><td>Final instalment</td><td class="amount">$53.85</td></tr>`,
		"the first possible day, at least 10 calendar days after the confirmation", "the other payments follow as far apart as planned",
		`<form method="post" action="/api/dd-setup" target="_top">`, `name="token" value="`+b.token+`"`,
		`href="/api/dd-setup/legal?token=`, `href="https://enrol.kowhai.example/cancelled"`,
		`href="mailto:help@kowhai.example"`,
		`href="/api/dd-setup/assets/colour-1f6f54.css"`,
	)
	page.lacks(t, "hemi@example.nz", "logo.png", "<script", "data-notify", "enrol.kowhai.example/done")
	page.lacks(t, "$2,736.15", "$2,790.00") // subtotals
	at := 0
	for _, next := range []string{"<strong>$200.00</strong>", "<strong>$53.65 a week</strong>", "$2,990.00 in all", "Student:", "Lender:",
		"read all terms", "<button", "<details>", "</details>",
		"<h2>What you agree to, and your rights</h2>", "No payment is taken before"} { // nothing to agree to is folded
		i := strings.Index(page.body[at:], next)
		if i < 0 {
			t.Fatalf("%q does not follow after\n%s", next, page.body[:at])
		}
		at += i
	}
	if n := strings.Count(page.body, "<h1>"); n != 1 {
		t.Errorf("the page has %d main headings, want 1", n)
	}
}

func TestPlanInWords(t *testing.T) {
	cents := checkout.Some[money.Cents]
	for _, tt := range []struct {
		name     string
		price    money.Cents
		upfront  money.Cents
		number   int
		every    money.Frequency
		calendar money.Calendar
		want     string
		dates    string
	}{
		{"with an initial and a final payment", 2_990_00, 200_00, 52, money.Weekly, money.EveryDay,
			"$200.00 on Monday 1 February 2027 then $53.65 a week until Monday 31 January 2028; the last payment is $53.85. $2,990.00 in all. No interest.",
			"all 53 planned payments"},
		{"without an initial payment and a residual", 1_200_00, 0, 12, money.Monthly, money.EveryDay,
			"$100.00 on Monday 1 February 2027 then $100.00 a month until Saturday 1 January 2028. $1,200.00 in all. No interest.",
			"all 12 planned payments"},
		{"every fortnight", 500_00, 100_00, 4, money.Fortnightly, money.EveryDay,
			"$100.00 on Monday 1 February 2027 then $100.00 every two weeks until Monday 29 March 2027. $500.00 in all. No interest.",
			"all 5 planned payments"},
		{"one payment", 1_234_567_89, 0, 1, money.Weekly, money.EveryDay,
			"$1,234,567.89 on Monday 1 February 2027. $1,234,567.89 in all. No interest.", "the planned payment "},
		{"an initial payment and one instalment", 500_00, 200_00, 1, money.Monthly, money.EveryDay,
			"$200.00 on Monday 1 February 2027 then $300.00 on Monday 1 March 2027. $500.00 in all. No interest.", "all 2 planned payments"},
		{"a last day that is a holiday of the collector", 500_00, 100_00, 4, money.Fortnightly, money.BusinessDays,
			"$100.00 on Monday 1 February 2027 then $100.00 every two weeks until Tuesday 30 March 2027. " +
				"Monday 29 March is Easter Monday: taken Tuesday 30. $500.00 in all. No interest.", "all 5 planned payments"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			create, terms := order(), ofPutea()
			parts, err := money.ByNumber(tt.price-tt.upfront, tt.number)
			if err != nil {
				t.Fatal(err)
			}
			create.Price, create.Upfront, create.Principal = cents(tt.price), cents(tt.upfront), cents(tt.price-tt.upfront)
			create.Frequency, create.Number = checkout.Some(string(tt.every)), checkout.Some(tt.number)
			create.Regular, create.Final = cents(parts.Regular), cents(parts.Final)
			terms.Authority.Calendar = tt.calendar
			b := newBench(t, setting{create: create, terms: terms})
			for _, state := range []string{"open", "done", "confirmed"} {
				page := b.get(b.setupPath())
				page.reads(t, tt.want)
				page.reads(t, tt.dates)
				page.lacks(t, "$0.00")
				switch state {
				case "open":
					b.setUp()
				case "done":
					b.confirm(create.First)
					b.get(b.agreementPath()).reads(t, "Total to pay"+terms.InAll(tt.price))
				}
			}
		})
	}
}

func TestWhateverIsNotFoundThePageIsOne(t *testing.T) {
	b := newBench(t, setting{})
	want := b.get("/api/dd-setup").is(t, http.StatusNotFound)
	for _, path := range []string{"/api/dd-setup?token=x&token=" + b.token, "/api/dd-setup?Token=" + b.token,
		"/api/dd-setup/", "/api/dd-setup/x", "/api/dd-setup/assets/", "/api/dd-setup/assets/none.css", "/api/dd-setup/assets/colour-1F6F54.css",
		"/api/dd-setup/assets/colour-1f6f5.css", "/api/dd-setup/assets/colour-red.css"} {
		if got := b.get(path); got.status != http.StatusNotFound || got.body != want.body {
			t.Errorf("GET %s: %d, want the one page for what is not found", path, got.status)
		}
	}
}

func TestFormLeadsToTheProcessor(t *testing.T) {
	b := newBench(t, setting{})
	var first string
	for range 2 { // a double click
		got := b.begin(func(r *http.Request) { r.Header.Set("Origin", "null") }).is(t, http.StatusSeeOther)
		at := got.header.Get("Location")
		want := regexp.MustCompile("^" + baseURL + "/sandbox/processor/billing-requests/" + b.stored().Setup.BillingRequestID + `\?return_url=`)
		if first = cmp.Or(first, at); at != first || !want.MatchString(at) {
			t.Errorf("Location = %q, want %s, and the same as before, %q", at, want, first)
		}
		if got.header.Get("Cache-Control") != "no-store" || got.header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("headers of the redirect: %v", got.header)
		}
	}
	if c := b.stored(); c.Setup.Try != 1 || c.Setup.BillingRequestID == "" {
		t.Errorf("setup = %+v, want one billing request", c.Setup)
	}
}

func TestFormIsRefused(t *testing.T) {
	header := func(name string, values ...string) func(*http.Request) {
		return func(r *http.Request) { r.Header[name] = values }
	}
	b := newBench(t, setting{})
	form := url.Values{"token": {b.token}}.Encode()
	for _, tt := range []struct {
		name   string
		target string
		form   string
		change func(*http.Request)
		want   int
	}{
		{"from another website", "", form, header("Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
		{"from another website, in an old browser", "", form, header("Origin", "https://evil.example"), http.StatusForbidden},
		{"as JSON", "", `{"token":"x"}`, header("Content-Type", "application/json"), http.StatusUnsupportedMediaType},
		{"as multipart", "", form, header("Content-Type", "multipart/form-data; boundary=x"), http.StatusUnsupportedMediaType},
		{"without a type", "", form, header("Content-Type"), http.StatusUnsupportedMediaType},
		{"of two types", "", form, header("Content-Type", "application/x-www-form-urlencoded", "text/plain"), http.StatusUnsupportedMediaType},
		{"over 16 KiB", "", form + "&x=" + strings.Repeat("x", 16<<10), nil, http.StatusRequestEntityTooLarge},
		{"that is no form", "", form + "&x=%zz", nil, http.StatusBadRequest},
		{"with the token in the address", "?" + form, "", nil, http.StatusNotFound},
		{"with two tokens", "", form + "&" + form, nil, http.StatusNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var changes []func(*http.Request)
			if tt.change != nil {
				changes = append(changes, tt.change)
			}
			b.do(http.MethodPost, "/api/dd-setup"+tt.target, tt.form, changes...).is(t, tt.want)
			if c := b.stored(); c.Setup.Try != 0 {
				t.Errorf("setup = %+v, want none begun", c.Setup)
			}
		})
	}
}

// Programs that turn addresses in a text into links take what stands behind an address for a part of it.
func TestALinkOpensWithWhatStandsBehindItInASentence(t *testing.T) {
	b := newBench(t, setting{})
	for _, path := range []string{b.setupPath(), b.legalPath()} {
		for _, behind := range []string{".", ")", ">", "%20", ",", ").", "%C2%BB", "%E3%80%82"} {
			b.do(http.MethodGet, path+behind, "").is(t, http.StatusOK)
		}
	}
	for _, origin := range []string{"null", "", "https://pay.example"} { // of our own form, as browsers have it
		got := b.do(http.MethodPost, "/api/dd-setup", url.Values{"token": {b.token + "."}, "terms": {"x"}}.Encode(), func(r *http.Request) {
			r.Host = "pay.example"
			r.Header["Origin"] = []string{origin}
		})
		if got.status == http.StatusForbidden || got.status == http.StatusNotFound {
			t.Errorf("with Origin %q the form is answered %d", origin, got.status)
		}
	}
}

func TestPageThatIsOver(t *testing.T) {
	for _, tt := range []struct {
		name  string
		end   func(*bench)
		wants []string
	}{
		{"expired", func(b *bench) { b.now = b.now.Add(7 * 24 * time.Hour) }, []string{"This link has expired", "help@kowhai.example"}},
		{"provider not enabled", func(b *bench) {
			p := kowhai()
			p.APIEnabled = false
			b.configure(p)
		}, []string{"This page is not available", "You did nothing wrong."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, setting{})
			tt.end(b)
			for _, got := range []answer{b.get(b.setupPath()), b.get(b.legalPath()), b.begin()} {
				got.is(t, http.StatusGone)
				got.wants(t, tt.wants...)
				got.wants(t, `<a class="button" href="https://enrol.kowhai.example/cancelled" target="_top">Go back to Kōwhai Institute</a>`)
				got.lacks(t, "<form", "Hēmi", "53.65")
			}
		})
	}
}

func TestDonePage(t *testing.T) {
	b := newBench(t, setting{})
	b.setUp()
	b.now = b.now.Add(30 * 24 * time.Hour) // the token is over, the setup is not
	page := b.get(b.setupPath()).is(t, http.StatusOK)
	page.wants(t, "<h1>Bank details saved: one step left</h1>", "Your direct debit is set up", "Completed on",
		`data-notify="https://enrol.kowhai.example https://www.kowhai.example"`,
		`<script src="/api/dd-setup/assets/setup.js?v=`,
		`<a class="button" href="https://enrol.kowhai.example/done?from=bank" target="_top">`,
		`<strong class="whole">01-0902-•••••89-00.</strong>`, "Then you can read and print it here.", "Continue to Kōwhai Institute", "This link may stop working one day.")
	page.lacks(t, "<form", "enrol.kowhai.example/cancelled")

	again := b.begin().is(t, http.StatusSeeOther)
	if at := again.header.Get("Location"); at != baseURL+"/api/dd-setup?token="+b.token {
		t.Errorf("Location of another start = %q, want the setup page", at)
	}

	p := kowhai()
	p.SuccessURL, p.EnrolmentOrigins = "", nil
	b.configure(p)
	page = b.get(b.setupPath())
	page.wants(t, "You can close this page.")
	page.lacks(t, "data-notify")
}

func TestLegalPage(t *testing.T) {
	b := newBench(t, setting{})
	page := b.get(b.legalPath()).is(t, http.StatusOK)
	page.wants(t, "<h1>Direct debit and payment plan terms</h1>", "Kōwhai Institute", "Who can use the account", "10 calendar days", "120 calendar days", "9 months",
		"gave us the name and email address", "principle 3A", "Privacy Commissioner", `href="`+strings.ReplaceAll(b.setupPath(), "&", "&amp;")+`"`)
	page.lacks(t, "<form", "<script")

	page.wants(t, "By continuing to your bank details you accept the direct debit terms. "+
		"The payment plan’s terms are part of your agreement with the lender.")

	b.setUp()
	b.get(b.legalPath()).wants(t, "By continuing to your bank details you accepted the direct debit terms.")
}

func TestFailures(t *testing.T) {
	const again = `<a class="button" href="">Try again</a>` // leads to the page's own address
	t.Run("a busy store asks for patience", func(t *testing.T) {
		b := newBench(t, setting{})
		b.store.err = ports.ErrBusy
		read, sent := b.get(b.setupPath()), b.begin()
		read.wants(t, again)
		sent.lacks(t, again)
		for _, got := range []answer{read, sent} {
			got.is(t, http.StatusServiceUnavailable)
			if got.header.Get("Retry-After") == "" {
				t.Error("Retry-After is missing")
			}
		}
	})
	t.Run("anything else is logged under the request id, and not shown", func(t *testing.T) {
		b := newBench(t, setting{})
		b.store.err = errors.New("disk of dbx is on fire")
		got := b.get(b.setupPath()).is(t, http.StatusInternalServerError)
		id := got.header.Get("X-Request-Id")
		got.wants(t, id, again)
		got.lacks(t, "dbx", b.token)
		for _, want := range []string{id, "disk of dbx is on fire"} {
			if !strings.Contains(b.log.String(), want) {
				t.Errorf("the log lacks %q:\n%s", want, &b.log)
			}
		}
		if strings.Contains(b.log.String(), b.token) {
			t.Errorf("the log holds the setup token:\n%s", &b.log)
		}
	})
}
