package checkout

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
)

// BillingRequestStatus is the processor's word for how far the payer's bank setup is.
type BillingRequestStatus string

const (
	BillingPending       BillingRequestStatus = "pending"         // the payer has not finished
	BillingReadyToFulfil BillingRequestStatus = "ready_to_fulfil" // the payer has finished
	BillingFulfilling    BillingRequestStatus = "fulfilling"      // the processor makes the mandate
	BillingFulfilled     BillingRequestStatus = "fulfilled"       // there is a mandate
	BillingCancelled     BillingRequestStatus = "cancelled"       // there will be no mandate
)

// Known reports whether it is one of the words above.
func (b BillingRequestStatus) Known() bool {
	return slices.Contains([]BillingRequestStatus{BillingPending, BillingReadyToFulfil, BillingFulfilling, BillingFulfilled,
		BillingCancelled}, b)
}

// AuthorisationStatus is the CRM's word for the direct debit authority.
type AuthorisationStatus string

const (
	CustomerInProgress AuthorisationStatus = "Customer In Progress"
	Authorised         AuthorisationStatus = "Authorised"
)

// Setup is the direct debit setup of a checkout. The zero Setup was not begun.
type Setup struct {
	Try              int // billing requests begun so far
	BillingRequestID string
	Consent          agreement.Consent // of the payer who last went on from the setup page to the bank setup
	Observation
}

// Observation is the processor's answer about a setup. Once the billing request is fulfilled it must name the giver of
// the authority, the account and the time: until then the setup is not complete.
type Observation struct {
	BillingRequest BillingRequestStatus
	Mandate        MandateStatus
	MandateID      string    // the processor's; "" while there is no mandate
	MandateSince   time.Time // when the mandate reached its status, UTC to the millisecond; zero if the processor does not say
	MandateReason  string    // the processor's code for why it did, such as DISHONOUR-AC05; "" if it gave no code
	Authorisation  AuthorisationStatus
	AccountHolder  string
	AccountMask    agreement.AccountMask
	CompletedAt    time.Time  // when the payer completed the setup, UTC to the millisecond
	FirstCharge    money.Date // the first day on which the processor can collect; zero if it does not say
}

// notBegun is the observation of a setup that was not begun.
var notBegun = Observation{BillingRequest: BillingPending, Authorisation: CustomerInProgress}

// hasAccount reports whether the processor said who gave the authority, over which account and when.
func (o Observation) hasAccount() bool {
	return o.AccountHolder != "" && o.AccountMask != "" && !o.CompletedAt.IsZero()
}

// complete reports whether there is a living mandate on a known account.
func (o Observation) complete() bool {
	return o.BillingRequest == BillingFulfilled && !o.Mandate.Dead() && o.hasAccount()
}

// SetupComplete reports whether the direct debit is set up, on an account that the processor named. If the mandate
// dies before the confirm it is false again, so that the payer can try again; once it is confirmed it stays true.
func (c Checkout) SetupComplete() bool { return c.Status == Confirmed || c.Setup.complete() }

// NextPoll returns the interval that a provider should wait before its next poll. It grows with the time since the link was last
// created or renewed, or since the payer went on to the processor, and is longest while a confirm would be refused because of the
// mandate. It is 0 if there is nothing to wait for.
func (c Checkout) NextPoll(now time.Time) time.Duration {
	const slow = 15 * time.Minute
	latest := slices.MaxFunc([]time.Time{c.CreatedAt, c.Latest().Renewed, c.Setup.Consent.At}, time.Time.Compare)
	switch ago := now.Sub(latest); {
	case c.Status != SetupRequired || c.Setup.complete() && c.Setup.Mandate.Confirmable():
		return 0
	case c.Setup.complete():
		return slow
	case ago < 15*time.Minute:
		return 2 * time.Second
	case ago < 24*time.Hour:
		return time.Minute
	}
	return slow
}

// open reports whether there is a billing request that the payer can still fulfil.
func (s Setup) open() bool {
	return s.BillingRequestID != "" && s.BillingRequest == BillingPending && !s.Mandate.Dead()
}

// Settling reports whether the payer has finished and the processor has not. A second billing request would then be
// a second mandate.
func (s Setup) Settling() bool {
	switch s.BillingRequest {
	case BillingReadyToFulfil, BillingFulfilling:
		return true
	case BillingFulfilled:
		return !s.Mandate.Dead() && !s.hasAccount()
	}
	return false
}

// NextTry returns the number of the billing request that the payer fulfils next: the open one, or a new one.
func (c Checkout) NextTry() int {
	if c.Setup.open() {
		return c.Setup.Try
	}
	return c.Setup.Try + 1
}

// Begun returns the checkout with the billing request that was made for a try, and with the consent of the
// payer who goes on to it. Nothing changes if the setup is complete or settling, another try was begun meanwhile, the
// payer presses again within a minute, or the checkout was erased. If it was cancelled meanwhile the billing request is to be cancelled too.
func (c Checkout) Begun(try int, billingRequestID string, consent agreement.Consent) Change {
	if c.SetupComplete() || c.Setup.Settling() || c.Erased() || try != c.NextTry() {
		return unchanged(c)
	}
	again := c.Setup.open() && c.Setup.BillingRequestID == billingRequestID
	if !again {
		c.Setup = Setup{Try: try, BillingRequestID: billingRequestID, Observation: notBegun}
	}
	at := consent.At
	if c.Ended() {
		return Change{At: at, Next: c, Jobs: []Job{c.Job(JobEnd, "", at, 0)}}
	}
	switch {
	case c.Setup.supersededBy(consent):
		c.Setup.Consent = consent
	case again:
		return unchanged(c)
	}
	return Change{At: at, Next: c, Jobs: []Job{c.Job(JobLook, "", at, firstLook)},
		Moments: []Moment{{At: at, Kind: MomentPressed, Actor: ActorPayer, Detail: "try " + strconv.Itoa(try)}}}
}

// consentLife is the minimum age of a consent before the next one of the same payer to the same terms replaces it.
const consentLife = time.Minute

// supersededBy reports whether a consent replaces the stored one. Requests may arrive out of order: the
// latest consent stays. A consent to unknown terms does not replace one to known terms.
func (s Setup) supersededBy(next agreement.Consent) bool {
	kept := s.Consent
	switch {
	case next.At.Before(kept.At), next.Terms == "" && kept.Terms != "":
		return false
	case next.From == kept.From && next.Terms == kept.Terms && next.Disclosed == kept.Disclosed:
		return next.At.Sub(kept.At) >= consentLife
	}
	return true
}

// Observe returns the checkout with what the processor says of its setup now, if that was begun and is not older than what is
// known. The account, once known, stays. If this completes the setup, the payer is notified. After the confirm, the payer and the
// CRM are notified when a mandate ends or is reinstated; before it, a reinstated mandate causes the payer's first notice. If the
// setup of an ended checkout becomes active again, it is ended again.
func (c Checkout) Observe(seen Observation, now time.Time) Change {
	wasLive, known := c.Setup.live(), c.Setup.Observation
	if c.Setup.BillingRequestID == "" || !seen.follows(known) {
		return unchanged(c)
	}
	if known.hasAccount() {
		seen.AccountHolder, seen.AccountMask, seen.CompletedAt = known.AccountHolder, known.AccountMask, known.CompletedAt
	}
	if c.Status != SetupRequired || seen.FirstCharge.IsZero() {
		seen.FirstCharge = known.FirstCharge
	}
	if seen == known {
		return unchanged(c)
	}
	c.Setup.Observation = seen
	change := Change{At: now, Next: c}
	if c.ToEnd() && !wasLive {
		change.Jobs = append(change.Jobs, c.Job(JobEnd, "", now, 0))
	}
	if c.Status != Confirmed && seen.complete() != known.complete() {
		change.Jobs = append(change.Jobs, c.Job(JobSync, "", now, settledSetup))
	}
	if c.Status == SetupRequired && seen.complete() && !known.complete() {
		change.Jobs = append(change.Jobs, c.notice(NoticeOfSetup, "", now))
	}
	change.Jobs = append(change.Jobs, c.mandateChanged(known, now)...)
	if m, ok := seen.moment(known, now); ok {
		if c.Status == Confirmed {
			m.Kind = MomentMandateChanged
		}
		change.Moments = []Moment{m}
	}
	return change
}

// moment returns what the journal says of an observation that follows a known one, if that is worth a moment.
func (o Observation) moment(known Observation, now time.Time) (m Moment, ok bool) {
	mandate := strings.TrimSpace("mandate " + string(o.Mandate) + " " + o.MandateReason)
	m = Moment{At: now, Actor: ActorProcessor, Detail: mandate}
	switch {
	case o.complete() && !known.complete():
		m.Kind = MomentSetupDone
	case o.BillingRequest == BillingCancelled && known.BillingRequest != BillingCancelled:
		m.Kind, m.Detail = MomentSetupFailed, "billing request "+string(o.BillingRequest)
	case o.replaces(known):
		m.Kind, m.Detail = MomentMandateChanged, mandateReplaced+mandate
	case o.Mandate == known.Mandate:
		return Moment{}, false
	case known.Mandate == MandateNone && o.Mandate.Dead():
		m.Kind = MomentSetupFailed
	default:
		m.Kind = MomentMandateChanged
	}
	return m, true
}

// follows reports whether an observation may come after a known one: answers may arrive late. Where the processor says
// since when a mandate has its status, the later status counts, so that a mandate can be reinstated, or replaced by another. Where it
// does not, a mandate never goes back to an earlier status, and a dead one stays dead until it does. After a cancelled billing
// request only a mandate is news.
func (o Observation) follows(known Observation) bool {
	switch {
	case known.BillingRequest == BillingFulfilled && o.BillingRequest != BillingFulfilled,
		known.BillingRequest == BillingCancelled && o.BillingRequest != BillingCancelled && o.BillingRequest != BillingFulfilled:
		return false
	case o.replaces(known):
		return o.MandateSince.After(known.MandateSince)
	case !known.MandateSince.IsZero() && !o.MandateSince.IsZero() && !o.MandateSince.Equal(known.MandateSince):
		return o.MandateSince.After(known.MandateSince)
	case known.Mandate.Dead() && known.MandateSince.IsZero() && !o.MandateSince.IsZero():
		return true
	}
	return !known.Mandate.Dead() && !o.Mandate.before(known.Mandate)
}

// How often the processor is asked about a setup without a caller: first after a minute, then less and less often.
const (
	firstLook  = time.Minute
	seldomLook = 24 * time.Hour
	// abandonedAfter is the time that a payer may take; GoCardless' pages, for one, open for seven days.
	abandonedAfter = 30 * 24 * time.Hour
	// watchedDays is the number of days after the last payment's due date in which an active mandate is looked at.
	watchedDays = 30
)

// planOver reports whether nothing is to be collected under the checkout's mandate any more.
func (c Checkout) planOver(now time.Time) bool {
	charges := c.Schedule()
	return charges[len(charges)-1].Due.AddDays(watchedDays).Before(money.DateOf(now))
}

// NextLook returns how long the processor is not asked about the setup unless a caller does; false once its answer is final, or the
// personal data was erased. An active mandate may still end: it is looked at until the plan has ended, unless the processor notifies
// of that.
func (c Checkout) NextLook(notifies bool, now time.Time) (pause time.Duration, again bool) {
	s := c.Setup
	age := now.Sub(s.Consent.At)
	switch {
	case s.BillingRequestID == "", s.Mandate.Dead(), s.BillingRequest == BillingCancelled:
		return 0, false
	case s.BillingRequest != BillingFulfilled && age > abandonedAfter:
		return 0, false
	case s.Mandate == MandateActive && (notifies || c.planOver(now)):
		return 0, false
	}
	return min(max(age/2, firstLook), seldomLook), true
}
