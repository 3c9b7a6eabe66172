package agreement_test

import (
	"reflect"
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
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%+v or %+v is %+v, want %+v", tt.a, tt.other, got, tt.want)
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
