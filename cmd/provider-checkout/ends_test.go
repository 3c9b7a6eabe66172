package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// served returns a sandbox over the operator's store.
func (o operator) served(t *testing.T) *sandbox.Sandbox {
	t.Helper()
	db := o.open(t)
	return sandbox.New(t, db, func(c *service.Config, _ *httpapi.Options) { c.Keyring = keyringOf(t, db) })
}

// entries returns how often the evidence log has an operation.
func (o operator) entries(t *testing.T, operation string) (n int) {
	t.Helper()
	for line := range strings.Lines(o.prints(t, "evidence", "list", "--json")) {
		var entry struct{ Operation, Reason string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		if entry.Operation == operation {
			n++
		}
	}
	return n
}

func TestCancelEndsACheckoutOnceAndSaysSo(t *testing.T) {
	o := newOperator(t)
	s := o.served(t)
	created := s.Create(t, "ENROL-1")
	id := created.String("checkout.checkout_id")
	says(t, o.prints(t, "cancel", id, "--reason", "wrong course"), id, "cancelled")
	says(t, o.prints(t, "cancel", id, "--reason", "another reason"), "before; nothing was changed")
	says(t, o.prints(t, "cancel", id, "--reason", "again", "--json"), `{"checkout_id":"`+id+`","repeated":true}`)
	if n := o.entries(t, "cancel"); n != 1 {
		t.Errorf("the evidence log has %d cancels, want one", n)
	}
	says(t, o.prints(t, "evidence", "list"), `cancel `+id, `because "wrong course"`)
	says(t, o.prints(t, "show", id), "cancelled by the operator", "wrong course")
	if got := s.Get(t, "KOWHAI", created.CheckoutPath()).String("checkout.status"); got != "cancelled" {
		t.Errorf("a poll answers %s", got)
	}
	o.fails(t, "there is no checkout", "cancel", "KOWHAI-1-aaaaaaaaaaaaaaaa", "--reason", "x")
	try(t, nil, "", "cancel", id, "--store", "sqlite:"+o.path).refuses(t, cli.ExitUsage, `"reason" not set`)
	o.fails(t, "must be at most 255 characters", "cancel", id, "--reason", strings.Repeat("x", 256))

	open := s.Create(t, "ENROL-2").String("checkout.checkout_id")
	o.fails(t, "must name no person", "cancel", open, "--reason", "Aroha asked for it")
	confirmed := s.Ready(t, "ENROL-3")
	s.Confirm(t, confirmed)
	o.fails(t, "is confirmed and cannot be cancelled", "cancel", confirmed.String("checkout.checkout_id"), "--reason", "x")
	if n := o.entries(t, "cancel"); n != 1 {
		t.Errorf("refused cancels are %d entries", n-1)
	}
}

func TestWithdrawEndsAnAgreementOnceAndItStillVerifies(t *testing.T) {
	o := newOperator(t)
	s := o.served(t)
	created := s.Ready(t, "ENROL-1")
	number := s.Confirm(t, created).String("agreement.number")
	for _, ground := range []string{"", "other", "Hardship"} {
		try(t, nil, "", "withdraw", number, "--ground", ground, "--reason", "x", "--store", "sqlite:"+o.path).refuses(t, cli.ExitUsage, "cooling-off, provider, hardship or error")
	}
	o.fails(t, "must name no person", "withdraw", number, "--ground", "hardship", "--reason", "ngata wrote")
	says(t, o.prints(t, "withdraw", number, "--ground", "cooling-off", "--reason", "by letter"), number, "withdrawn")
	says(t, o.prints(t, "withdraw", number, "--ground", "error", "--reason", "by letter", "--json"), `{"agreement_number":"`+number+`","repeated":true}`)
	if n := o.entries(t, "withdraw"); n != 1 {
		t.Errorf("the evidence log has %d withdrawals, want one", n)
	}
	says(t, o.prints(t, "evidence", "list"), "withdraw "+number, "ground: cooling-off", `because "by letter"`)
	says(t, o.prints(t, "show", number), "withdrawn, ground cooling-off", "withdrawn        operator:")
	if got := s.Get(t, "KOWHAI", created.CheckoutPath()); got.String("agreement.withdrawn_at") == "" {
		t.Errorf("a poll answers %s", got.Body)
	}
	saysNot(t, o.prints(t, "agreements", "verify", number), "FAIL")
	o.fails(t, "there is no agreement", "withdraw", "PPA-2026-00000000000", "--ground", "error", "--reason", "x")
}

func TestLinkSendsThePayerANewLinkAndShowsNone(t *testing.T) {
	o := newOperator(t)
	s := o.served(t)
	created := s.Create(t, "ENROL-1")
	id := created.String("checkout.checkout_id")
	token := created.String("direct_debit.token")
	stdout, stderr := o.does(t, "link", id)
	says(t, stdout, "goes to the e-mail address on record", id)
	saysNot(t, stdout+stderr, id+".", "@")
	says(t, o.prints(t, "link", id), "less than ten minutes ago")
	notices, err := s.Store.Jobs(t.Context(), checkout.JobFilter{CheckoutID: id, Kinds: []checkout.JobKind{checkout.JobNotify}}, 10)
	if err != nil || len(notices) != 1 || notices[0].Job.Name != string(checkout.NoticeOfLink) || o.entries(t, "link") != 1 {
		t.Errorf("notices %+v, %v, and %d entries; want one", notices, err, o.entries(t, "link"))
	}
	c, err := s.Store.Checkout(t.Context(), id)
	if text := s.Config.Keyring.MailedText(c); err != nil || text == "" || text == token || s.Config.Keyring.LatestText(c) != token {
		t.Errorf("the token of the e-mail is %q, the provider's %q, %v", text, s.Config.Keyring.LatestText(c), err)
	}
	cancelled := s.Create(t, "ENROL-2").String("checkout.checkout_id")
	o.does(t, "cancel", cancelled, "--reason", "wrong course")
	o.fails(t, "there is nothing to set up", "link", cancelled)
	o.fails(t, "there is nothing to set up", "link", s.Ready(t, "ENROL-3").String("checkout.checkout_id"))
}

// A clock that a provider has moved in the sandbox dates an end there, and the log says so too. In production it dates no end: nothing
// compares the records of a sandbox with the log.
func TestOnlyInTheSandboxAnEndIsAtTheTimeOfAMovedClock(t *testing.T) {
	for env, ahead := range map[catalogue.Environment]time.Duration{catalogue.Sandbox: 24 * time.Hour, catalogue.Production: 0} {
		o := newOperator(t)
		s := o.served(t)
		created := s.Ready(t, "ENROL-1")
		number := s.Confirm(t, created).String("agreement.number")
		key := checkout.Checkout{ProviderCode: "KOWHAI", OrderID: "ENROL-1"}.SetupKey(catalogue.Sandbox, 1)
		err := errors.Join(s.Store.KeepSandboxRecord(t.Context(), fakeprocessor.ScriptPrefix(key)+"0",
			[]byte(`{"scenario": "clock", "advance": 86400000000000, "nonce": "N"}`)),
			s.Store.ReplaceProviders(t.Context(), func(all []catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error) {
				for i := range all {
					all[i].Provider.Environment = env
				}
				return all, nil, nil
			}))
		if err != nil {
			t.Fatal(err)
		}
		before := time.Now().Add(ahead - time.Second)
		o.does(t, "withdraw", number, "--ground", "cooling-off", "--reason", "by letter")
		c, err := s.Store.Checkout(t.Context(), created.String("checkout.checkout_id"))
		if err != nil || c.End.At.Before(before) || c.End.At.After(time.Now().Add(ahead)) {
			t.Errorf("in %s withdrawn at %s, %v; want %s ahead", env, c.End.At, err, ahead)
		}
		saysNot(t, o.try(t, "agreements", "verify", "--all").stdout, "withdraw")
	}
}
