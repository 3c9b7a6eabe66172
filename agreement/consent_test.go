package agreement_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
)

func TestAgreedNotice(t *testing.T) {
	consent := func(days int) agreement.Consent {
		return agreement.Consent{At: time.Unix(1, 0), Period: agreement.NoticePeriod{Days: days}}
	}
	day := money.Date{Year: 2027, Month: time.January, Day: 31} // a Sunday
	for _, tt := range []struct {
		name     string
		consent  agreement.Consent
		provider int
		want     int
		first    string // business day after that
	}{
		{"what was read counts, whatever the provider's is now", consent(2), 5, 2, "2027-02-02"},
		{"without a consent the usual counts", agreement.Consent{}, 0, 10, "2027-02-10"},
		{"or what the provider gives beyond it", agreement.Consent{}, 30, 30, "2027-03-02"},
		{"but no less", consent(0), 2, 10, "2027-02-10"},
		{"a weekend and a holiday pass", consent(6), 6, 6, "2027-02-09"}, // Waitangi Day, kept on Monday the 8th
	} {
		own := agreement.NoticePeriod{Days: tt.provider}
		got := agreement.AgreedNotice(tt.consent, own, day, money.BusinessDays)
		if every := agreement.AgreedNotice(tt.consent, own, day, money.EveryDay); every.NotBefore != day.AddDays(tt.want) {
			t.Errorf("%s: a collector of every day starts on %s, want %d days after %s", tt.name, every.NotBefore, tt.want, day)
		}
		if got.Period.Days != tt.want || got.NotBefore.String() != tt.first {
			t.Errorf("%s: %d days, not before %s; want %d days, not before %s", tt.name, got.Period.Days, got.NotBefore, tt.want, tt.first)
		}
	}
}

// Terms that read otherwise have another name.
func TestDebitTermsAreNamedByTheirWords(t *testing.T) {
	terms := agreement.DebitTerms{Period: agreement.NoticePeriod{Days: 2}, Provider: "Kōwhai Institute"}
	named := map[string]bool{terms.Name(): true}
	if version, _, _ := strings.Cut(terms.Name(), "/"); version != agreement.Version {
		t.Errorf("terms of version %q, want %q", version, agreement.Version)
	}
	for _, change := range []func(*agreement.DebitTerms){
		func(d *agreement.DebitTerms) { d.Period.Days = 3 },
		func(d *agreement.DebitTerms) { d.Period.Business = true },
		func(d *agreement.DebitTerms) { d.Provider = "Rimu College" },
		func(d *agreement.DebitTerms) { d.Lender.Name = "Pūtea Limited" },
		func(d *agreement.DebitTerms) { d.Authority.AuthorisationCode = "0123456" },
		func(d *agreement.DebitTerms) { d.Authority.Initiator = "Pūtea Limited" },
		func(d *agreement.DebitTerms) { d.Authority.Statement = "particulars KOWHAI" },
		func(d *agreement.DebitTerms) { d.Authority.Form = "GoCardless" },
		func(d *agreement.DebitTerms) { d.Authority.Conditions = []agreement.Block{{Title: "a", Text: "b"}} },
	} {
		other := terms
		change(&other)
		if named[other.Name()] {
			t.Errorf("%+v has the name of other terms, %s", other, other.Name())
		}
		named[other.Name()] = true
	}
	usual, ten := terms, terms
	usual.Period.Days, ten.Period.Days = 0, agreement.UsualNotice
	if usual.Name() != ten.Name() {
		t.Errorf("the usual notice is named %s, 10 days %s", usual.Name(), ten.Name())
	}
}

func TestConsentKnowsItsVersion(t *testing.T) {
	terms := agreement.DebitTerms{Period: agreement.NoticePeriod{Days: 2}, Provider: "Kōwhai Institute"}
	for _, tt := range []struct {
		consent agreement.Consent
		version string
		zero    bool
	}{
		{agreement.Consent{}, "", true},
		{agreement.Consent{At: time.Unix(1, 0)}, "", false},
		{agreement.Consent{At: time.Unix(1, 0), Terms: terms.Name(), Period: agreement.NoticePeriod{Days: 2}}, agreement.Version, false},
		{agreement.Consent{Terms: "2026-11-20/10/0123456789abcdef"}, "2026-11-20", false},
	} {
		if tt.consent.Version() != tt.version || tt.consent.IsZero() != tt.zero {
			t.Errorf("%+v is of version %q, zero %v; want %q, %v", tt.consent, tt.consent.Version(), tt.consent.IsZero(), tt.version, tt.zero)
		}
	}
}

func TestNoticeOfDebitTerms(t *testing.T) {
	day := money.Date{Year: 2027, Month: time.January, Day: 25}
	for _, tt := range []struct {
		period   agreement.NoticePeriod
		words    string
		earliest string
		usual    bool // or longer
	}{
		{agreement.NoticePeriod{}, "10 calendar days", "2027-02-04", true},
		{agreement.NoticePeriod{Days: 1}, "1 calendar day", "2027-01-26", false},
		{agreement.NoticePeriod{Days: 2}, "2 calendar days", "2027-01-27", false},
		{agreement.NoticePeriod{Days: 30}, "30 calendar days", "2027-02-24", true},
		{agreement.NoticePeriod{Days: 1, Business: true}, "1 business day", "2027-01-26", false},
		{agreement.NoticePeriod{Days: 10, Business: true}, "10 business days", "2027-02-09", false}, // Waitangi Day is kept on the 8th
	} {
		terms := agreement.DebitTerms{Period: tt.period}
		if got := terms.NoticeOn(day).NotBefore.String(); tt.period.String() != tt.words || got != tt.earliest || tt.period.Usual() != tt.usual {
			t.Errorf("%+v: %q, not before %s, usual %v; want %q, %s, %v",
				tt.period, tt.period, got, tt.period.Usual(), tt.words, tt.earliest, tt.usual)
		}
	}
}

func TestBusinessDaysAreOfFrequentPayments(t *testing.T) {
	terms := agreement.Terms{NoticeDays: 7, FrequentNotice: 3}
	frequent, other := agreement.NoticePeriod{Days: 3, Business: true}, agreement.NoticePeriod{Days: 7}
	for f, want := range map[money.Frequency]agreement.NoticePeriod{money.Weekly: frequent, money.Fortnightly: frequent, money.Monthly: other} {
		if got := terms.Period(f); got != want {
			t.Errorf("%s: %s, want %s", f, got, want)
		}
	}
	if got := (agreement.Terms{}).Period(money.Weekly); got.String() != "10 calendar days" {
		t.Errorf("without a period of their own: %s", got)
	}
}

// disclosed is the disclosure of a plan of three payments, with every field of the terms.
func disclosed() agreement.Disclosure {
	t := lawful()
	t.Authority = agreement.Authority{AuthorisationCode: "0123456", Initiator: "Pūtea Collections", Statement: "particulars KOWHAI",
		Conditions: []agreement.Block{{Title: "Conditions", Text: "First.\nSecond."}}}
	t.Blocks = []agreement.Block{{Title: "Changes", Text: "Tell us.\n\nSoon."}}
	t.DefaultFees.Fees = []agreement.Fee{{Name: "Dishonour fee", Amount: 10_00, When: "for each payment that the bank refuses"}}
	plan := money.Plan{Frequency: money.Weekly, Instalments: money.Instalments{Number: 2, Regular: 50_00, Final: 50_01},
		First: money.Date{Year: 2026, Month: time.December, Day: 21}}
	return agreement.Disclosure{
		DebitTerms: agreement.DebitTerms{Period: agreement.NoticePeriod{Days: 2}, Provider: "Kōwhai Institute", Lender: t.Lender, Authority: t.Authority},
		Terms:      t, Course: "Diploma in Business", Pricing: money.Pricing{Price: 120_01, Upfront: 20_00, Principal: 100_01},
		Payments: money.BusinessDays.Payments(money.Schedule(20_00, plan), plan.Frequency, plan.First),
	}
}

func TestDisclosureHasOneText(t *testing.T) {
	text := disclosed().Text()
	compare(t, "disclosure.txt", text)
	if sum := sha256.Sum256([]byte(text)); disclosed().SHA256() != hex.EncodeToString(sum[:]) {
		t.Errorf("the SHA-256 is %s, that of the text %x", disclosed().SHA256(), sum)
	}
	if name := disclosed().Name(); name != disclosed().DebitTerms.Name()+"/"+disclosed().SHA256() {
		t.Errorf("the name is %s", name)
	}
}

// A disclosure that differs in anything that a payer reads has another text.
func TestDisclosuresThatDifferHaveOtherTexts(t *testing.T) {
	texts := map[string]bool{disclosed().Text(): true}
	for name, change := range map[string]func(*agreement.Disclosure){
		"provider":     func(d *agreement.Disclosure) { d.DebitTerms.Provider = "Rimu College" },
		"notice":       func(d *agreement.Disclosure) { d.DebitTerms.Period.Days = 3 },
		"code":         func(d *agreement.Disclosure) { d.DebitTerms.Authority.AuthorisationCode = "7654321" },
		"conditions":   func(d *agreement.Disclosure) { d.DebitTerms.Authority.Conditions = nil },
		"course":       func(d *agreement.Disclosure) { d.Course = "Certificate" },
		"price":        func(d *agreement.Disclosure) { d.Pricing.Price++ },
		"amount":       func(d *agreement.Disclosure) { d.Payments[1].Amount++ },
		"type":         func(d *agreement.Disclosure) { d.Payments[1].Type = money.FinalInstalment },
		"day":          func(d *agreement.Disclosure) { d.Payments[2].Taken = d.Payments[2].Taken.AddDays(1) },
		"planned day":  func(d *agreement.Disclosure) { d.Payments[0].Due = d.Payments[0].Due.AddDays(-2) },
		"a payment":    func(d *agreement.Disclosure) { d.Payments = d.Payments[:2] },
		"lender":       func(d *agreement.Disclosure) { d.Terms.Lender.Name = "Other" },
		"address":      func(d *agreement.Disclosure) { d.Terms.Lender.Address = "2 Quay" },
		"registration": func(d *agreement.Disclosure) { d.Terms.Lender.Registration = "FSP2" },
		"e-mail":       func(d *agreement.Disclosure) { d.Terms.Lender.Email = "" },
		"no lender":    func(d *agreement.Disclosure) { d.Terms.Lender = agreement.Lender{} },
		"scheme":       func(d *agreement.Disclosure) { d.Terms.Disputes.Name = "Other" },
		"contact":      func(d *agreement.Disclosure) { d.Terms.Disputes.Contact = "0800 222 222" },
		"working days": func(d *agreement.Disclosure) { d.Terms.Cancellation.WorkingDays = 10 },
		"pay within":   func(d *agreement.Disclosure) { d.Terms.Cancellation.PayWithin = 20 },
		"how":          func(d *agreement.Disclosure) { d.Terms.Cancellation.How = "Call." },
		"hardship":     func(d *agreement.Disclosure) { d.Terms.Hardship = "0800 222 222" },
		"fee":          func(d *agreement.Disclosure) { d.Terms.DefaultFees.Fees[0].Amount++ },
		"no fees":      func(d *agreement.Disclosure) { d.Terms.DefaultFees = agreement.FeeList{} },
		"block":        func(d *agreement.Disclosure) { d.Terms.Blocks[0].Text = "Tell us." },
		"title":        func(d *agreement.Disclosure) { d.Terms.Blocks[0].Title = "Change" },
		"a value that reads like a label": func(d *agreement.Disclosure) {
			d.Terms.Blocks[0].Text = "Tell us.\nConditions:\nFirst."
		},
	} {
		other := disclosed()
		change(&other)
		if text := other.Text(); texts[text] {
			t.Errorf("another %s has the text\n%s", name, text)
		} else {
			texts[text] = true
		}
	}
}
