// Package scenario makes a sandbox behave as the end of an order id asks: the setup of the order ORDER+setup_fails fails. Nothing is
// stored for it: the behaviour follows from the order id and the time. Production has none of it.
package scenario

import (
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// Scenario is the word after the last + of an order id.
type Scenario string

// The scenarios.
const (
	SetupFails       Scenario = "setup_fails"       // the billing request of the first try is cancelled
	MandateFails     Scenario = "mandate_fails"     // the mandate fails a minute after the setup
	MandateCancelled Scenario = "mandate_cancelled" // the mandate is cancelled two minutes after the setup
	LinkExpires      Scenario = "link_expires"      // the setup link opens for five seconds
	PDFFails         Scenario = "pdf_fails"         // the agreement is not rendered
	EventFails       Scenario = "event_fails"       // attempts at an event fail for a minute
	EventTwice       Scenario = "event_twice"       // each event is sent twice
	EventForged      Scenario = "event_forged"      // a copy with a wrong signature comes before each event
	Answer503        Scenario = "answer_503"        // the first create and the first confirm are answered 503, before their commit
	AnswerLost       Scenario = "answer_lost"       // the connection closes after the commit of a create and of a confirm
)

// All returns the scenarios in the order in which an enrolment meets them.
func All() []Scenario {
	return []Scenario{Answer503, AnswerLost, LinkExpires, SetupFails, MandateFails, MandateCancelled, PDFFails, EventFails, EventTwice,
		EventForged}
}

// Of returns the scenario at the end of an order id, or "".
func Of(orderID string) Scenario {
	if at := strings.LastIndexByte(orderID, '+'); at > 0 {
		if s := Scenario(orderID[at+1:]); slices.Contains(All(), s) {
			return s
		}
	}
	return ""
}

// linkLife is the lifetime of the setup link of an order with LinkExpires.
const linkLife = 5 * time.Second

// Decorate makes a service follow the scenarios. It decorates the ports of c, which must be set.
func Decorate(c *service.Config) {
	c.Processor = processor{c.Processor, c.Now}
	c.Sender = sender{c.Sender, c.Now}
	c.Printer = printer{c.Printer}
	c.Store = &store{Store: c.Store}
	lifetime := c.SetupLifetime
	c.SetupLifetime = func(orderID string) time.Duration {
		if Of(orderID) == LinkExpires {
			return linkLife
		}
		if lifetime != nil {
			return lifetime(orderID)
		}
		return 0
	}
}
