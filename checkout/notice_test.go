package checkout_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// begun returns a checkout whose payer has gone on to the bank setup, and what the processor says when that is complete.
func begun(t *testing.T) (checkout.Checkout, checkout.Observation) {
	t.Helper()
	c, _ := ready(t)
	complete := c.Setup.Observation
	c.Setup = checkout.Setup{}
	return c.Begun(1, "BR1", agreement.Consent{}).Next, complete
}

// A mandate that was cancelled and reinstated is the one of which the payer knows; another try has another.
func TestANoticeIsOfOneSetup(t *testing.T) {
	c, complete := begun(t)
	at := func(m checkout.MandateStatus, hours int) checkout.Observation {
		seen := complete
		seen.Mandate, seen.MandateSince = m, noon.Add(time.Duration(hours)*time.Hour)
		return seen
	}
	first := c.Observe(at(checkout.MandateActive, 0), noon)
	dead := first.Next.Observe(at(checkout.MandateCancelled, 1), noon).Next
	back := dead.Observe(at(checkout.MandateActive, 2), noon.Add(time.Hour))
	if len(notices(back)) != 1 || notices(back)[0].ID != notices(first)[0].ID {
		t.Errorf("reinstated: notices %+v, want that of %+v", notices(back), notices(first))
	}
	second := dead.Begun(2, "BR2", agreement.Consent{}).Next.Observe(complete, noon)
	if len(notices(second)) != 1 || notices(second)[0].ID == notices(first)[0].ID {
		t.Errorf("the second try: notices %+v, want another than %+v", notices(second), notices(first))
	}
}

func TestANoticeIsNeededWhileItSaysWhatIsSo(t *testing.T) {
	c, complete := begun(t)
	done := c.Observe(complete, noon)
	ofSetup := notices(done)[0]
	_, _, change := confirmedNow(t)
	confirmed, ofAgreement := change.Next, notices(change)[0]
	ofLink := checkout.Job{Kind: checkout.JobNotify, Name: string(checkout.NoticeOfLink)}
	died := complete
	died.Mandate = checkout.MandateCancelled
	dead := done.Next.Observe(died, noon).Next
	for _, tt := range []struct {
		name   string
		notice checkout.Job
		state  checkout.Checkout
		want   bool
	}{
		{"a setup that is complete", ofSetup, done.Next, true},
		{"a setup of a checkout that was confirmed since", ofSetup, confirmed, false},
		{"a setup whose mandate died", ofSetup, dead, false},
		{"a setup that another try replaced", ofSetup, dead.Begun(2, "BR2", agreement.Consent{}).Next.Observe(complete, noon).Next, false},
		{"a setup of which the personal data was erased", ofSetup, done.Next.Erase(noon, checkout.ActorService, nil).Next, false},
		{"a link", ofLink, c, true},
		{"a link to a setup that is complete", ofLink, done.Next, false},
		{"a link to a setup whose mandate died", ofLink, dead, true},
		{"a link to what was confirmed", ofLink, confirmed, false},
		{"a link of a checkout whose personal data was erased", ofLink, c.Erase(noon, checkout.ActorService, nil).Next, false},
		{"an agreement", ofAgreement, confirmed, true},
		{"an agreement whose mandate died", ofAgreement, confirmed.Observe(died, noon).Next, true},
		{"an agreement of which the personal data was erased", ofAgreement, confirmed.Erase(noon, checkout.ActorService, nil).Next, false},
	} {
		if got := tt.state.NoticeNeeded(tt.notice); got != tt.want {
			t.Errorf("%s: needed %t, want %t", tt.name, got, tt.want)
		}
	}
}

func TestANoticeIsAttemptedNineTimesInADay(t *testing.T) {
	took, attempts := time.Duration(0), 1
	for {
		pause, more := checkout.NoticePause(attempts)
		if !more {
			break
		}
		if pause < time.Minute || pause > 12*time.Hour {
			t.Errorf("after attempt %d a pause of %s", attempts, pause)
		}
		took += pause
		attempts++
	}
	if attempts != 9 || took != 24*time.Hour {
		t.Errorf("%d attempts in %s, want 9 in 24 hours", attempts, took)
	}
	if _, more := checkout.NoticePause(0); more {
		t.Error("an attempt that was not made is followed by one")
	}
}

// notices returns the jobs of a change that notify the payer.
func notices(c checkout.Change) (list []checkout.Job) {
	for _, j := range c.Jobs {
		if j.Kind == checkout.JobNotify {
			list = append(list, j)
		}
	}
	return list
}

// expiredAt is the end of the link of a checkout that was opened at noon.
var expiredAt = noon.Add(7 * day)

// asks returns the result of a payer's request for a link behind the first one, and of the requests before.
func asks(t *testing.T, c checkout.Checkout, at time.Time, sent ...checkout.Job) checkout.Change {
	t.Helper()
	var before []checkout.JobRecord
	for _, j := range sent {
		before = append(before, checkout.JobRecord{Job: j})
	}
	change, _ := c.MailLink(keyring(t), checkout.LinkRequest{RequestID: "req_9", Actor: checkout.ActorPayer, Epoch: 1, Now: at,
		Lifetime: 7 * day, Notices: before})
	return change
}

func TestAPayerGetsALinkByEmailOnce(t *testing.T) {
	c := openedNow(t).Next
	first := asks(t, c, expiredAt)
	if len(notices(first)) != 1 || len(first.Moments) != 1 || first.Moments[0].Kind != checkout.MomentLinkRenewed ||
		first.Moments[0].Actor != checkout.ActorPayer || first.Moments[0].RequestID != "req_9" {
		t.Fatalf("asked for a link: %+v, want a notice and a moment", first)
	}
	sent := notices(first)[0]
	if sent.Name != string(checkout.NoticeOfLink) || !sent.CreatedAt.Equal(expiredAt) {
		t.Errorf("notice %+v", sent)
	}
	ring := keyring(t)
	text := ring.MailedText(first.Next)
	if id, epoch, ok := ring.Read(text); !ok || id != c.ID || epoch != 2 || first.Next.TokenExpired(2, expiredAt.Add(7*day-1)) {
		t.Errorf("the link has token %q of epoch %d; want a token of the next epoch that is valid for a week", text, epoch)
	}
	if !first.Next.TokenExpired(1, expiredAt) {
		t.Error("the link that had expired opens again")
	}
	if again := asks(t, c, expiredAt.Add(time.Second)); notices(again)[0].ID != sent.ID {
		t.Errorf("of two requests at once the notices are %s and %s, want one", sent.ID, notices(again)[0].ID)
	}
	later := asks(t, first.Next, expiredAt.Add(10*time.Minute), sent)
	if len(notices(later)) != 1 || notices(later)[0].ID == sent.ID || ring.MailedText(later.Next) != text {
		t.Errorf("ten minutes later: %+v with the token %q; want another notice of the same link", later, ring.MailedText(later.Next))
	}
	if last := asks(t, first.Next, expiredAt.Add(6*day+1), sent); ring.MailedText(last.Next) == text {
		t.Error("a link with less than a day left is sent again, want another")
	}
}

func TestALinkIsSentEveryTenMinutesAndFiveTimesADay(t *testing.T) {
	c := openedNow(t).Next
	var sent []checkout.Job
	var at []time.Duration
	for d := time.Duration(0); d < 49*time.Hour; d += time.Minute {
		change := asks(t, c, expiredAt.Add(d), sent...)
		if len(notices(change)) > 0 {
			sent, at = append(notices(change), sent...), append(at, d)
		}
		c = change.Next
	}
	ten, day := 10*time.Minute, 24*time.Hour
	want := []time.Duration{0, ten, 2 * ten, 3 * ten, 4 * ten, day, day + ten, day + 2*ten, day + 3*ten, day + 4*ten, 2 * day,
		2*day + ten, 2*day + 2*ten, 2*day + 3*ten, 2*day + 4*ten}
	if !slices.Equal(at, want) {
		t.Errorf("sent after %s, want %s", at, want)
	}
}

func TestNoLinkIsSentWhereThereIsNothingToSetUp(t *testing.T) {
	open, complete := begun(t)
	_, _, change := confirmedNow(t)
	late := noon.Add(30 * day)
	for name, c := range map[string]checkout.Checkout{
		"set up":    open.Observe(complete, noon).Next,
		"settling":  open.Observe(observed(checkout.BillingFulfilling, ""), noon).Next,
		"confirmed": change.Next,
		"erased":    open.Erase(noon, checkout.ActorService, nil).Next,
	} {
		if got := asks(t, c, late); len(got.Jobs)+len(got.Moments) != 0 || !reflect.DeepEqual(got.Next, c) {
			t.Errorf("%s: %+v, want no change", name, got)
		}
	}
	if got := asks(t, openedNow(t).Next, expiredAt.Add(-time.Millisecond)); len(got.Jobs) != 0 {
		t.Errorf("a link that opens is renewed: %+v", got)
	}
}

// A provider never learns of the link that its payer has: the token of its create, or of its latest replay, confirms.
func TestALinkByEmailChangesNothingForTheProvider(t *testing.T) {
	ring := keyring(t)
	c := openedNow(t).Next
	before := ring.LatestText(c)
	c = asks(t, c, expiredAt).Next
	if got := ring.LatestText(c); got != before || c.TokenFresh(ring, expiredAt) {
		t.Errorf("a confirm must carry %q, fresh %v; want the provider's own, %q, expired as it is", got, c.TokenFresh(ring, expiredAt), before)
	}
	c = c.Begun(1, "BR1", agreement.Consent{At: expiredAt}).Next
	_, complete := begun(t)
	c = c.Observe(complete, expiredAt).Next
	_, cmd := ready(t)
	cmd = confirmFor(cmd, c)
	cmd.Token = checkout.Some(before)
	if err := cmd.Ready(c, catalogue.Sandbox, ring.LatestText(c)); err != nil {
		t.Errorf("a confirm with the token of the create: %v", err)
	}
	replayed := c.Renew(ring, expiredAt.Add(time.Hour), 7*day, "provider:key", "req_1").Next
	if l := replayed.Latest(); l.Epoch != 3 || l.Mailed || ring.MailedText(replayed) == "" {
		t.Errorf("a replay gives the provider %+v, and the payer's link is %q; want a third token beside the second", l, ring.MailedText(replayed))
	}
	if replayed.TokenExpired(2, expiredAt.Add(6*day)) {
		t.Error("the replay closes the payer's link")
	}
	if again := replayed.Renew(ring, expiredAt.Add(30*day), 7*day, "provider:key", "req_1").Next; len(again.Tokens) != 1 || again.Latest().Epoch != 4 {
		t.Errorf("expired tokens are kept: %+v", again.Tokens)
	}
}
