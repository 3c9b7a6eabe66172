package checkout

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/money/text"
)

// Query selects the checkouts that match every field that is set.
type Query struct {
	// Text is an id of the checkout, its order, agreement, mandate, billing request, an e-mail address, or
	// the beginning of a family name. Ids are exact; in names and addresses neither case nor accents and macrons count.
	Text         string
	ProviderCode string
	Trouble      Trouble   // Text is "" then
	Now          time.Time // for the trouble
}

// Hit is a checkout that was found.
type Hit struct {
	Checkout Checkout
	Since    time.Time // since when it has the trouble of the query; otherwise its creation
	Reason   string    // of a trouble that is a job: its latest failure
}

// Search returns the text by which an operator finds the student: the family name, the given name and the address, folded; "" once the
// personal data is erased.
func (s Student) Search() string {
	if s == (Student{}) {
		return ""
	}
	return text.FoldName(s.LastName) + " " + text.FoldName(s.FirstName) + " " + text.FoldEmail(s.Email)
}

// SearchDays is the number of days for which a student whose payer has not begun is found by name and address.
const SearchDays = 7

// Words returns the text as it is looked for.
func (q Query) Words() string { return strings.TrimSpace(Storable(q.Text)) }

// Trouble is a reason why something needs an operator's attention. The list is closed.
type Trouble string

const (
	TroubleCRM         Trouble = "crm"         // the CRM, or the processor at an end, has not taken a call that is still to be made
	TroubleEvents      Trouble = "events"      // an event was refused for good in the last 30 days
	TroubleNotices     Trouble = "notices"     // a notice to the payer was refused for good in the last 30 days
	TroubleUnconfirmed Trouble = "unconfirmed" // set up for more than an hour, at most 30 days, and not confirmed
	TroubleUnfinished  Trouble = "unfinished"  // the payer left for the bank's page more than a day ago, at most 30 days, and is not set up
	TroubleMandates    Trouble = "mandates"    // the mandate of an agreement that was not withdrawn ended in the last 30 days
)

// Troubles lists every trouble, the most urgent first.
func Troubles() []Trouble {
	return []Trouble{TroubleCRM, TroubleMandates, TroubleUnconfirmed, TroubleEvents, TroubleNotices, TroubleUnfinished}
}

// TroubleCount is the number of things that have a trouble.
type TroubleCount struct {
	Trouble      Trouble
	ProviderCode string // whose they are or, in a sum over providers, who has the most of them
	Count        int
	Oldest       time.Time // since when the first of them has it
}

// Window returns the times between which a thing must have its trouble since, to be counted at a time.
func (t Trouble) Window(now time.Time) (earliest, latest time.Time) {
	const days = 24 * time.Hour
	earliest, latest = now.Add(-30*days), now
	switch t {
	case TroubleCRM:
		earliest = time.Time{}
	case TroubleUnconfirmed:
		latest = now.Add(-time.Hour)
	case TroubleUnfinished:
		latest = now.Add(-1 * days)
	}
	return earliest, latest
}

// Attention returns the trouble that the checkout has by itself, not by one of its jobs, and since when; "" without one.
func (c Checkout) Attention() (Trouble, time.Time) {
	setup := &c.Setup
	switch {
	case c.Status == Confirmed && !c.Ended() && setup.Mandate.Dead():
		return TroubleMandates, setup.MandateSince
	case c.Status != SetupRequired:
		return "", time.Time{}
	case !setup.CompletedAt.IsZero() && !setup.Mandate.Dead():
		return TroubleUnconfirmed, setup.CompletedAt
	case setup.CompletedAt.IsZero() && !setup.Consent.IsZero():
		return TroubleUnfinished, setup.Consent.At
	}
	return "", time.Time{}
}

// Words says for an operator what the trouble is.
func (t Trouble) Words() string {
	switch t {
	case TroubleCRM:
		return "A call of the CRM or the processor is refused, or not answered"
	case TroubleMandates:
		return "Mandates that ended after the confirm"
	case TroubleUnconfirmed:
		return "Set up for more than an hour, and not confirmed by the provider"
	case TroubleEvents:
		return "Enrolments with events that the provider’s receiver did not take"
	case TroubleNotices:
		return "E-mails that the payer did not get"
	case TroubleUnfinished:
		return "Left for the bank’s page more than a day ago, and not back"
	}
	return string(t)
}

// Words describes the state of the checkout for operators, in lower case.
func (c Checkout) Words(now time.Time) string {
	switch {
	case c.Withdrawn():
		return "withdrawn"
	case c.Status == Cancelled:
		return "cancelled by the " + string(c.End.By)
	case c.Status == Confirmed && c.Setup.Mandate.Dead():
		return "confirmed; the mandate has ended"
	case c.Status == Confirmed:
		return "confirmed"
	case c.Erased():
		return "erased before it was confirmed"
	case c.SetupComplete():
		return "set up; waits for the provider’s confirm"
	case c.Setup.Settling():
		return "the payer is done; the processor is not"
	case !now.Before(c.Newest().Expires):
		return "not set up; the link has expired"
	case c.Setup.Mandate.Dead():
		return "the mandate has ended; waits for another try"
	case c.Setup.BillingRequest == BillingCancelled:
		return "the bank setup failed; waits for another try"
	case c.Setup.BillingRequestID != "":
		return "the payer has begun the bank setup"
	}
	return "waits for the payer"
}

// Summarise returns the sum over all providers for each trouble, the most urgent first.
func Summarise(counts []TroubleCount) (lines []TroubleCount) {
	for _, t := range Troubles() {
		line, most := TroubleCount{Trouble: t}, 0
		for _, c := range counts {
			if c.Trouble != t {
				continue
			}
			if line.Count += c.Count; line.Oldest.IsZero() || c.Oldest.Before(line.Oldest) {
				line.Oldest = c.Oldest
			}
			if c.Count > most {
				line.ProviderCode, most = c.ProviderCode, c.Count
			}
		}
		if line.Count > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

// MaskedEmail returns the student's address as lists show it: its first letter and its host.
func (s Student) MaskedEmail() string {
	local, host, found := strings.Cut(s.Email, "@")
	if !found {
		return ""
	}
	first, _ := utf8.DecodeRuneInString(local)
	return string(first) + "•••@" + host
}
