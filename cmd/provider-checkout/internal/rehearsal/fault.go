package rehearsal

import (
	"fmt"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
)

func (f Fault) String() string {
	text := cli.OneLine(f.Wrong)
	if f.Times > 1 {
		text += fmt.Sprintf(" (%d times)", f.Times)
	}
	text += fmt.Sprintf("\n    the documentation: %s\n    %s", f.Says, f.Page)
	if f.Request != "" {
		text += "\n    after request " + f.Request
	}
	return text
}

// rule is a rule for integrations.
type rule struct {
	name   string
	wrong  string // the format of the words for a fault
	says   string // a sentence of the documentation, to the letter
	anchor string // of its section
}

// Sections, and sentences that several rules quote.
const (
	overview, retries, ofEvents, signatures = "overview", "retries-times-and-limits", "events", "checking-a-signature"

	atOnce  = "Answer 2xx at once, also to one that you have taken, and work afterwards."
	amounts = "Amounts are JSON numbers in NZD, whole cents, up to 9,999,999.99."
	again   = "Send the same request again after a lost connection, a time-out, 429, 500 or 503: after the seconds of " +
		"`Retry-After`, or else after 1, 2, 4 and 8 seconds."
)

// The rules.
var (
	wrongContentType = rule{"content_type", "the %s has the Content-Type %q",
		"Call it from your server with `Authorization: Bearer <API_KEY>` and `Content-Type: application/json`; the " +
			"key never goes to a browser.", overview}
	amountAsText   = rule{"amount_as_text", "the create has %s as a text", amounts, overview}
	amountNotCents = rule{"amount_not_in_cents", "the create has %s with parts of a cent", amounts, overview}
	newOrder       = rule{"new_order_id",
		"the create was not sent again; the same came under the order id %s: as a retry, that makes two enrolments",
		"Your order id names the enrolment, and every retry sends the same.", "2.-create-a-checkout"}
	otherKey = rule{"other_idempotency_key", "the create was sent again with another Idempotency-Key: %q after %q",
		"A key of your own for this enrolment: one header of 1 to 255 visible ASCII characters, with the same value " +
			"on every retry.", "createCheckout"}
	changedRetry      = rule{"changed_retry", "the %s was sent again with another body", again, retries}
	givesUp           = rule{"gives_up", "the %s was not sent again after %s", again, retries}
	ignoresRetryAfter = rule{"ignores_retry_after", "the %s was sent again %s before Retry-After was over",
		again, retries}
	retriesRefusal = rule{"retries_refusal", "the %s was refused with %s, and sent again as it was",
		"After any other 4xx it would be refused again.", retries}
	shortTimeout = rule{"short_timeout", "the %s was given up or sent again after %s, while its answer was on the way",
		"Give your client a time-out of 30 seconds.", retries}
	pollsTooFast = rule{"polls_too_fast", "a poll came %s after the answer to the one before, which had next_poll_after: %d",
		"Poll as `direct_debit.next_poll_after` says: every 2 seconds while the payer may be on the setup page, " +
			"every few minutes afterwards.", retries}
	stopsPolling = rule{"stops_polling", "the checkout was polled %d times, and no more, while its setup was not complete",
		"Poll it while the payer is on the setup page, until `direct_debit.setup_complete` is `true`; then confirm.", "getCheckout"}
	pollsOn = rule{"polls_on", "a poll said that the checkout is cancelled, and the polls went on",
		"Seconds to wait before you get the checkout (again); absent while there is nothing to wait for: confirm, or " +
			"leave a checkout that has ended.", "getCheckout-response"}
	confirmsEarly = rule{"confirms_early", "the confirm came before a poll had said setup_complete: true",
		"Confirm when `direct_debit.setup_complete` is `true` and `direct_debit.mandate_status` one of the three.",
		"error-DIRECT_DEBIT_SETUP_INCOMPLETE"}
	neverConfirms = rule{"never_confirms", "a poll said setup_complete: true, and no confirm came",
		"Poll it while the payer is on the setup page, until `direct_debit.setup_complete` is `true`; then confirm.", "getCheckout"}
	repeatIsError = rule{"repeat_taken_for_error",
		"the confirm was answered 200 with already_confirmed: true, and a %s followed, as after an error",
		"The confirm may be sent again: it then answers `already_confirmed: true` with the same agreement.", "5.-confirm"}
	confirmsCancelled = rule{"confirms_cancelled", "a poll said that the checkout is cancelled, and a confirm followed",
		"Open a new checkout under a new order id, if the student still wants to enrol.", "error-CHECKOUT_CANCELLED"}
	formerKey = rule{"former_key", "the %s has the former key, and the checkout was created with the next one",
		"Check which key and which base address you use.", "error-INVALID_API_KEY"}
	createdFormer = rule{"created_with_former_key",
		"this checkout was created with the former key: create it with the next key that was printed at the start",
		"Check which key and which base address you use.", "error-INVALID_API_KEY"}
	isRefused     = rule{"refused", "the %s was refused with %s: %s", "Every refusal comes in one envelope.", "errors"}
	refusesEvent  = rule{"refuses_event", "the receiver did not take %s: %s", atOnce, ofEvents}
	refusesRepeat = rule{"refuses_repeat", "the receiver did not take %s when it came again: %s",
		"Keep each `event_id` that you took, and answer 2xx to one that you have seen.", signatures}
	refusesLate = rule{"refuses_late_event", "the receiver did not take %s, which came after the enrolment: %s",
		"Only an attempt that the network held up can arrive late, behind its own repeat and later events: you know " +
			"it by its `event_id`.", ofEvents}
	refusesRotated = rule{"refuses_rotated_secret", "the receiver did not take %s, whose second v1 is by its own secret: %s",
		"One match suffices.", signatures}
	takesForged = rule{"takes_bad_signature", "the receiver took %s with a signature that does not match (%s)",
		"Check it over the bytes of the body as they came, before any parser, and believe no event whose signature " +
			"does not match.", signatures}
	takesOld = rule{"takes_old_timestamp", "the receiver took %s with a signature of an hour ago",
		"Refuse a `t` more than 300 seconds from your clock, on either side.", signatures}
	slowReceiver = rule{"slow_receiver", "the receiver had not answered %s after 2 seconds, three times",
		atOnce, ofEvents}
	redirects = rule{"receiver_redirects", "the receiver answered %s with a redirect, %d",
		"Redirects are not followed.", ofEvents}
	actsTwice = rule{"acts_twice", "%s came a second time, and the %s was sent again",
		"Take each `event_id` once.", ofEvents}
)
