package gocardless_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

func TestReadinessIsThatOfTheScheme(t *testing.T) {
	for status, want := range map[string]string{"active": "", "pending": "scheme identifier is pending",
		gocardlesstest.NoScheme: "scheme identifier is missing"} {
		b := newBench(t, func(o *gocardlesstest.Options, _ *gocardless.Options) {
			o.Creditors = []gocardlesstest.Creditor{{ID: account.ID, SchemeStatus: status}}
		})
		err := b.Ready(t.Context())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: Ready = %v, want %q", status, err, want)
		}
	}
}

func TestAccountIsCheckedByItsCreditor(t *testing.T) {
	b := newBench(t, func(o *gocardlesstest.Options, _ *gocardless.Options) {
		o.Creditors = []gocardlesstest.Creditor{{ID: "CR1", MinimumAdvanceNotice: 3}, {ID: "CR2", MinimumAdvanceNotice: 5},
			{ID: "CR3", SchemeStatus: "pending"}}
	})
	for _, tt := range []struct {
		id    string
		days  int
		error string
	}{
		{"CR1", 3, ""}, {"CR2", 5, ""}, {"any", 0, `has 3 creditors, and the account id "any" is none of theirs: name one, CR…`}, {"CR3", 0, "is pending"},
		{"CR4", 0, "has no creditor CR4"},
	} {
		creditor, err := b.CheckAccount(t.Context(), checkout.Account{ID: tt.id})
		if tt.error == "" && err != nil || tt.error != "" && (err == nil || !strings.Contains(err.Error(), tt.error)) || creditor.Notice != tt.days {
			t.Errorf("CheckAccount(%s) = %d, %v; want %d, %q", tt.id, creditor.Notice, err, tt.days, tt.error)
		}
	}
}

// Documents name the initiator as the payer's bank knows it, not the creditor as its own account does.
func TestCreditorsSayWhoDebits(t *testing.T) {
	b := newBench(t, func(o *gocardlesstest.Options, _ *gocardless.Options) {
		o.Creditors = []gocardlesstest.Creditor{{ID: "CR1", Name: "Rimu College Limited", SchemeName: "RIMU COLLEGE", Reference: "0212345"}}
	})
	want := agreement.Authority{Initiator: "RIMU COLLEGE", AuthorisationCode: "0212345", Statement: "RIMU COLLEGE", Form: "GoCardless"}
	for _, id := range []string{"CR1", "any"} {
		if got, err := b.CheckAccount(t.Context(), checkout.Account{ID: id}); err != nil || !reflect.DeepEqual(got.Authority, want) {
			t.Errorf("%s: %+v, %v; want %+v", id, got, err, want)
		}
	}
}

// However often readiness is asked for, GoCardless is asked once a minute.
func TestReadinessIsCached(t *testing.T) {
	b := newBench(t)
	for range 5 {
		if err := b.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	b.sim.Advance(time.Minute)
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.sim.Statistics().Calls["GET /creditors"]; got != 2 {
		t.Errorf("%d calls, want 2", got)
	}
}

func TestOptionsAreRefusedWithEveryReason(t *testing.T) {
	const live, sandbox = "https://api.gocardless.com", "https://api-sandbox.gocardless.com"
	for _, tt := range []struct {
		name string
		o    gocardless.Options
		want []string // in the error; nil if they are accepted
	}{
		{"the sandbox", gocardless.Options{Environment: catalogue.Sandbox, Token: "t"}, nil},
		{"production", gocardless.Options{Environment: catalogue.Production, Token: "t"}, nil},
		{"a simulator", gocardless.Options{Environment: catalogue.Sandbox, Token: "t", URL: "http://127.0.0.1:8090"}, nil},
		{"nothing", gocardless.Options{}, []string{"environment", "token is missing"}},
		{"a token with a line feed", gocardless.Options{Environment: catalogue.Sandbox, Token: "t\n"}, []string{"access token has a character"}},
		{"the live host in the sandbox", gocardless.Options{Environment: catalogue.Sandbox, Token: "t", URL: live}, []string{"live host"}},
		{"the sandbox host in production", gocardless.Options{Environment: catalogue.Production, Token: "t", URL: sandbox}, []string{"sandbox host"}},
		{"a simulator in production", gocardless.Options{Environment: catalogue.Production, Token: "t", URL: "http://127.0.0.1:8090"}, []string{"must be https"}},
		{"http to another host", gocardless.Options{Environment: catalogue.Sandbox, Token: "t", URL: "http://pay.example"}, []string{"must be https"}},
		{"no URL", gocardless.Options{Environment: catalogue.Sandbox, Token: "t", URL: "pay"}, []string{"not a scheme and a host"}},
	} {
		p, err := gocardless.New(tt.o)
		if tt.want == nil {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			} else if info := p.Info(); info.Environment != tt.o.Environment || len(info.PageOrigins) != 1 {
				t.Errorf("%s: %+v", tt.name, info)
			}
			continue
		}
		for _, want := range tt.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", tt.name, err, want)
			}
		}
	}
}
