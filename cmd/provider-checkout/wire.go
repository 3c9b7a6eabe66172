package main

import (
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/evidencelog"
	"github.com/provider-checkout/provider-checkout/events"
)

// The objects of --json. Their fields are named as in export.

// trailLine is an entry as evidence list prints it.
type trailLine struct {
	at time.Time

	Position   *int64   `json:"position,omitempty"` // nil until it is sealed
	EntryID    string   `json:"entry_id"`
	RecordedAt string   `json:"recorded_at"`
	Kind       string   `json:"kind"` // "unknown" if this version cannot read it
	Forged     bool     `json:"forged,omitempty"`
	Agreement  string   `json:"agreement_number,omitempty"`
	Operator   string   `json:"operator,omitempty"`
	Operation  string   `json:"operation,omitempty"`
	Subject    string   `json:"subject,omitempty"`
	Reason     string   `json:"reason,omitempty"`
	Changes    []string `json:"changes,omitempty"`
}

type keyLine struct {
	KeyID        string `json:"key_id"`
	ProviderCode string `json:"provider_code"`
	Environment  string `json:"environment"`
	CreatedAt    string `json:"created_at"`
	RevokedAt    string `json:"revoked_at,omitempty"`
}

type eventLine struct {
	EventID      string           `json:"event_id"`
	Event        string           `json:"event"`
	CheckoutID   string           `json:"checkout_id"`
	ProviderCode string           `json:"provider_code"`
	OrderID      string           `json:"provider_order_id"`
	RequestID    string           `json:"request_id,omitempty"`
	CreatedAt    string           `json:"created_at"`
	Status       string           `json:"status"`
	Attempts     int              `json:"attempts"`
	FailedAt     string           `json:"failed_at,omitempty"`
	Reason       string           `json:"reason,omitempty"`
	Redeliveries []redeliveryLine `json:"redeliveries,omitempty"` // of events show
	Body         string           `json:"body,omitempty"`         // the same: as it is signed and sent
}

type redeliveryLine struct {
	At        string `json:"at,omitempty"`
	Delivered bool   `json:"delivered"`
	Attempts  int    `json:"attempts"`
	Reason    string `json:"reason,omitempty"`
}

// resultLine is the result of events redeliver for an event.
type resultLine struct {
	EventID      string `json:"event_id"`
	Event        string `json:"event"`
	ProviderCode string `json:"provider_code"`
	OrderID      string `json:"provider_order_id"`
	NotSent      string `json:"not_sent,omitempty"` // the reason
	redeliveryLine
}

// jobLine is a job; of jobs list only the first five fields.
type jobLine struct {
	JobID        string `json:"job_id"`
	Kind         string `json:"kind"`
	DueAt        string `json:"due_at,omitempty"`
	Attempts     int    `json:"attempts"`
	Failure      string `json:"failure,omitempty"`
	State        string `json:"state,omitempty"`
	ProviderCode string `json:"provider_code,omitempty"`
	OrderID      string `json:"provider_order_id,omitempty"`
	CheckoutID   string `json:"checkout_id,omitempty"`
	RequestID    string `json:"request_id,omitempty"`
	CreatedAt    string `json:"created_at,omitempty"`
	FailedAt     string `json:"failed_at,omitempty"`
	SettledAt    string `json:"settled_at,omitempty"`
	Reference    string `json:"reference,omitempty"` // of a notice: its Message-ID
	Answer       string `json:"answer,omitempty"`
}

// momentLine is a moment of a checkout's journal.
type momentLine struct {
	CheckoutID string `json:"checkout_id"`
	At         string `json:"at"`
	Kind       string `json:"kind"`
	Actor      string `json:"actor"`
	RequestID  string `json:"request_id,omitempty"`
	Detail     string `json:"detail,omitempty"`
	Times      int    `json:"times,omitempty"` // where it happened more than once
}

// checkoutLine is the state of a checkout, before its moments.
type checkoutLine struct {
	CheckoutID       string `json:"checkout_id"`
	ProviderCode     string `json:"provider_code"`
	OrderID          string `json:"provider_order_id"`
	State            string `json:"state"`
	Course           string `json:"course_name"`
	AgreementNumber  string `json:"agreement_number,omitempty"`
	BillingRequestID string `json:"billing_request_id,omitempty"`
	MandateID        string `json:"mandate_id,omitempty"`
	MandateStatus    string `json:"mandate_status,omitempty"`
	MandateReason    string `json:"mandate_reason,omitempty"`
}

// verdictLine is a check of agreements verify; with --all also an agreement with its failed checks, or the checks that could not be made.
type verdictLine struct {
	Mark    string   `json:"mark"` // "ok", "FAIL" or "none"
	Subject string   `json:"subject,omitempty"`
	Texts   []string `json:"texts,omitempty"`
}

type versionLine struct {
	Version     string `json:"version"`
	Commit      string `json:"commit"`
	CommittedOn string `json:"committed_on,omitempty"` // in UTC
	Modified    bool   `json:"modified,omitempty"`
	GoVersion   string `json:"go_version"`
}

// wireTime formats a time; the zero time is "".
func wireTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return events.Timestamp(t)
}

func toWireKey(k catalogue.Key) keyLine {
	return keyLine{k.ID, k.Provider, string(k.Environment), wireTime(k.CreatedAt), wireTime(k.RevokedAt)}
}

func toWireEvent(e checkout.EventRecord) eventLine {
	return eventLine{
		EventID:      e.Event.ID,
		Event:        string(e.Event.Name),
		CheckoutID:   e.Event.CheckoutID,
		ProviderCode: e.Event.ProviderCode,
		OrderID:      e.Event.OrderID,
		RequestID:    e.Event.RequestID,
		CreatedAt:    wireTime(e.Event.CreatedAt),
		Status:       string(e.Status),
		Attempts:     e.Attempts,
		FailedAt:     wireTime(e.Failure.At),
		Reason:       e.Failure.Reason,
	}
}

// toWireWholeEvent returns an event with its body and its redeliveries.
func toWireWholeEvent(e checkout.EventRecord, again []checkout.Redelivery) eventLine {
	line := toWireEvent(e)
	line.Body = string(e.Event.Body)
	for _, r := range again {
		line.Redeliveries = append(line.Redeliveries, toWireRedelivery(r))
	}
	return line
}

func toWireRedelivery(r checkout.Redelivery) redeliveryLine {
	return redeliveryLine{wireTime(r.At), r.Delivered, r.Attempts, r.Failure}
}

func toWireResult(r operate.Redelivered) resultLine {
	return resultLine{r.Event.ID, string(r.Event.Name), r.Event.ProviderCode, r.Event.OrderID, r.Left, toWireRedelivery(r.Outcome)}
}

func toWireJob(r checkout.JobRecord) jobLine {
	return jobLine{
		JobID: r.Job.ID, Kind: string(r.Job.Kind), DueAt: wireTime(r.Due), Attempts: r.Attempts, Failure: r.Failure.Reason,
		State: string(r.State), ProviderCode: r.Job.ProviderCode, OrderID: r.Job.OrderID, CheckoutID: r.Job.CheckoutID,
		RequestID: r.Job.RequestID, CreatedAt: wireTime(r.Job.CreatedAt), FailedAt: wireTime(r.Failure.At), SettledAt: wireTime(r.SettledAt),
		Reference: r.Receipt.Reference, Answer: r.Receipt.Answer,
	}
}

func toWireCheckout(c checkout.Checkout) checkoutLine {
	return checkoutLine{CheckoutID: c.ID, ProviderCode: c.ProviderCode, OrderID: c.OrderID, State: state(c), Course: c.Intent.CourseName,
		AgreementNumber: c.Confirmation.AgreementNumber, BillingRequestID: c.Setup.BillingRequestID, MandateID: c.Setup.MandateID,
		MandateStatus: string(c.Setup.Mandate), MandateReason: c.Setup.MandateReason}
}

func toWireMoment(checkoutID string, m checkout.Moment) momentLine {
	line := momentLine{CheckoutID: checkoutID, At: wireTime(m.At), Kind: string(m.Kind), Actor: string(m.Actor), RequestID: m.RequestID, Detail: m.Detail}
	if m.Times > 1 {
		line.Times = m.Times
	}
	return line
}

func toWireVerdict(v evidencelog.Verdict) verdictLine {
	return verdictLine{Mark: strings.TrimSpace(string(v.Mark)), Texts: []string{v.Text}}
}
