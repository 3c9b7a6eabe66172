package agreement_test

import (
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
)

func TestAgreedNotice(t *testing.T) {
	consent := func(days int) agreement.Consent { return agreement.Consent{At: time.Unix(1, 0), NoticeDays: days} }
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
		got := agreement.AgreedNotice(tt.consent, tt.provider, day, money.BusinessDays)
		if every := agreement.AgreedNotice(tt.consent, tt.provider, day, money.EveryDay); every.NotBefore != day.AddDays(tt.want) {
			t.Errorf("%s: a collector of every day starts on %s, want %d days after %s", tt.name, every.NotBefore, tt.want, day)
		}
		if got.Days != tt.want || got.NotBefore.String() != tt.first {
			t.Errorf("%s: %d days, not before %s; want %d days, not before %s", tt.name, got.Days, got.NotBefore, tt.want, tt.first)
		}
	}
}

// Terms that read otherwise have another name.
func TestDebitTermsAreNamedByTheirWords(t *testing.T) {
	terms := agreement.DebitTerms{NoticeDays: 2, Provider: "Kōwhai Institute"}
	named := map[string]bool{terms.Name(): true}
	if version, _, _ := strings.Cut(terms.Name(), "/"); version != agreement.Version {
		t.Errorf("terms of version %q, want %q", version, agreement.Version)
	}
	for _, change := range []func(*agreement.DebitTerms){
		func(d *agreement.DebitTerms) { d.NoticeDays = 3 },
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
	usual.NoticeDays, ten.NoticeDays = 0, agreement.UsualNotice
	if usual.Name() != ten.Name() {
		t.Errorf("the usual notice is named %s, 10 days %s", usual.Name(), ten.Name())
	}
}

func TestConsentKnowsItsVersion(t *testing.T) {
	terms := agreement.DebitTerms{NoticeDays: 2, Provider: "Kōwhai Institute"}
	for _, tt := range []struct {
		consent agreement.Consent
		version string
		zero    bool
	}{
		{agreement.Consent{}, "", true},
		{agreement.Consent{At: time.Unix(1, 0)}, "", false},
		{agreement.Consent{At: time.Unix(1, 0), Terms: terms.Name(), NoticeDays: 2}, agreement.Version, false},
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
		days     int
		notice   string
		earliest string
	}{
		{0, "10 calendar days", "2027-02-04"},
		{1, "1 calendar day", "2027-01-26"},
		{2, "2 calendar days", "2027-01-27"},
		{30, "30 calendar days", "2027-02-24"},
	} {
		terms := agreement.DebitTerms{NoticeDays: tt.days}
		if terms.Notice() != tt.notice || terms.NoticeOn(day).NotBefore.String() != tt.earliest {
			t.Errorf("%d days: %q and %s, want %q and %s", tt.days, terms.Notice(), terms.NoticeOn(day).NotBefore, tt.notice, tt.earliest)
		}
	}
}
