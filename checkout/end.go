package checkout

import (
	"errors"
	"time"

	"github.com/provider-checkout/provider-checkout/money/text"
)

// A checkout ends in one of two ways: it is cancelled before its confirm, or its agreement is withdrawn after it. Either is decided
// once and has no way back. The jobs that follow have the processor end the setup and the CRM record the end; a setup that the payer
// completes at the processor after that is ended too.

// Party is the party that has ended a checkout.
type Party string

const (
	PartyProvider Party = "provider"
	PartyOperator Party = "operator"
)

// Ground is the ground on which an agreement is withdrawn.
type Ground string

const (
	GroundCoolingOff Ground = "cooling-off" // the payer cancelled in the time that the agreement gives for it
	GroundProvider   Ground = "provider"    // the provider does not hold the course, or asked for it
	GroundHardship   Ground = "hardship"    // the payer cannot pay
	GroundError      Ground = "error"       // the agreement should not have been concluded
)

// Grounds lists every ground.
func Grounds() []Ground {
	return []Ground{GroundCoolingOff, GroundProvider, GroundHardship, GroundError}
}

// End is the end of a checkout. The zero End is no end.
type End struct {
	At     time.Time
	By     Party
	Ground Ground // of a withdrawal; "" for a cancelled checkout
	Reason string // as it was given: it may name a person, is not shown to the payer, and is erased with the personal data
}

// Ended reports whether the checkout was cancelled, or its agreement withdrawn.
func (c Checkout) Ended() bool { return !c.End.At.IsZero() }

// Withdrawn reports whether the checkout's agreement was withdrawn.
func (c Checkout) Withdrawn() bool { return c.Status == Confirmed && c.Ended() }

// ErrEnded: the act is a repeat, and changes nothing.
var ErrEnded = errors.New("it has ended already")

// Cancel is the command to cancel a checkout before its confirm.
type Cancel struct {
	RequestID string // req_…; "" if an operator cancels it
	Actor     Actor
	By        Party
	Reason    Optional[string]
}

// Check returns nil, or a VALIDATION_ERROR.
func (c Cancel) Check() error {
	k := newChecker(c.Reason)
	k.text(FieldReason, c.Reason, text.CheckName)
	return k.err()
}

// Decide decides a checked cancel. The errors are CONFLICT for a confirmed checkout, ErrEnded and CHECKOUT_ERASED.
func (c Cancel) Decide(stored Checkout, now time.Time) (Change, error) {
	switch {
	case stored.Status == Confirmed:
		return unchanged(stored), refuseCancel()
	case stored.Status == Cancelled:
		return unchanged(stored), ErrEnded
	case stored.Erased():
		return unchanged(stored), refuseErased()
	}
	next := stored
	next.Status, next.End = Cancelled, End{At: now, By: c.By, Reason: c.Reason.Value}
	change := next.ending(c.RequestID, now)
	change.Moments = []Moment{{At: now, Kind: MomentCancelled, Actor: c.Actor, RequestID: c.RequestID}}
	return change, nil
}

// Withdraw is an operator's command to withdraw the agreement of a confirmed checkout.
type Withdraw struct {
	Actor  Actor
	Ground Ground
	Reason string
}

// Decide decides a withdrawal. The errors are ErrNotConfirmed, ErrEnded, and ErrErased: the ids by which the processor knows the mandate
// are gone.
func (w Withdraw) Decide(stored Checkout, now time.Time) (Change, error) {
	switch {
	case stored.Status != Confirmed:
		return unchanged(stored), ErrNotConfirmed
	case stored.Withdrawn():
		return unchanged(stored), ErrEnded
	case stored.Erased():
		return unchanged(stored), ErrErased
	}
	next, done := stored, stored.Confirmation
	next.End = End{At: now, By: PartyOperator, Ground: w.Ground, Reason: w.Reason}
	change := next.ending(done.RequestID, now)
	change.Moments = []Moment{{At: now, Kind: MomentWithdrawn, Actor: w.Actor,
		Detail: done.AgreementNumber + " " + string(w.Ground)}}
	return change, nil
}

var (
	// ErrNotConfirmed: there is no agreement that could be withdrawn.
	ErrNotConfirmed = errors.New("it is not confirmed")
	// ErrErased: the personal data was erased, and with it what the act needs.
	ErrErased = errors.New("its personal data was erased, with the ids by which the processor knows the direct debit")
)

// ending returns the change to a checkout that ends now, with the jobs of the processor and of the CRM. The setup of a withdrawn
// agreement gets its job though its mandate is dead: the payer is told by it.
func (c Checkout) ending(requestID string, now time.Time) Change {
	change := Change{At: now, Next: c, Jobs: []Job{c.Job(JobSync, requestID, now, 0)}}
	if c.Setup.live() || c.Withdrawn() {
		change.Jobs = append(change.Jobs, c.Job(JobEnd, requestID, now, 0))
	}
	return change
}

// live reports whether the setup has led to a mandate that lives, or still may.
func (s Setup) live() bool {
	return s.BillingRequestID != "" && s.BillingRequest != BillingCancelled && !s.Mandate.Dead()
}

// ToEnd reports whether the checkout has ended, and the processor has yet to end its setup.
func (c Checkout) ToEnd() bool { return c.Ended() && c.Setup.live() }

// SetupEnded returns what follows once the processor has ended the setup: the payer is told of a withdrawal, and of a cancelled
// checkout for which bank details were given.
func (c Checkout) SetupEnded(requestID string, now time.Time) Change {
	kind := NoticeOfCancel
	switch {
	case c.Withdrawn():
		kind = NoticeOfWithdrawal
	case c.Status != Cancelled || !c.Setup.hasAccount():
		return unchanged(c)
	}
	return Change{At: now, Next: c, Jobs: []Job{c.notice(kind, requestID, now)}}
}
