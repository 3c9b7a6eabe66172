package checkout

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/events"
)

// Answer is the answer of a receiver to an attempt to deliver an event. It is zero where no answer came.
type Answer struct {
	Status int    // of HTTP
	Body   string // its beginning, two kilobytes at most
}

// Attempt is one attempt to deliver an event.
type Attempt struct {
	At      time.Time
	Number  int // within its run, from 1
	Took    time.Duration
	Status  int    // of the answer; 0 without an answer
	Answer  string // its beginning, a kilobyte at most, with secrets masked
	Failure string // as Failure.Reason; "" if the receiver took the event
	AskedBy Actor  // as Job.AskedBy; "" for an attempt of the service itself
}

// maxAnswer is the largest number of bytes of an answer that is stored.
const maxAnswer = 1024

// secretText matches what must not be kept of an answer: keys of the API, credentials, signatures, and e-mail addresses.
var secretText = regexp.MustCompile(`pck_[a-z]+_\w+|whsec_[\w-]+|(?i:(?:bearer|basic)\s+[\w.~+/=-]+)|v1=[0-9a-f]{16,}` +
	`|(?i:(?:password|passwd|secret|token|api[_-]?key)["']?\s*[:=]\s*["']?)[^\s"',;&}]+|[^\s"'<>(){},;:=&?]+(?:@|%40)[\w.-]+\w`)

// Masked returns the beginning of an answer as it is stored, without these secrets and anything that looks like a secret.
func (a Answer) Masked(secrets ...string) string {
	body := a.Body
	for _, s := range secrets {
		if s != "" {
			body = strings.ReplaceAll(body, s, masked)
		}
	}
	body = secretText.ReplaceAllString(body, masked)
	return storable(body, maxAnswer)
}

const masked = "***"

// furtherRuns are the times after its first failure at which an event is sent again.
var furtherRuns = [...]time.Duration{time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 48 * time.Hour}

// NextRun returns the pause before the next run of attempts at an event that failed at a time, of the runs within a time after that;
// false if there is no further run. Runs for which nobody had time are left out.
func NextRun(failed, now time.Time, within time.Duration) (pause time.Duration, again bool) {
	for _, after := range furtherRuns {
		if at := failed.Add(after); at.After(now) {
			return at.Sub(now), after <= within
		}
	}
	return 0, false
}

const sendAgainPrefix = string(JobRedeliver) + ":"

// EventID returns the id of the event that a job of kind JobDeliver or JobRedeliver sends.
func (j Job) EventID() string {
	id, _, _ := strings.Cut(strings.TrimPrefix(j.ID, sendAgainPrefix), ":")
	return id
}

// SendAgain returns the job of the further runs of an event that failed at a time; its first run is due after the pause.
func SendAgain(e events.Event, failed time.Time, pause time.Duration) Job {
	j := DeliveryOf(e)
	j.ID, j.Kind, j.Body = sendAgainPrefix+e.ID, JobRedeliver, nil
	j.CreatedAt, j.Due = failed, failed.Add(pause)
	return j
}

// SendNow returns the job of one run of attempts at an event, for its provider, by a request, or for an operator.
func SendNow(e events.Event, by Actor, run, requestID string, at time.Time) Job {
	j := SendAgain(e, at, 0)
	j.ID, j.RequestID, j.Body = j.ID+":"+run, requestID, []byte(by)
	return j
}

// AskedBy returns the actor who asked for the run of a job of kind JobRedeliver; "" for a run that nobody asked for.
func (j Job) AskedBy() Actor { return Actor(j.Body) }

// Resend decides whether a provider's event can be sent again: ErrPending if it is being sent anyway, CONFLICT if there was no
// destination or is not any now.
func (e EventRecord) Resend(p catalogue.Provider) error {
	switch {
	case e.Status == events.NotConfigured, !p.Destination.Configured():
		return refuseResend()
	case e.Status == events.Pending:
		return ErrPending
	}
	return nil
}

// ErrPending: the event is being sent.
var ErrPending = errors.New("the event is pending: it is being sent")
