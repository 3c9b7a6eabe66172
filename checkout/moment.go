package checkout

import (
	"strings"
	"time"
)

// MomentKind is the kind of a moment. The list is closed.
type MomentKind string

const (
	MomentCreated        MomentKind = "created"
	MomentOpened         MomentKind = "opened"          // the payer opened the setup page; once for each try and state of the page, the detail
	MomentPressed        MomentKind = "pressed"         // the payer accepted the terms and went on to the processor
	MomentReturned       MomentKind = "returned"        // the payer came back from the processor; the same
	MomentSetupDone      MomentKind = "setup_done"      // the direct debit is set up
	MomentSetupFailed    MomentKind = "setup_failed"    // detail: the processor's word
	MomentMandateChanged MomentKind = "mandate_changed" // detail: the status, and the processor's reason
	MomentConfirmed      MomentKind = "confirmed"       // detail: the agreement's number
	MomentRefused        MomentKind = "refused"         // detail: the code of the refusal, and the fields
	MomentCRMWaits       MomentKind = "crm_waits"       // detail: what the CRM is to do, and why it has not
	MomentCRMDone        MomentKind = "crm_done"
	MomentEventDelivered MomentKind = "event_delivered" // detail: the event's name and id
	MomentEventFailed    MomentKind = "event_failed"    // detail: the same, and the reason
	MomentNoticeSent     MomentKind = "notice_sent"     // detail: the notice's kind
	MomentNoticeFailed   MomentKind = "notice_failed"
	MomentLinkRenewed    MomentKind = "link_renewed"
	MomentCancelled      MomentKind = "cancelled"
	MomentWithdrawn      MomentKind = "withdrawn" // detail: the agreement's number, and the ground
	MomentErased         MomentKind = "erased"
	MomentOperated       MomentKind = "operated" // detail: the operation
)

// MomentKinds lists every kind, for tables that must be complete.
func MomentKinds() []MomentKind {
	return []MomentKind{MomentCreated, MomentOpened, MomentPressed, MomentReturned, MomentSetupDone, MomentSetupFailed,
		MomentMandateChanged, MomentConfirmed, MomentRefused, MomentCRMWaits, MomentCRMDone, MomentEventDelivered,
		MomentEventFailed, MomentNoticeSent, MomentNoticeFailed, MomentLinkRenewed, MomentCancelled, MomentWithdrawn,
		MomentErased, MomentOperated}
}

// Actor is the cause of a moment: one of the words below, or "provider:" and the id of an API key, or "operator:" and a
// name.
type Actor string

const (
	ActorPayer     Actor = "payer"
	ActorProcessor Actor = "processor"
	ActorCRM       Actor = "crm"
	ActorService   Actor = "service"
)

// ProviderActor returns the actor of a call with an API key; keyID is "" for a caller without.
func ProviderActor(keyID string) Actor { return Actor(strings.TrimSuffix("provider:"+keyID, ":")) }

// OperatorActor returns the actor of an operator's act.
func OperatorActor(name string) Actor { return Actor("operator:" + name) }

// Moment is an entry of a checkout's journal: something that happened to the checkout. It is appended in the commit of the
// change that it tells of, is never changed, and has no personal data.
type Moment struct {
	Position  int // 1 is the checkout's first; given by the store
	At        time.Time
	Kind      MomentKind
	Actor     Actor
	RequestID string // req_…; "" if there was no request
	Detail    string // words for an operator
	// Once, where it is not "", identifies the moments that are counted in one: a further moment with the same text is not appended,
	// and raises Times of the first.
	Once  string
	Times int // 1, or more by Once
}

// refusalsPer is the time for which refusals for the same reason are counted in one moment.
const refusalsPer = time.Hour

// RefusedMoment returns the moment of a call about a checkout that was refused: the first of an hour for the same reason is
// appended, and the others are counted.
func RefusedMoment(refusal *Error, actor Actor, requestID string, at time.Time) Moment {
	detail := refusal.Reason()
	return Moment{At: at, Kind: MomentRefused, Actor: actor, RequestID: requestID, Detail: detail, Times: 1,
		Once: "refused " + detail + " " + at.UTC().Truncate(refusalsPer).Format("2006-01-02T15")}
}

// Reason returns the code and the fields of a refusal, for the journal and the log: no value that was sent is in it.
func (e *Error) Reason() string { return strings.TrimSpace(string(e.Code) + " " + e.Fields()) }

// Fields returns the names of the fields of a refusal, in their order, with spaces between.
func (e *Error) Fields() string {
	names := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		names[i] = f.Field
	}
	return strings.Join(names, " ")
}
