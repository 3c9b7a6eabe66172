package checkout

import (
	"strconv"
	"time"
)

// NoticeKind is what a notice is about.
type NoticeKind string

const (
	NoticeOfSetup     NoticeKind = "setup"     // the direct debit is set up
	NoticeOfAgreement NoticeKind = "agreement" // the agreement is concluded: its figures, and the dates and amounts of the payments
)

// Notice is a message that the payer is to be sent. It enters the store with the change that it is about, and has no personal
// data: the address and the words are read from the checkout when it is sent.
type Notice struct {
	ID         string // ntc_…; follows from the checkout, the kind and the try, so that nothing is sent twice
	Kind       NoticeKind
	CheckoutID string
	Try        int       // of the setup that it is about, or on which the agreement rests
	CreatedAt  time.Time // UTC, to the millisecond
}

// notice returns the notice of a kind about the checkout.
func (c Checkout) notice(kind NoticeKind, at time.Time) Notice {
	id := "ntc_" + hash(c.ID, string(kind), strconv.Itoa(c.Setup.Try))
	return Notice{ID: id, Kind: kind, CheckoutID: c.ID, Try: c.Setup.Try, CreatedAt: at}
}

// NoticeStatus is what became of a notice.
type NoticeStatus string

const (
	NoticePending NoticeStatus = "pending" // neither sent nor given up yet
	NoticeSent    NoticeStatus = "sent"    // handed over; whether it was read is not known
	NoticeFailed  NoticeStatus = "failed"  // refused for good, or the attempts are used up
	NoticeDropped NoticeStatus = "dropped" // what it was to say is true no longer, or the personal data was erased
)

// Needed reports whether a notice still says what is so: not about a setup that has died or that another try has replaced, and
// about nothing once the personal data was erased.
func (n Notice) Needed(c Checkout) bool {
	switch {
	case c.Erased():
		return false
	case n.Kind == NoticeOfSetup:
		return c.Setup.Try == n.Try && c.Setup.complete()
	}
	return c.Status == Confirmed
}

// noticePauses are the pauses between attempts to send a notice, 46 hours in all: what is refused for now may be greylisted, for
// minutes, or find a mailbox full, for days.
var noticePauses = [...]time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour,
	12 * time.Hour, 24 * time.Hour}

// NextAttempt returns when a notice is sent again after the attempt with this number, from 1, has failed; false if that was the
// last.
func NextAttempt(attempt int, now time.Time) (time.Time, bool) {
	if attempt < 1 || attempt > len(noticePauses) {
		return time.Time{}, false
	}
	return now.Add(noticePauses[attempt-1]), true
}
