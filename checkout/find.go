package checkout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// MaxPage is the largest number of entries in a page of a list for operators.
const MaxPage = 100

// Query says which checkouts an operator looks for: the checkouts that match every field that is set. Without a text and a trouble it
// lists the checkouts of the provider.
type Query struct {
	// Text is an id of the checkout, its order, agreement, mandate, billing request, an event or a request (req_…), the id of an API
	// key, an e-mail address, or the beginning of a name, given name or family name first. Ids are exact; in names and addresses
	// neither case nor accents and macrons count. The id of a key finds the checkouts of its provider.
	Text         string
	ProviderCode string
	Trouble      Trouble   // Text is "" then
	Now          time.Time // for the trouble
}

// Hit is a checkout that was found.
type Hit struct {
	Checkout Checkout
	By       string    // the part of it that the text names: "order", "name"; "" without a text
	Since    time.Time // since when it has the trouble of the query; otherwise its creation
}

// Page is a part of a list.
type Page struct {
	Hits []Hit
	Next string // continues the list after this page; "" at its end. It has no personal data
}

// Kinds of a Hit, and the parts of a text that they go by.
const (
	ByID             = "checkout"
	ByOrder          = "order"
	ByAgreement      = "agreement"
	ByBillingRequest = "billing request"
	ByMandate        = "mandate"
	ByEvent          = "event"
	ByRequest        = "request"
	ByKey            = "key"
	ByEmail          = "e-mail"
	ByName           = "name"
)

// Search is the words by which an operator finds a person's checkouts. It is zero once the personal data is erased.
type Search struct {
	Name   string // folded, the given name first
	Family string // folded, the family name first
	Email  string // folded
}

// Search returns the words by which the student's checkouts are found.
func (s Student) Search() Search {
	if s == (Student{}) {
		return Search{}
	}
	return Search{text.FoldName(s.FirstName + " " + s.LastName), text.FoldName(s.LastName + " " + s.FirstName), text.FoldEmail(s.Email)}
}

// Words returns the text as it is looked for.
func (q Query) Words() string { return strings.TrimSpace(storable(q.Text, maxStored)) }

// Search returns the words of the text: an address, or the beginning of a name; neither for a text that names a request, an event or
// nobody.
func (q Query) Search() (email, name string) {
	switch t := q.Words(); {
	case strings.HasPrefix(t, "req_"), strings.HasPrefix(t, "evt_"):
		return "", ""
	case strings.ContainsRune(t, '@'):
		return text.FoldEmail(t), ""
	default:
		return "", text.FoldName(t)
	}
}

// Trouble is a reason for which something needs a hand. The list is closed.
type Trouble string

const (
	TroubleCRM           Trouble = "crm"           // the CRM, or the processor at an end, has refused or not answered a call that is still to be made
	TroubleEvents        Trouble = "events"        // an event was refused for good in the last 30 days
	TroubleNotices       Trouble = "notices"       // a notice to the payer was refused for good in the last 30 days
	TroubleUnconfirmed   Trouble = "unconfirmed"   // set up for more than an hour, at most 30 days, and not confirmed
	TroubleUnfinished    Trouble = "unfinished"    // the payer left for the bank's page more than a day ago, at most 30 days, and is not set up
	TroubleMandates      Trouble = "mandates"      // the mandate of an agreement that was not withdrawn ended in the last 30 days
	TroubleNotifications Trouble = "notifications" // notifications of the processor wait for more than ten minutes; of no checkout
	TroubleEvidence      Trouble = "evidence"      // entries of the evidence log are not sealed after ten minutes; of no checkout
)

// Troubles lists every trouble, the most urgent first.
func Troubles() []Trouble {
	return []Trouble{TroubleCRM, TroubleMandates, TroubleUnconfirmed, TroubleEvents, TroubleNotices, TroubleUnfinished,
		TroubleNotifications, TroubleEvidence}
}

// TroubleCount is the number of things of one provider that have a trouble.
type TroubleCount struct {
	Trouble      Trouble
	ProviderCode string // "" for a trouble of the service itself
	Count        int
	Oldest       time.Time // since when the first of them has it
}

// FunnelDay counts the checkouts of a provider that were created on one day, and how many of them came how far by now.
type FunnelDay struct {
	ProviderCode string
	Day          string // YYYY-MM-DD, UTC
	Created      int
	Opened       int // the payer opened the setup page
	Pressed      int // the payer went on to the bank
	SetUp        int // the direct debit was set up
	Confirmed    int
}

// Concluded is an agreement with its checkout, for a report. Of the agreement it has the identity, when it was accepted, the
// figures of Pricing that are financed and paid upfront, and the schedule; of the checkout the identity, the status, the state of the
// mandate, the ids of the agreement and when it ended.
type Concluded struct {
	Agreement agreement.Agreement
	Checkout  Checkout
}

// OfCheckouts reports whether checkouts have the trouble. The others have no list of checkouts.
func (t Trouble) OfCheckouts() bool { return t != TroubleNotifications && t != TroubleEvidence }

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
	case TroubleNotifications, TroubleEvidence:
		earliest, latest = time.Time{}, now.Add(-10*time.Minute)
	}
	return earliest, latest
}

// funnel is the moments that the funnel counts, in their order.
var funnel = []MomentKind{MomentCreated, MomentOpened, MomentPressed, MomentSetupDone, MomentConfirmed}

// Stage returns the stage of the funnel that a moment is, from 1 on; 0 if it is not counted.
func (k MomentKind) Stage() int { return slices.Index(funnel, k) + 1 }

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
		return "Events that the provider’s receiver did not take"
	case TroubleNotices:
		return "E-mails that the payer did not get"
	case TroubleUnfinished:
		return "Left for the bank’s page more than a day ago, and not back"
	case TroubleNotifications:
		return "Notifications of the processor that wait"
	case TroubleEvidence:
		return "Entries of the evidence log that are not sealed"
	}
	return string(t)
}

// Words says for an operator how far the checkout is, in letters of lower case.
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
	case c.Status == Reserved:
		return "waits for the CRM to open it"
	case !c.Enrolled():
		return "agreed; waits for the CRM to complete it"
	case c.SetupComplete():
		return "set up; waits for the provider's confirm"
	case c.Setup.Settling():
		return "the payer is done; the processor is not"
	case !now.Before(c.Newest().Expires):
		return "not set up; the link has expired"
	case c.Setup.BillingRequestID != "":
		return "the payer has begun the bank setup"
	}
	return "waits for the payer"
}

// Today is one line for an operator: a trouble of all providers together.
type Today struct {
	Trouble Trouble
	Count   int
	Oldest  time.Time
	Worst   string // the provider with the most of it; "" for a trouble of the service itself
}

// Summarise returns a line for each trouble, the most urgent first.
func Summarise(counts []TroubleCount) (lines []Today) {
	for _, t := range Troubles() {
		line, most := Today{Trouble: t}, 0
		for _, c := range counts {
			if c.Trouble != t {
				continue
			}
			if line.Count += c.Count; line.Oldest.IsZero() || c.Oldest.Before(line.Oldest) {
				line.Oldest = c.Oldest
			}
			if c.Count > most {
				line.Worst, most = c.ProviderCode, c.Count
			}
		}
		if line.Count > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

// Weeks adds the days of each ISO week up, in the order of the weeks and the codes; their Day is such as 2026-W47.
func Weeks(days []FunnelDay) (weeks []FunnelDay) {
	for _, d := range days {
		at, err := time.Parse(time.DateOnly, d.Day)
		if err != nil {
			continue
		}
		year, week := at.ISOWeek()
		d.Day = fmt.Sprintf("%04d-W%02d", year, week)
		i := slices.IndexFunc(weeks, func(w FunnelDay) bool { return w.Day == d.Day && w.ProviderCode == d.ProviderCode })
		if i < 0 {
			weeks = append(weeks, d)
			continue
		}
		w := &weeks[i]
		w.Created, w.Opened, w.Pressed = w.Created+d.Created, w.Opened+d.Opened, w.Pressed+d.Pressed
		w.SetUp, w.Confirmed = w.SetUp+d.SetUp, w.Confirmed+d.Confirmed
	}
	slices.SortFunc(weeks, func(a, b FunnelDay) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.ProviderCode, b.ProviderCode))
	})
	return weeks
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
