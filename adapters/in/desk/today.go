package desk

import (
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// trouble is a line of the page Today.
type trouble struct {
	Text   string
	Link   string
	Count  int
	Oldest time.Time
	Worst  string // the provider with the most of it; "" for a trouble of the service itself
}

// troubleTexts say what needs a hand.
var troubleTexts = map[checkout.Trouble]string{
	checkout.TroubleCRM:           "The CRM refuses a call, or does not answer",
	checkout.TroubleEvents:        "Events that the provider’s receiver did not take",
	checkout.TroubleNotices:       "E-mails that the payer did not get",
	checkout.TroubleUnconfirmed:   "Set up for more than an hour, and not confirmed by the provider",
	checkout.TroubleUnfinished:    "Left for the bank’s page more than a day ago, and not back",
	checkout.TroubleMandates:      "Mandates that ended after the confirm",
	checkout.TroubleNotifications: "Notifications of the processor that wait",
	checkout.TroubleEvidence:      "Entries of the evidence log that are not sealed",
}

// today shows what needs a hand. Where nothing does, the page says so.
func (v *visit) today() error {
	var content struct {
		Troubles  []trouble
		Approvals int
	}
	counts, err := v.Store.Troubles(v.r.Context(), v.Now())
	if err != nil {
		return err
	}
	content.Troubles = troublesOf(counts)
	o, err := v.operator()
	if err != nil {
		return err
	}
	waiting, err := o.Approvals(v.r.Context())
	if err != nil {
		return err
	}
	for _, a := range waiting {
		if v.decider(a) != "" {
			content.Approvals++
		}
	}
	return v.page("today.html", "Today", content)
}

// troublesOf returns a line for each trouble, in their order.
func troublesOf(counts []checkout.TroubleCount) (lines []trouble) {
	for _, kind := range checkout.Troubles() {
		line, most := trouble{Text: troubleTexts[kind]}, 0
		for _, c := range counts {
			if c.Trouble != kind {
				continue
			}
			if line.Count += c.Count; line.Oldest.IsZero() || c.Oldest.Before(line.Oldest) {
				line.Oldest = c.Oldest
			}
			if c.Count > most {
				line.Worst, most = c.ProviderCode, c.Count
			}
		}
		if kind.OfCheckouts() {
			line.Link = "/find?trouble=" + string(kind)
		}
		if line.Count > 0 {
			lines = append(lines, line)
		}
	}
	return slices.Clip(lines)
}

// count returns a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
