package hostedpages_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

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
