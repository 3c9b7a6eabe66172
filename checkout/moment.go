package checkout

import (
	"slices"
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
	MomentCRMRefused     MomentKind = "crm_refused"     // detail: the CRM's word, and the fields
	MomentEventDelivered MomentKind = "event_delivered" // detail: the event's name and id
	MomentEventFailed    MomentKind = "event_failed"    // detail: the same, and the reason
	MomentNoticeSent     MomentKind = "notice_sent"     // detail: the notice's kind
	MomentNoticeFailed   MomentKind = "notice_failed"
	MomentLinkRenewed    MomentKind = "link_renewed"
	MomentCancelled      MomentKind = "cancelled"
	MomentWithdrawn      MomentKind = "withdrawn" // detail: the agreement's number, and the ground
	MomentErased         MomentKind = "erased"
)

// MomentKinds lists every kind, for tables that must be complete.
func MomentKinds() []MomentKind {
	return []MomentKind{MomentCreated, MomentOpened, MomentPressed, MomentReturned, MomentSetupDone, MomentSetupFailed,
		MomentMandateChanged, MomentConfirmed, MomentRefused, MomentCRMRefused, MomentEventDelivered,
		MomentEventFailed, MomentNoticeSent, MomentNoticeFailed, MomentLinkRenewed, MomentCancelled, MomentWithdrawn,
		MomentErased}
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

// Moment is an entry of a checkout's timeline. It enters with the change that it tells of, or alone, and has no personal data.
type Moment struct {
	ID        string // unique in the checkout; a further moment with the same id raises Times of the first
	Position  int64  // in the timeline; given by the store
	At        time.Time
	Kind      MomentKind
	Actor     Actor
	RequestID string // req_…; "" without a request
	Detail    string // words for an operator
	Times     int    // 0 counts as 1
}

// refusalsPer is the time for which refusals for the same reason are counted in one moment.
const refusalsPer = time.Hour

// RefusedMoment returns the moment of a refused call about a checkout. Within an hour, only the first refusal for the same reason
// is stored; later ones increase its count.
func RefusedMoment(refusal *Error, actor Actor, requestID string, at time.Time) Moment {
	detail := refusal.Reason()
	return Moment{At: at, Kind: MomentRefused, Actor: actor, RequestID: requestID, Detail: detail,
		ID: "refused " + detail + " " + at.UTC().Truncate(refusalsPer).Format("2006-01-02T15")}
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

// Timeline returns the whole timeline of the checkout: its creation, and the moments on record in the order of their time. The
// payer's pages are noted later than they were opened.
func (c Checkout) Timeline(stored []Moment) []Moment {
	all := append([]Moment{{At: c.CreatedAt, Kind: MomentCreated, Actor: c.CreatedBy, RequestID: c.RequestID, Times: 1}}, stored...)
	slices.SortStableFunc(all, func(a, b Moment) int { return a.At.Compare(b.At) })
	return all
}

// Act is something that an operator did. It is stored in the commit of its effect, and is never changed. It has no personal data.
type Act struct {
	ID           string // act_…
	At           time.Time
	Operator     string   // a name; nothing proves it
	Name         string   // the command: "keys revoke"
	Subject      string   // a checkout's id, an agreement's number, a key's id, a provider's code
	ProviderCode string   // "" for an act of no provider
	Reason       string   // as the operator gave it; may be ""
	Changes      []string // before and after, a line each, without secrets
}

// ActFilter admits the acts that match all its fields. An empty field matches every act.
type ActFilter struct {
	ProviderCode string
	Subject      string
	Since        time.Time // done at this time or later
}
