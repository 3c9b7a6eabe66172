package agreement_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
)

// terms are an operator's.
func terms() agreement.Terms {
	return agreement.Terms{
		Lender: agreement.Lender{Name: "Pūtea Limited", Address: "1 Lambton Quay, Wellington 6011", Registration: "FSP000001"},
		Blocks: []agreement.Block{
			{Title: "Right to cancel", Text: "The payer can cancel the plan within 5 working days of this agreement."},
			{Title: "Hardship", Text: "A payer who cannot pay can ask the lender for a change of the plan."},
		},
	}
}

func TestTermsCheck(t *testing.T) {
	block := func(title, text string) func(*agreement.Terms) {
		return func(terms *agreement.Terms) { terms.Blocks[1] = agreement.Block{Title: title, Text: text} }
	}
	blocks := func(n int) func(*agreement.Terms) {
		return func(terms *agreement.Terms) {
			terms.Blocks = slices.Repeat([]agreement.Block{{Title: "title", Text: "text"}}, n)
		}
	}
	fees := func(amount money.Cents) agreement.FeeList {
		return agreement.FeeList{Stated: true, Fees: []agreement.Fee{{Name: "Fee", Amount: amount, When: "once"}}}
	}
	tests := []struct {
		name   string
		change func(*agreement.Terms)
		want   string // "" for no error
	}{
		{"whole terms are right", func(*agreement.Terms) {}, ""},
		{"so are none", func(t *agreement.Terms) { *t = agreement.Terms{} }, ""},
		{"and blocks without a lender", func(t *agreement.Terms) { t.Lender = agreement.Lender{} }, ""},
		{"a lender may have no registration", func(t *agreement.Terms) { t.Lender.Registration = "" }, ""},
		{"a lender has a name", func(t *agreement.Terms) { t.Lender.Name = "" }, "lender.name must be given"},
		{"and an address", func(t *agreement.Terms) { t.Lender.Address = "" }, "lender.address must be given"},
		{"a registration is a line", func(t *agreement.Terms) { t.Lender.Registration = strings.Repeat("ā", 256) },
			"lender.registration must have at most 255 characters"},
		{"an address is one too", func(t *agreement.Terms) { t.Lender.Address = "1 Lambton Quay\nWellington" },
			"lender.address must not contain control characters"},
		{"a block has a title", block("", "text"), "terms[1].title must be given"},
		{"and a text", block("title", ""), "terms[1].text must be given"},
		{"every fault is reported", block("", ""), "terms[1].title must be given\nterms[1].text must be given"},
		{"a title of 255 characters", block(strings.Repeat("ā", 255), "text"), ""},
		{"a title is a line", block(strings.Repeat("ā", 256), "text"), "terms[1].title must have at most 255 characters"},
		{"a text of 5000 characters", block("title", strings.Repeat("ā", 5000)), ""},
		{"a text ends", block("title", strings.Repeat("ā", 5001)), "terms[1].text must have at most 5000 characters"},
		{"a text has lines", block("title", "a\n\n(b) c"), ""},
		{"a title has none", block("a\nb", "text"), "terms[1].title must not contain control characters"},
		{"a tab is no text", block("title", "a\tb"), "terms[1].text must not contain control characters"},
		{"a text is more than lines", block("title", "\n"), "terms[1].text must hold a visible character"},
		{"fees", func(t *agreement.Terms) { t.DefaultFees = fees(1_00) }, ""},
		{"a fee has an amount", func(t *agreement.Terms) { t.DefaultFees = fees(0) }, "default_fees[0].amount must be above zero and at most $9,999,999.99"},
		{"and a name and an occasion", func(t *agreement.Terms) {
			t.DefaultFees = agreement.FeeList{Stated: true, Fees: []agreement.Fee{{Amount: 1}}}
		}, "default_fees[0].name must be given\ndefault_fees[0].when must be given"},
		{"21 fees", func(t *agreement.Terms) {
			t.DefaultFees.Stated, t.DefaultFees.Fees = true, slices.Repeat(fees(1).Fees, 21)
		}, "default_fees must be at most 20"},
		{"an authority", func(t *agreement.Terms) {
			t.Authority = agreement.Authority{AuthorisationCode: "0123456", Initiator: "Pūtea", Statement: "particulars KOWHAI PLANS", Calendar: money.BusinessDays}
		}, ""},
		{"every fault of an authority", func(t *agreement.Terms) {
			t.Authority = agreement.Authority{AuthorisationCode: "12345", Initiator: "a\nb", Statement: "a\tb", Calendar: "weekdays",
				Conditions: []agreement.Block{{Title: "a"}}}
		}, "authority.authorisation_code must be 7 digits\nauthority.initiator must not contain control characters\n" +
			"authority.statement must not contain control characters\n" +
			"authority.collection_days must be \"every_day\" or \"business_days\"\n" +
			"authority.conditions[0].text must be given"},
		{"a lender's e-mail is a line", func(t *agreement.Terms) { t.Lender.Email = "a\nb" }, "lender.email must not contain control characters"},
		{"what the law wants", func(t *agreement.Terms) {
			t.Disputes = agreement.DisputeScheme{Name: "A scheme", Contact: "0800 000 000"}
			t.Cancellation, t.Hardship = agreement.Cancellation{WorkingDays: 5, How: "Write:\n(a) soon"}, "help@putea.example"
		}, ""},
		{"half of it", func(t *agreement.Terms) {
			t.Disputes.Name, t.Cancellation.How, t.Hardship = "A scheme", "Write.", "a\tb"
		}, "dispute_resolution.contact must be given\ncancellation.working_days must be above zero\nhardship.contact must not contain control characters"},
		{"and the other half", func(t *agreement.Terms) {
			t.Disputes.Contact, t.Cancellation.WorkingDays = "0800 000 000", 5
		}, "dispute_resolution.scheme must be given\ncancellation.how must be given"},
		{"text is UTF-8", block("title\xff", "text"), "terms[1].title must be valid UTF-8"},
		{"text that changes its direction", block("title\u202e", "text"),
			"terms[1].title must not contain U+202E, which changes the direction of the text"},
		{"40 blocks", blocks(40), ""},
		{"blocks end", blocks(41), "terms must be at most 40"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			given, got := terms(), ""
			tt.change(&given)
			if err := given.Check(); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("Check() = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLines(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{"an order id  of the provider's", "an order id  of the provider's"},
		{"one\n\n two \nthree", "one|two|three"},
	} {
		if got := strings.Join(agreement.Lines(tt.text), "|"); got != tt.want {
			t.Errorf("Lines(%q) = %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestOnlyEmptyTermsAreZero(t *testing.T) {
	for _, tt := range []struct {
		terms agreement.Terms
		want  bool
	}{
		{agreement.Terms{}, true},
		{agreement.Terms{Blocks: []agreement.Block{}}, true},
		{agreement.Terms{Lender: agreement.Lender{Name: "Pūtea Limited"}}, false},
		{agreement.Terms{Blocks: []agreement.Block{{Title: "Hardship"}}}, false},
		{agreement.Terms{DefaultFees: agreement.FeeList{Stated: true}}, false},
		{agreement.Terms{Hardship: "0800 111 111"}, false},
		{agreement.Terms{Cancellation: agreement.Cancellation{WorkingDays: 5}}, false},
		{agreement.Terms{Disputes: agreement.DisputeScheme{Name: "A scheme"}}, false},
		{agreement.Terms{Authority: agreement.Authority{Statement: "PLAN"}}, false},
		{agreement.Terms{Authority: agreement.Authority{Calendar: money.EveryDay}}, false},
	} {
		if got := tt.terms.IsZero(); got != tt.want {
			t.Errorf("IsZero of %+v = %v, want %v", tt.terms, got, tt.want)
		}
	}
}

func TestAnAuthorityIsCompletedByAnother(t *testing.T) {
	whole := agreement.Authority{Initiator: "Pūtea", AuthorisationCode: "0123456", Statement: "PUTEA", Form: "GoCardless",
		Calendar: money.BusinessDays, Conditions: []agreement.Block{{Title: "a", Text: "b"}}}
	other := agreement.Authority{Initiator: "Rimu", AuthorisationCode: "7", Statement: "RIMU", Form: "Kōwhai", Calendar: money.EveryDay,
		Conditions: []agreement.Block{{Title: "c", Text: "d"}}}
	for _, tt := range []struct{ a, other, want agreement.Authority }{
		{whole, other, whole}, {agreement.Authority{}, whole, whole}, {whole, agreement.Authority{}, whole},
		{agreement.Authority{Initiator: "Pūtea"}, agreement.Authority{Initiator: "Rimu", Statement: "RIMU"},
			agreement.Authority{Initiator: "Pūtea", Statement: "RIMU"}},
	} {
		got := tt.a.Or(tt.other)
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%+v or %+v is %+v, want %+v", tt.a, tt.other, got, tt.want)
		}
	}
}

func TestCancelUntil(t *testing.T) {
	for _, tt := range []struct {
		name        string
		sent        string
		workingDays int
		want        string
	}{
		{"two weeks without a holiday", "2027-03-01", 5, "2027-03-10"},
		{"one working day", "2027-03-01", 1, "2027-03-04"},
		{"sent on a Saturday", "2027-03-06", 5, "2027-03-16"},
		{"over Christmas, when 1 January is a Friday", "2026-12-21", 5, "2027-01-08"},
		{"on Christmas Eve", "2026-12-24", 5, "2027-01-13"},
		{"on a day after Christmas that is no public holiday", "2026-12-30", 5, "2027-01-13"},
		{"over Christmas, when 1 January is a Saturday", "2027-12-24", 5, "2028-01-13"},
		{"over Christmas, when 1 January is a Sunday", "2033-12-23", 5, "2034-01-12"},
		{"over Christmas, when 1 January is a Monday", "2028-12-22", 5, "2029-01-11"},
		{"over Waitangi Day", "2026-02-02", 5, "2026-02-12"},
		{"over a Waitangi Day that is kept on the Monday", "2027-02-01", 5, "2027-02-11"},
		{"over Easter", "2027-03-22", 5, "2027-04-02"},
		{"over an Anzac Day that is kept on the Monday", "2027-04-21", 5, "2027-05-03"},
		{"over Matariki", "2027-06-21", 5, "2027-07-01"},
		{"a regional anniversary is a working day", "2027-01-25", 5, "2027-02-03"}, // Auckland's, on Monday 1 February
		{"terms that do not say", "2027-03-01", 0, "0000-00-00"},
	} {
		day, err := time.Parse(time.DateOnly, tt.sent)
		if err != nil {
			t.Fatal(err)
		}
		if got := (agreement.Cancellation{WorkingDays: tt.workingDays}).Until(money.DateOf(day)); got.String() != tt.want {
			t.Errorf("%s: sent on %s, %d working days end on %s, want %s", tt.name, tt.sent, tt.workingDays, got, tt.want)
		}
	}
}

// Whatever the day, between it and the last day lie as many weekdays as the Act gives, or more, and the last day is no holiday.
func TestCancelUntilIsNeverTooSoon(t *testing.T) {
	for day := (money.Date{Year: 2026, Month: time.January, Day: 1}); day.Year < 2037; day = day.AddDays(1) {
		until := agreement.Cancellation{WorkingDays: 5}.Until(day)
		business := 0
		for d := day; d != until; {
			if d = d.AddDays(1); d.IsBusinessDay() {
				business++
			}
		}
		if business < 7 || business > 10 || !until.IsBusinessDay() {
			t.Fatalf("sent on %s a plan can be cancelled until %s, after %d business days; want 7, and up to 3 more over Christmas", day, until, business)
		}
	}
}

func TestRightsOfEmptyTerms(t *testing.T) {
	if rows := (agreement.Terms{}).Rights(); len(rows) != 0 {
		t.Errorf("empty terms give the rights %q", rows)
	}
	if rows := (agreement.Agreement{Version: "2020-01-01", Terms: terms()}).Rights(); rows != nil {
		t.Errorf("an agreement in unknown words gives the rights %q", rows)
	}
}
