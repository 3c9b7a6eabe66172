package checkout

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MandateStatus is the processor's word for the direct debit mandate. Other words are stored
// unchanged; a checkout with such a mandate cannot be confirmed.
type MandateStatus string

const (
	MandateNone              MandateStatus = "" // there is no mandate yet
	MandatePendingSubmission MandateStatus = "pending_submission"
	MandateSubmitted         MandateStatus = "submitted"
	MandateActive            MandateStatus = "active"
	MandateFailed            MandateStatus = "failed"
	MandateCancelled         MandateStatus = "cancelled"
	MandateExpired           MandateStatus = "expired"
	MandateBlocked           MandateStatus = "blocked"
)

// Dead reports whether nothing can be collected under the mandate any more.
func (m MandateStatus) Dead() bool {
	return slices.Contains([]MandateStatus{MandateFailed, MandateCancelled, MandateExpired, MandateBlocked}, m)
}

// Confirmable reports whether a confirm is accepted under the mandate (section 3).
func (m MandateStatus) Confirmable() bool {
	return slices.Contains([]MandateStatus{MandatePendingSubmission, MandateSubmitted, MandateActive}, m)
}

// before reports whether a living mandate has status m before it has status n. A status outside of that order is
// before no other.
func (m MandateStatus) before(n MandateStatus) bool {
	order := []MandateStatus{MandateNone, MandatePendingSubmission, MandateSubmitted, MandateActive}
	at := slices.Index(order, m)
	return at >= 0 && at < slices.Index(order, n)
}

// mandateReplaced begins the detail of the moment at which the processor has put another mandate in the place of the known one. Whose account
// it is, the moment does not say: it outlives an erasure.
const mandateReplaced = "another "

func (o Observation) replaces(known Observation) bool {
	return known.MandateID != "" && o.MandateID != "" && o.MandateID != known.MandateID
}

// Replaces reports whether the moment records that the processor replaced the mandate.
func (m Moment) Replaces() bool {
	return m.Kind == MomentMandateChanged && strings.HasPrefix(m.Detail, mandateReplaced)
}

// endings maps the scheme's reason codes, and else the statuses, to texts for the payer about a mandate that has ended.
var endings = map[string]string{
	string(MandateFailed):    "The bank or the payment processor did not accept it.",
	string(MandateCancelled): "It was cancelled: by the account holder, by the bank or by the payment processor.",
	string(MandateBlocked):   "The payment processor has stopped it.",
	string(MandateExpired):   "It has expired.",

	"AC03": "The bank says that the account has moved to another bank.",
	"AC04": "The bank says that the account is closed.",
	"AC05": "The bank says that there is no such account.",
	"AG01": "The account holder or the bank has cancelled it.",
	"AM04": "It was cancelled because a payment failed.",
	"BE05": "The bank was told that the account holder did not agree to it.",
	"MS01": "It was cancelled because a payment failed.",
}

// Ending says in a sentence for the payer why the mandate is dead; "" while it lives. The processor's code for the reason ends in
// the code of the scheme, such as DISHONOUR-AC04.
func (o Observation) Ending() string {
	if !o.Mandate.Dead() {
		return ""
	}
	return cmp.Or(endings[o.MandateReason[strings.LastIndexByte(o.MandateReason, '-')+1:]], endings[string(o.Mandate)])
}

// mandateChanged returns the jobs that report a change of the mandate's status; no job unless the checkout is confirmed, for then its
// payments are owed though the mandate ends. The CRM gets every status, and the payer a notice of a dead one. Where the processor
// gives no time for a status, its time is the time at which it was seen. A later answer that gives the time of an end leads to no notice.
func (c Checkout) mandateChanged(known Observation, now time.Time) []Job {
	m := c.Setup.Mandate
	if c.Status != Confirmed {
		return nil
	}
	jobs := []Job{c.Job(JobSync, c.Confirmation.RequestID, now, settledSetup)}
	if m == known.Mandate || !m.Dead() && !known.Mandate.Dead() {
		return jobs
	}
	jobs[0].Due = time.Time{}
	if m.Dead() && !c.Ended() { // else the notice of the withdrawal tells of it
		n, at := c.notice(NoticeOfMandateEnd, "", now), cmp.Or(c.Setup.MandateSince, now)
		n.ID = "ntc_" + hash(c.ID, n.Name, strconv.FormatInt(at.UnixMilli(), 10)) // a mandate reaches one dead status at a time
		jobs = append(jobs, n)
	}
	return jobs
}

// LastTry is the outcome of the payer's latest attempt to set up the direct debit, while another attempt is possible. It selects
// the wording of the setup page and affects no decision.
type LastTry string

const (
	TryNone       LastTry = ""           // no try was made, or it led to a direct debit or still may
	TryUnfinished LastTry = "unfinished" // the payer left the processor's page, closed it or let it expire
	TryBegun      LastTry = "begun"      // the payer went to the processor, which was not asked since
	TryUnknown    LastTry = "unknown"    // the processor does not answer: the payer may have finished
	TryCancelled  LastTry = "cancelled"  // it was cancelled before there was a mandate

	TryMandateFailed    = tryMandate + LastTry(MandateFailed)    // the bank or the processor refused the mandate
	TryMandateCancelled = tryMandate + LastTry(MandateCancelled) // by the payer or the bank
	TryMandateBlocked   = tryMandate + LastTry(MandateBlocked)   // the processor takes no mandate of this payer or account
	TryMandateExpired   = tryMandate + LastTry(MandateExpired)

	tryMandate LastTry = "mandate "
)

// LastTry returns what became of the last try, by what is known of the setup.
func (s Setup) LastTry() LastTry {
	switch {
	case s.BillingRequestID == "", s.complete(), s.Settling():
		return TryNone
	case s.Mandate.Dead():
		return tryMandate + LastTry(s.Mandate)
	case s.BillingRequest == BillingCancelled:
		return TryCancelled
	}
	return TryUnfinished
}
