package main

import (
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/checkout"
)

func TestCancelEndsACheckoutOnceAndSaysSo(t *testing.T) {
	o := newOperator(t)
	s := o.served(t)
	created := s.Create(t, "ENROL-1")
	id := created.String("checkout.checkout_id")
	says(t, o.prints(t, "cancel", id, "--reason", "wrong course"), id, "cancelled")
	says(t, o.prints(t, "cancel", id, "--reason", "another reason"), "before; nothing was changed")
	if did := o.acts(t, "cancel"); len(did) != 1 || did[0].Subject != id || did[0].Reason != "wrong course" {
		t.Errorf("the cancels on record are %+v, want the first", did)
	}
	says(t, o.prints(t, "acts"), `cancel `+id, `because "wrong course"`)
	says(t, o.prints(t, "show", id), "cancelled by the operator", "wrong course")
	if got := s.Get(t, "KOWHAI", created.CheckoutPath()).String("checkout.status"); got != "cancelled" {
		t.Errorf("a poll answers %s", got)
	}
	o.fails(t, "there is no checkout", "cancel", "KOWHAI-1-aaaaaaaaaaaaaaaa", "--reason", "x")
	try(t, nil, "", "cancel", id, "--store", "sqlite:"+o.path).refuses(t, exitUsage, "missing flags: --reason=")
	o.fails(t, "must be at most 255 characters", "cancel", id, "--reason", strings.Repeat("x", 256))

	open := s.Create(t, "ENROL-2").String("checkout.checkout_id")
	o.fails(t, "must name no person", "cancel", open, "--reason", "Aroha asked for it")
	confirmed := s.Ready(t, "ENROL-3")
	s.Confirm(t, confirmed)
	o.fails(t, "is confirmed and cannot be cancelled", "cancel", confirmed.String("checkout.checkout_id"), "--reason", "x")
	if did := o.acts(t, "cancel"); len(did) != 1 {
		t.Errorf("refused cancels are on record: %+v", did[1:])
	}
}

func TestWithdrawEndsAnAgreementOnceAndItStillVerifies(t *testing.T) {
	o := newOperator(t)
	s := o.served(t)
	created := s.Ready(t, "ENROL-1")
	number := s.Confirm(t, created).String("agreement.number")
	for _, ground := range []string{"", "other", "Hardship"} {
		try(t, nil, "", "withdraw", number, "--ground", ground, "--reason", "x", "--store", "sqlite:"+o.path).refuses(t, exitUsage, `must be one of "cooling-off","provider","hardship","error"`)
	}
	o.fails(t, "must name no person", "withdraw", number, "--ground", "hardship", "--reason", "ngata wrote")
	says(t, o.prints(t, "withdraw", number, "--ground", "cooling-off", "--reason", "by letter"), number, "withdrawn")
	says(t, o.prints(t, "withdraw", number, "--ground", "error", "--reason", "by letter"), "before; nothing was changed")
	if did := o.acts(t, "withdraw"); len(did) != 1 {
		t.Errorf("the withdrawals on record are %+v, want one", did)
	}
	says(t, o.prints(t, "acts"), "withdraw "+created.String("checkout.checkout_id"), number, "ground: cooling-off", `because "by letter"`)
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
	says(t, stdout, "queued", "goes to the e-mail address on record once a server with a mail server (--smtp) runs", id)
	saysNot(t, stdout+stderr, id+".", "@")
	says(t, o.prints(t, "link", id), "less than ten minutes ago")
	notices, err := s.Store.Jobs(t.Context(), checkout.JobFilter{CheckoutID: id, Kinds: []checkout.JobKind{checkout.JobNotify}}, 10)
	if err != nil || len(notices) != 1 || notices[0].Job.Name != string(checkout.NoticeOfLink) || len(o.acts(t, "link")) != 1 {
		t.Errorf("notices %+v, %v, and the acts %+v; want one", notices, err, o.acts(t, "link"))
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
