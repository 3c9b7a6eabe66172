package agreement_test

import (
	"slices"
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
)

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
		if len(got.Contradicted(tt.want)) > 0 || got.Form != tt.want.Form || !slices.Equal(got.Conditions, tt.want.Conditions) {
			t.Errorf("%+v or %+v is %+v, want %+v", tt.a, tt.other, got, tt.want)
		}
	}
}

// Terms that say the same as the processor, or nothing, contradict nothing.
func TestTermsAreContradictedFieldByField(t *testing.T) {
	said := agreement.Authority{Initiator: "Rimu College", AuthorisationCode: "0200001", Statement: "Rimu College", Form: "GoCardless",
		Calendar: money.BusinessDays}
	for _, tt := range []struct {
		name  string
		terms agreement.Authority
		want  []string
	}{
		{"nothing", agreement.Authority{}, nil},
		{"the same", agreement.Authority{Initiator: "Rimu College", AuthorisationCode: "0200001", Calendar: money.BusinessDays}, nil},
		{"conditions alone", agreement.Authority{Conditions: []agreement.Block{{Title: "a", Text: "b"}}}, nil},
		{"all otherwise", agreement.Authority{Initiator: "Pūtea", AuthorisationCode: "0123456", Statement: "particulars PUTEA", Calendar: money.EveryDay}, []string{
			`authority.initiator: the terms say "Pūtea", and the processor "Rimu College"`,
			`authority.authorisation_code: the terms say "0123456", and the processor "0200001"`,
			`authority.particulars, code and reference: the terms say "particulars PUTEA", and the processor "Rimu College"`,
			`authority.collection_days: the terms say "every_day", and the processor "business_days"`}},
	} {
		if got := tt.terms.Contradicted(said); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if got := tt.terms.Contradicted(agreement.Authority{}); got != nil {
			t.Errorf("%s: a processor that says nothing contradicts %q", tt.name, got)
		}
	}
}

func TestPayersAreToldWhoDebits(t *testing.T) {
	for want, terms := range map[string]agreement.DebitTerms{
		"The operator of this service takes the payments from the account by direct debit.": {},
		"Pūtea Limited takes the payments from the account by direct debit.":                {Lender: agreement.Lender{Name: "Pūtea Limited"}},
		"Rimu takes the payments from the account by direct debit. The banks know it by the authorisation code 0123456. " +
			"On the bank statement each payment shows as RIMU.": {
			Lender:    agreement.Lender{Name: "Pūtea Limited"},
			Authority: agreement.Authority{Initiator: "Rimu", AuthorisationCode: "0123456", Statement: "RIMU"}},
	} {
		if got := terms.Debits(); got != want {
			t.Errorf("%+v: %q, want %q", terms, got, want)
		}
	}
}
