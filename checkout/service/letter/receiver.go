package letter

import (
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
)

// Receiver is a provider's receiver of events that takes none of them, or takes them again.
type Receiver struct {
	Provider string
	Colour   string // of its branding, or ""
	Host     string // of the receiver's address, whose path may be confidential
	Since    time.Time
	Reason   string        // why the latest event failed, or ""
	Again    time.Duration // for which an event that failed is sent again; 0: it is not
	Well     bool          // it takes events again
	Sandbox  bool
}

// OfReceiver tells a provider that its receiver takes no events, or that it takes them again. There is nothing about a person in it.
func OfReceiver(r Receiver) Letter {
	list := "The events that failed, and all others, are in GET /v1/events; POST /v1/events/{event_id}/redeliver has one sent again."
	if r.Again > 0 {
		list = fmt.Sprintf("We send each event that failed again for up to %.0f hours. ", r.Again.Hours()) + list
	}
	s := sheet{provider: r.Provider, colour: r.Colour, names: []string{r.Provider, r.Host, r.Reason}, sandbox: r.Sandbox, subject: "your receiver takes no events",
		title: "Your receiver takes no events", paragraphs: []string{
			"Hello,",
			"We send signed events about your enrolments to your receiver. Since " + moment(r.Since) + " it has not taken any.",
			"No event is lost. " + list,
			"What to do: have the receiver answer each event with a status of 2xx within 2 seconds.",
			"We write once more when it takes events again.",
		}, card: []agreement.Row{{Label: "Receiver", Value: r.Host}}}
	if r.Reason != "" {
		s.card = append(s.card, agreement.Row{Label: "Latest failure", Value: r.Reason})
	}
	if r.Well {
		s.subject, s.title = "your receiver takes events again", "Your receiver takes events again"
		s.card = s.card[:1]
		s.paragraphs = []string{
			"Hello,",
			"Your receiver has taken an event. It had not taken any since " + moment(r.Since) + ".",
			list,
		}
	}
	return s.letter()
}
