package rehearsal

import (
	"time"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
)

// situation is something that happens to a checkout.
type situation struct {
	name, about string

	disturbs kind // the first call of this kind is disturbed
	by       disturbance
	status   int           // of the refusal
	wait     time.Duration // of Retry-After, or until the answer

	plays map[int]scenario.Scenario // of the sandbox, by the poll before which it happens, counted from 1
	ends  bool                      // without a confirm: by a refusal of the create, or by a cancellation

	events script
}

// kind is a kind of call.
type kind string

const (
	create  kind = "create"
	poll    kind = "poll"
	confirm kind = "confirm"
)

// disturbance is something that goes wrong with a call.
type disturbance int

const (
	undisturbed disturbance = iota
	lost                    // the service does what it is asked, and the connection is closed in place of the answer
	refused                 // with a status and Retry-After; the service does not get the call
	slow                    // the answer comes late
	taken                   // the order exists with another intent
)

// script is a way in which the events of a checkout are delivered.
type script int

const (
	usual         script = iota
	repeated             // each event is sent again under its id
	late                 // all come after the enrolment
	reversed             // all come after the enrolment, the last one first
	badSignature         // copies with a wrong signature come first
	oldTimestamp         // a copy that was signed long ago comes first
	secretRotated        // a new secret signs too
)

// keyRotated is the situation of a checkout that is created with the next key of its provider.
const keyRotated = "key_rotated"

// situations returns the situations in the order in which checkouts get them. No name is that of a scenario of the sandbox,
// whose suffixes of the order id have the same form.
func situations() []situation {
	const three, five, twelve = 3 * time.Second, 5 * time.Second, 12 * time.Second
	return []situation{
		{name: "plain", about: "nothing goes wrong"},
		{name: "create_answer_lost", about: "the create is done, and its answer is lost", disturbs: create, by: lost},
		{name: "create_503", about: "the create is answered 503, with Retry-After: 3", disturbs: create, by: refused, status: 503,
			wait: three},
		{name: "create_429", about: "the create is answered 429, with Retry-After: 3", disturbs: create, by: refused, status: 429,
			wait: three},
		{name: "create_slow", about: "the create is answered after 12 seconds", disturbs: create, by: slow, wait: twelve},
		{name: "create_conflict", about: "the order exists with another intent (409)", disturbs: create, by: taken, ends: true},
		{name: "poll_503", about: "a poll is answered 503, with Retry-After: 5", disturbs: poll, by: refused, status: 503, wait: five},
		{name: "poll_answer_lost", about: "the answer to a poll is lost", disturbs: poll, by: lost},
		{name: "setup_late", about: "the payer is done before the sixth poll", plays: map[int]scenario.Scenario{6: scenario.SetupSucceeds}},
		{name: "setup_fails_once", about: "the mandate fails at once, and the payer tries again",
			plays: map[int]scenario.Scenario{2: "mandate_failed", 4: scenario.SetupSucceeds}},
		{name: "cancelled", about: "the checkout is cancelled before its setup",
			plays: map[int]scenario.Scenario{2: scenario.OperatorCancels}, ends: true},
		{name: "confirm_503", about: "the confirm is answered 503, with Retry-After: 3", disturbs: confirm, by: refused, status: 503,
			wait: three},
		{name: "confirm_answer_lost", about: "the confirm is done, and its answer is lost", disturbs: confirm, by: lost},
		{name: "confirm_slow", about: "the confirm is answered after 12 seconds", disturbs: confirm, by: slow, wait: twelve},
		{name: keyRotated, about: "the checkout is created with the next key, and the former one is refused"},
		{name: "events_repeated", about: "each event comes again 5 seconds later", events: repeated},
		{name: "events_late", about: "the events come 20 seconds after the enrolment", events: late},
		{name: "events_out_of_order", about: "the events come after the enrolment, the last one first", events: reversed},
		{name: "events_bad_signature", about: "copies of the events with a wrong signature come first", events: badSignature},
		{name: "events_old_timestamp", about: "copies of the events that were signed an hour ago come first", events: oldTimestamp},
		{name: "secret_rotated", about: "a new secret signs the events, and beside it your own", events: secretRotated},
	}
}

// playBefore returns the scenario that happens before a poll, counted from 1. The payer is done before the second poll, unless the
// situation says otherwise.
func (s *situation) playBefore(poll int) scenario.Scenario {
	if s.plays == nil && poll == 2 {
		return scenario.SetupSucceeds
	}
	return s.plays[poll]
}
