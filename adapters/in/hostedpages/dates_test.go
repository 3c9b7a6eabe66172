package hostedpages_test

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

var (
	tableRow = regexp.MustCompile(`<th scope="rowgroup" colspan="4">([^<]+)</th>|<tr><td>\d+</td><th scope="row">([^<]+)</th>`)
	longDate = regexp.MustCompile(`[A-Z][a-z]+day \d{1,2} [A-Z][a-z]+ \d{4}`)
)

// planned returns the dates of a page's table of payments, as they are read.
func (a answer) planned() (dates []string) {
	month := ""
	for _, found := range tableRow.FindAllStringSubmatch(a.body, -1) {
		if found[1] != "" {
			month = found[1]
			continue
		}
		dates = append(dates, found[2]+" "+month)
	}
	return dates
}

// long writes dates as pages do.
func long(payments []money.Payment) (texts []string) {
	for _, p := range payments {
		texts = append(texts, p.Taken.Long())
	}
	return texts
}

func TestEveryPageSaysTheDatesOfCollection(t *testing.T) {
	day := func(year int, month time.Month, day int) money.Date {
		return money.Date{Year: year, Month: month, Day: day}
	}
	today := day(2027, time.January, 21) // of the bench, in New Zealand
	for _, tt := range []struct {
		name      string
		first     money.Date
		frequency money.Frequency
		notice    int // days; 0 for the usual 10
		deferred  bool
	}{
		{"a first date in the past", day(2026, time.December, 1), money.Weekly, 0, true},
		{"a first date years in the past", day(2001, time.January, 31), money.Monthly, 0, true},
		{"a first date today", today, money.Fortnightly, 0, true},
		{"a first date within the notice", day(2027, time.January, 28), money.Weekly, 0, true},
		{"a first date on the day before the first lawful one", day(2027, time.January, 30), money.Weekly, 0, true},
		{"a first date on the first lawful day", day(2027, time.January, 31), money.Monthly, 0, false},
		{"a first date after the notice", day(2027, time.February, 1), money.Weekly, 0, false},
		{"a first date within a short notice", day(2027, time.January, 22), money.Weekly, 2, true},
		{"a first date after a short notice", day(2027, time.January, 23), money.Weekly, 2, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			create := order()
			create.First, create.Frequency = checkout.Some(tt.first), checkout.Some(string(tt.frequency))
			b := newBench(t, setting{terms: inShort(tt.notice), create: create})
			days := tt.notice
			if days == 0 {
				days = 10
			}
			schedule := b.stored().Schedule()
			// check compares a page with the dates of a confirm on a day.
			check := func(name string, page answer, confirmed, until money.Date) (first string) {
				t.Helper()
				notice := agreement.Notice{Period: agreement.NoticePeriod{Days: days}, NotBefore: confirmed.AddDays(days)}
				want := long(money.EveryDay.Payments(schedule, tt.frequency, notice.Start(tt.first, money.EveryDay)))
				if got := page.planned(); !slices.Equal(got, want) {
					t.Errorf("%s: payments on %q, want %q", name, got, want)
				}
				said := "The first payment was planned for " + tt.first.Long() + ", which is too soon: the payer must get notice of a payment some days before it. " +
					"The payments start on " + want[0] + " instead."
				for _, found := range longDate.FindAllString(page.body, -1) {
					if !slices.Contains(want, found) && found != tt.first.Long() && found != today.Long() && found != until.Long() &&
						found != notice.NotBefore.Long() {
						t.Errorf("%s: names %s, on which nothing is collected", name, found)
					}
				}
				page.reads(t, "No payment is taken before "+notice.NotBefore.Long())
				if tt.deferred {
					page.reads(t, said)
				} else {
					page.lacks(t, "which is too soon")
				}
				return want[0]
			}
			link := today.AddDays(7)
			check("open page", b.get(b.setupPath()), today, link)

			legal := b.get(b.legalPath())
			legal.reads(t, "If the first payment is planned for an earlier day, it moves to the first possible day, and the other payments follow as far apart as planned.")
			if found := longDate.FindAllString(legal.body, -1); found != nil {
				t.Errorf("the legal page names the dates %q, want the rule alone", found)
			}

			b.setUp()
			first := check("done page", b.get(b.setupPath()), today, link)
			b.get(b.setupPath()).reads(t, "The first payment is planned for "+first+".")
			b.poll()
			b.confirm(create.First)
			b.now = b.now.Add(100 * 24 * time.Hour) // what was agreed stays
			agreed, err := b.store.Agreement(t.Context(), b.id)
			if err != nil {
				t.Fatal(err)
			}
			check("payer's page", b.get(b.setupPath()), today, checkout.PageLasts(agreed))
		})
	}
}

func TestDatesOfAnUnconfirmedPlanMoveWithTheDay(t *testing.T) {
	create := order()
	create.First = checkout.Some(money.Date{Year: 2027, Month: time.January, Day: 25})
	b := newBench(t, setting{create: create})
	for _, want := range []string{"Sunday 31 January 2027", "Monday 1 February 2027", "Tuesday 2 February 2027"} {
		if got := b.get(b.setupPath()).planned()[0]; got != want {
			t.Errorf("at %s the first payment is on %s, want %s", b.now, got, want)
		}
		b.now = b.now.Add(24 * time.Hour)
	}
}
