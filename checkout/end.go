package checkout

import (
	"errors"
	"strconv"
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

// Decide decides a checked cancel. The errors are CONFLICT for a checkout whose agreement is concluded, ErrEnded, CHECKOUT_ERASED,
// and ErrWaitsForCRM while the CRM has yet to open the enrolment.
func (c Cancel) Decide(stored Checkout, now time.Time) (Change, error) {
	switch {
	case stored.concluded():
		return Change{Next: stored}, refuseCancel()
	case stored.Status == Cancelled:
		return Change{Next: stored}, ErrEnded
	case stored.Erased():
		return Change{Next: stored}, refuseErased()
	case stored.Status == Reserved:
		return Change{Next: stored}, ErrWaitsForCRM
	}
	next := stored
	next.Status, next.End = Cancelled, End{At: now, By: c.By, Reason: c.Reason.Value}
	change := next.ending(c.RequestID, now)
	change.Moments = []Moment{{At: now, Kind: MomentCancelled, Actor: c.Actor, RequestID: c.RequestID, Times: 1}}
	return change, nil
}

// Withdraw is an operator's command to withdraw the agreement of a confirmed checkout.
type Withdraw struct {
	Actor  Actor
	Ground Ground
	Reason string
}

// Decide decides a withdrawal. The errors are ErrNotConfirmed, ErrWaitsForCRM while the CRM has yet to complete the enrolment,
// ErrEnded, and ErrErased: the ids by which the processor knows the mandate are gone.
func (w Withdraw) Decide(stored Checkout, now time.Time) (Change, error) {
	switch {
	case !stored.concluded():
		return Change{Next: stored}, ErrNotConfirmed
	case stored.Status != Confirmed:
		return Change{Next: stored}, ErrWaitsForCRM
	case stored.Withdrawn():
		return Change{Next: stored}, ErrEnded
	case stored.Erased():
		return Change{Next: stored}, ErrErased
	}
	next, done := stored, stored.Confirmation
	next.End = End{At: now, By: PartyOperator, Ground: w.Ground, Reason: w.Reason}
	change := next.ending(done.RequestID, now)
	change.Moments = []Moment{{At: now, Kind: MomentWithdrawn, Actor: w.Actor,
		Detail: done.AgreementNumber + " " + string(w.Ground), Times: 1}}
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
	change := Change{Next: c, Jobs: []Job{c.job(JobEnd, requestID, 0, now)}}
	if c.Setup.live() || c.Withdrawn() {
		change.Jobs = append(change.Jobs, c.job(JobCancel, requestID, c.Setup.Try, now))
	}
	return change
}

// live reports whether the setup has led to a mandate that lives, or still may.
func (s Setup) live() bool {
	return s.BillingRequestID != "" && s.BillingRequest != BillingCancelled && !s.Mandate.Dead()
}

// ToEnd reports whether the checkout has ended, and the processor has yet to end its setup.
func (c Checkout) ToEnd() bool { return c.Ended() && c.Setup.live() }

// revived returns the job to end the setup of a checkout that has ended, where it was over as it was known and lives again.
func (c Checkout) revived(known Setup, now time.Time) []Job {
	if !c.ToEnd() || known.live() {
		return nil
	}
	again := c.job(JobCancel, "", c.Setup.Try, now)
	again.ID += ":" + strconv.FormatInt(c.Setup.MandateSince.UnixMilli(), 10)
	return []Job{again}
}

// SetupEnded settles a JobCancel: the processor has ended the setup. The payer is told of a withdrawal, and of a cancelled checkout
// for which bank details were given.
func (c Checkout) SetupEnded(requestID string, now time.Time) Change {
	change := Change{Next: c}
	switch {
	case c.Withdrawn():
		change.Jobs = []Job{c.notice(NoticeOfWithdrawal, requestID, now)}
	case c.Status == Cancelled && c.Setup.hasAccount():
		change.Jobs = []Job{c.notice(NoticeOfCancel, requestID, now)}
	}
	return change
}
