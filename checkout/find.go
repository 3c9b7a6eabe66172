package checkout

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

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
	TroubleCRM           Trouble = "crm"           // the CRM has refused or not answered a call that is still to be made
	TroubleEvents        Trouble = "events"        // an event was refused for good in the last 30 days
	TroubleNotices       Trouble = "notices"       // a notice to the payer was refused for good in the last 30 days
	TroubleUnconfirmed   Trouble = "unconfirmed"   // set up for more than an hour, at most 30 days, and not confirmed
	TroubleUnfinished    Trouble = "unfinished"    // the payer left for the bank's page more than a day ago, at most 30 days, and is not set up
	TroubleMandates      Trouble = "mandates"      // the mandate of a confirmed enrolment ended in the last 30 days
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

// Concluded is an agreement with its checkout.
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

// Stage is a moment that the funnel counts.
type Stage struct {
	ProviderCode, CheckoutID string
	Kind                     MomentKind
}

// CountStages counts, by day and provider, the checkouts that were created from a day on and before another one: each once in each
// column of which it has a stage.
func CountStages(stages []Stage, from, to string) []FunnelDay {
	seen := map[Stage]bool{}
	days := map[[2]string]*FunnelDay{}
	for _, s := range stages {
		day := dayOf(s.CheckoutID)
		if seen[s] || new(FunnelDay).column(s.Kind) == nil || day < from || day >= to {
			continue
		}
		seen[s] = true
		d := days[[2]string{day, s.ProviderCode}]
		if d == nil {
			d = &FunnelDay{ProviderCode: s.ProviderCode, Day: day}
			days[[2]string{day, s.ProviderCode}] = d
		}
		*d.column(s.Kind)++
	}
	list := make([]FunnelDay, 0, len(days))
	for _, d := range days {
		list = append(list, *d)
	}
	slices.SortFunc(list, func(a, b FunnelDay) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.ProviderCode, b.ProviderCode))
	})
	return list
}

// column returns the count of the checkouts that have a moment of the kind, or nil if the funnel does not count it.
func (d *FunnelDay) column(kind MomentKind) *int {
	switch kind {
	case MomentCreated:
		return &d.Created
	case MomentOpened:
		return &d.Opened
	case MomentPressed:
		return &d.Pressed
	case MomentSetupDone:
		return &d.SetUp
	case MomentConfirmed:
		return &d.Confirmed
	}
	return nil
}

// dayOf returns the day on which the checkout with this id was created, as the id says.
func dayOf(checkoutID string) string {
	rest := strings.TrimPrefix(checkoutID, ProviderOf(checkoutID)+"-")
	ms, _, _ := strings.Cut(rest, "-")
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return ""
	}
	return time.UnixMilli(n).UTC().Format(time.DateOnly)
}
