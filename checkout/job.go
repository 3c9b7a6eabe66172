package checkout

import (
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/events"
)

// A job is work to be done later, once, by one of many processes: to deliver an event, to have the CRM complete an
// enrolment, to erase what was kept for long enough. It enters the queue in the commit of the change that it follows from. A
// process leases it, makes an attempt, and settles it, in one commit with the change that the attempt leads to. The lease has
// a fencing token: a process that lost its lease settles nothing.

// JobKind is the kind of a job; each has one handler.
type JobKind string

const (
	JobDeliver   JobKind = "deliver"   // send an event to its provider
	JobNotify    JobKind = "notify"    // send a notice to a payer
	JobOpen      JobKind = "open"      // have the CRM open an enrolment
	JobComplete  JobKind = "complete"  // have the CRM complete an enrolment
	JobAuthority JobKind = "authority" // have the CRM record that the mandate of an enrolment has ended, or lives again
	JobEnd       JobKind = "end"       // have the CRM record that an enrolment has ended
	JobLook      JobKind = "look"      // ask the processor about a setup
	JobCancel    JobKind = "cancel"    // have the processor end the setup of a checkout that has ended
	JobNotified  JobKind = "notified"  // handle a notification of the processor
	JobReconcile JobKind = "reconcile" // read the processor's own list of its notifications
	JobRetain    JobKind = "retain"    // erase personal data that was kept for long enough
	JobPull      JobKind = "pull"      // read the providers from the CRM
)

// JobKinds lists every kind, for tables that must be complete.
func JobKinds() []JobKind {
	return []JobKind{JobDeliver, JobNotify, JobOpen, JobComplete, JobAuthority, JobEnd, JobLook, JobCancel,
		JobNotified, JobReconcile, JobRetain, JobPull}
}

// Job is one piece of work. It holds no personal data, but for the body of an event, which has no more than the contract says.
type Job struct {
	// ID is unique among the jobs of a checkout, or among the service's own: evt_…, ntc_…, or made of the kind and the subject, so
	// that the same work enters once.
	ID           string
	Kind         JobKind
	ProviderCode string    // the queue that it is in: one provider's work delays no other's; "" for the service's own
	OrderID      string    // "" for the service's own, like CheckoutID
	CheckoutID   string    // whose events are delivered in the order in which they entered, and its notices one at a time
	RequestID    string    // of the request that it follows from; "" without a request
	Name         string    // an event's name, a notice's kind, the subject of a notification
	Body         []byte    // an event's body, as it is signed and sent
	Try          int       // of the setup that a notice or a look is about
	CreatedAt    time.Time // UTC, to the millisecond
	Due          time.Time // the first attempt is made at this time or later; zero: at once
}

// JobState is the state of a job.
type JobState string

const (
	JobPending JobState = "pending" // to be attempted
	JobDone    JobState = "done"
	JobDead    JobState = "dead"    // refused for good, or the attempts are used up
	JobDropped JobState = "dropped" // not needed: an event without a destination, a notice that is true no longer
)

// EventStatus returns the status of an event by the state of its job.
func (s JobState) EventStatus() events.Status {
	switch s {
	case JobDone:
		return events.Delivered
	case JobDead:
		return events.Failed
	case JobDropped:
		return events.NotConfigured
	}
	return events.Pending
}

// DeliveryOf returns the job that delivers an event.
func DeliveryOf(e events.Event) Job {
	return Job{ID: e.ID, Kind: JobDeliver, ProviderCode: e.ProviderCode, OrderID: e.OrderID, CheckoutID: e.CheckoutID,
		RequestID: e.RequestID, Name: string(e.Name), Body: e.Body, CreatedAt: e.CreatedAt}
}

// Event returns the event that a job of kind JobDeliver delivers.
func (j Job) Event() events.Event {
	return events.Event{ID: j.ID, Name: events.Name(j.Name), CheckoutID: j.CheckoutID, ProviderCode: j.ProviderCode,
		OrderID: j.OrderID, RequestID: j.RequestID, CreatedAt: j.CreatedAt, Body: j.Body}
}

// job returns a job about the checkout; try is 0 for a job that is not about a try.
func (c Checkout) job(kind JobKind, requestID string, try int, at time.Time) Job {
	id := string(kind) + ":" + c.ID
	if try > 0 {
		id += ":" + strconv.Itoa(try)
	}
	return Job{ID: id, Kind: kind, ProviderCode: c.ProviderCode, OrderID: c.OrderID, CheckoutID: c.ID, RequestID: requestID,
		Try: try, CreatedAt: at}
}

// Enrolled reports whether nothing of the enrolment waits for the CRM.
func (c Checkout) Enrolled() bool {
	return c.Status == Confirmed || c.Status == Cancelled || c.Status == SetupRequired && !c.concluded()
}

// concluded reports whether the checkout's agreement is on record.
func (c Checkout) concluded() bool {
	return c.Status == Confirmed || c.Confirmation.AgreementNumber != ""
}

// Notification is a hint of the processor that something happened to a setup. What is so must be asked.
type Notification struct {
	ID               string // unique at the processor
	Received         time.Time
	BillingRequestID string // that it is about; "" if it is about a mandate
	MandateID        string
	// Settles is set where the billing request was fulfilled: the mandate must be known soon, and until then the notification
	// is handled again.
	Settles bool
}

// Job returns the job that handles the notification.
func (n Notification) Job() Job {
	j := Job{ID: "notified:" + n.ID, Kind: JobNotified, Name: mandateSubject + n.MandateID, CreatedAt: n.Received}
	if n.BillingRequestID != "" {
		j.Name = billingRequestSubject + n.BillingRequestID
	}
	if n.Settles {
		j.Try = 1
	}
	return j
}

const (
	billingRequestSubject = "billing request "
	mandateSubject        = "mandate "
)

// Notification returns the notification that a job of kind JobNotified handles.
func (j Job) Notification() Notification {
	n := Notification{ID: strings.TrimPrefix(j.ID, "notified:"), Received: j.CreatedAt, Settles: j.Try > 0}
	if id, ok := strings.CutPrefix(j.Name, billingRequestSubject); ok {
		n.BillingRequestID = id
	} else {
		n.MandateID = strings.TrimPrefix(j.Name, mandateSubject)
	}
	return n
}
