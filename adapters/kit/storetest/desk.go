package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Desk tests a store against ports.Desk.
func Desk(t *testing.T, open Open) {
	run(t, open, []promise{
		{"a checkout is found by each of its ids", foundByIDs},
		{"a person is found by the beginning of the name, whatever its case and accents", foundByName},
		{"signs that a database may take for wildcards are signs", foundWithWildcards},
		{"an address is found whole, whatever its case", foundByEmail},
		{"a filter leaves out the checkouts of other providers", foundOfProvider},
		{"an erased person is not found", erasedNotFound},
		{"as many are found as the limit says, the newest first", foundNewest},
		{"troubles are counted by provider, and listed by the time since when", troublesCounted},
		{"what is no trouble any more is not counted", troublesEnd},
	})
}

// search returns the ids of all checkouts that a query finds.
func search(t *testing.T, s ports.Desk, q checkout.Query) (ids []string) {
	t.Helper()
	for _, h := range result(s.Find(t.Context(), q, many))(t) {
		ids = append(ids, h.Checkout.ID)
	}
	return ids
}

// finds reports if a text does not find these checkouts, in their order.
func finds(t *testing.T, s ports.Desk, text string, want ...checkout.Change) {
	t.Helper()
	same(t, fmt.Sprintf("found by %q", text), search(t, s, checkout.Query{Text: text}), ids(want...))
}

// named returns what a create of a person stores.
func named(n int, first, last string) checkout.Change {
	c := opened(n)
	c.Next.Student = checkout.Student{FirstName: first, LastName: last, Email: fmt.Sprintf("P%d@Student.example", n)}
	return c
}

func foundByIDs(t *testing.T, s ports.Admin) {
	configure(t, s, configuration("KOWHAI"), legacy("RIMU"))
	addKeys(t, s, key(1))
	other := ofProvider("RIMU", opened(2))
	c := opened(1)
	c.Next.RequestID, c.Moments[0].RequestID = "req_created", "req_created"
	insert(t, s, c, other)
	done := confirm(t, s, c.Next.ID, 1)
	note(t, s, 1, checkout.Moment{At: at(2), Kind: checkout.MomentRefused, Actor: "provider:id1", RequestID: "req_refused"})
	for _, text := range []string{c.Next.ID, c.Next.OrderID, done.Agreement.Number, strings.ToLower(done.Agreement.Number),
		done.Next.Setup.BillingRequestID, done.Next.Setup.MandateID, c.Events[0].ID, "req_created", "req_refused",
		done.Next.Confirmation.RequestID, "  " + c.Next.ID + "\n"} {
		want := []checkout.Hit{{Checkout: done.Next, Since: done.Next.CreatedAt}}
		gets(t, "Find "+text, want)(s.Find(t.Context(), checkout.Query{Text: text}, many))
	}
	settle(t, s, lease(t, s, c.Events[0].ID), checkout.Outcome{State: checkout.JobDone, Attempts: 1})
	finds(t, s, c.Events[0].ID, c)
	for _, text := range []string{"", " ", "nobody", "req_", "evt_", "req_x", "evt_x", "KOWHAI", c.Next.OrderID + "x", "%", "@", "x@", strings.ToUpper(c.Next.OrderID)} {
		finds(t, s, text)
	}
	finds(t, s, other.Next.OrderID, other)
}

func foundByName(t *testing.T, s ports.Admin) {
	maia, mania := named(1, "Māia", "Tūhoe-Wāhanga"), named(2, "MANIA", "O’Neill")
	ana, tui := named(3, "Ana", "Ana"), named(4, "Tui", "Ānaru")
	insert(t, s, maia, mania, ana, tui)
	for text, want := range map[string][]checkout.Change{
		"tuhoe": {maia}, "TŪHOE": {maia}, "tu\u0304hoe": {maia}, "Tūhoe Wahanga": {maia}, "tuhoe-wahanga": {maia}, "t": {maia},
		"ONEILL": {mania}, "o'n": {mania}, "ana": {tui, ana}, "Ānar": {tui}, "maia": nil, "uhoe": nil, "hoe wahanga": nil,
	} {
		finds(t, s, text, want...)
	}
}

func foundWithWildcards(t *testing.T, s ports.Admin) {
	percent, under := opened(1), opened(2)
	percent.Next.OrderID, under.Next.OrderID = "50%", "a_b"
	percent.Next.Student.Email, under.Next.Student.Email = "a%@x.example", "a_@x.example"
	configure(t, s, configuration("KOWHAI"))
	insert(t, s, percent, under)
	for text, want := range map[string][]checkout.Change{
		"50%": {percent}, "a_b": {under}, "a%@x.example": {percent}, "a_@x.example": {under}, "ab@x.example": nil, "%": nil, "_": nil,
		"5%": nil, "axb": nil, "*": nil, "?": nil, "'": nil, `\`: nil, "\x00": nil, "\xff": nil, "'; DROP TABLE checkouts": nil,
	} {
		finds(t, s, text, want...)
	}
}

func foundByEmail(t *testing.T, s ports.Admin) {
	first, second := named(1, "A", "B"), named(2, "C", "D")
	second.Next.Student.Email = first.Next.Student.Email
	insert(t, s, first, second, named(3, "E", "F"))
	finds(t, s, "p1@student.EXAMPLE", second, first)
	finds(t, s, "p1@student")
	finds(t, s, "@student.example")
}

func foundOfProvider(t *testing.T, s ports.Admin) {
	configure(t, s, configuration("KOWHAI"), legacy("RIMU"))
	addKeys(t, s, key(1))
	mine, other := named(1, "Māia", "Tūhoe"), ofProvider("RIMU", named(1, "Māia", "Tūhoe"))
	insert(t, s, mine, other)
	for _, text := range []string{"tuhoe", "p1@student.example", mine.Next.OrderID} {
		same(t, text+" of all", len(search(t, s, checkout.Query{Text: text})), 2)
		same(t, text, search(t, s, checkout.Query{Text: text, ProviderCode: "RIMU"}), ids(other))
	}
	same(t, "all of a provider", search(t, s, checkout.Query{ProviderCode: "RIMU"}), ids(other))
	same(t, "another's id", len(search(t, s, checkout.Query{Text: mine.Next.ID, ProviderCode: "RIMU"})), 0)
}

func erasedNotFound(t *testing.T, s ports.Admin) {
	configure(t, s, configuration("KOWHAI"))
	c := named(1, "Māia", "Tūhoe")
	insert(t, s, c)
	finds(t, s, "tuhoe", c)
	erase(t, s, c.Next.ID)
	for _, text := range []string{"tuhoe", "maia", "p1@student.example", "", " ", "@"} {
		finds(t, s, text)
	}
	finds(t, s, c.Next.OrderID, c)
}

func foundNewest(t *testing.T, s ports.Admin) {
	configure(t, s, configuration("KOWHAI"))
	var want []string
	for n, minute := range []int{4, 2, 9, 2} {
		c := named(n, "Tui", "Tūhoe")
		c.Next.CreatedAt, c.Next.Student.Email = at(minute), "tui@student.example"
		insert(t, s, c)
		want = append(want, c.Next.ID)
	}
	want = []string{want[2], want[0], want[3], want[1]}
	for _, q := range []checkout.Query{{Text: "tu"}, {Text: "tui@student.example"}, {ProviderCode: "KOWHAI"}} {
		for limit := range len(want) + 2 {
			var got []string
			for _, h := range result(s.Find(t.Context(), q, limit))(t) {
				got = append(got, h.Checkout.ID)
			}
			same(t, fmt.Sprintf("at most %d of %+v", limit, q), got, slices.Concat(want[:min(limit, len(want))]))
		}
	}
}

func troublesCounted(t *testing.T, s ports.Admin) {
	present := at(0).Add(48 * time.Hour)
	unfinished, unconfirmed, dead, crm := opened(1), opened(2), opened(3), reserved(4)
	unfinished.Next.Setup.Consent = consent()
	unconfirmed.Next = completed(unconfirmed.Next)
	other := ofProvider("RIMU", opened(5))
	other.Next = completed(other.Next)
	withdrawn := opened(6)
	insert(t, s, unfinished, unconfirmed, dead, crm, other, withdrawn)
	for i, id := range ids(dead, withdrawn) {
		confirm(t, s, id, int64(i))
		update(t, s, id, func(c checkout.Checkout) checkout.Change {
			c.Setup.Mandate, c.Setup.MandateSince = checkout.MandateCancelled, at(7)
			if c.End = (checkout.End{}); id == withdrawn.Next.ID {
				c.End = checkout.End{At: at(8), By: checkout.PartyOperator, Ground: checkout.GroundError}
			}
			return checkout.Change{Next: c}
		})
	}
	failed := checkout.Outcome{State: checkout.JobDead, Attempts: 3, Failure: checkout.Failure{At: at(3), Reason: "no"}}
	settle(t, s, lease(t, s, unconfirmed.Events[0].ID), failed)
	settle(t, s, lease(t, s, crm.Jobs[0].ID), checkout.Outcome{State: checkout.JobPending, Pause: time.Hour, Failure: failed.Failure})
	waits := work(1)
	waits.CreatedAt = at(1)
	enqueue(t, s, waits)
	of := func(t checkout.Trouble, provider string, since time.Time) checkout.TroubleCount {
		return checkout.TroubleCount{Trouble: t, ProviderCode: provider, Count: 1, Oldest: since}
	}
	gets(t, "Troubles", []checkout.TroubleCount{
		of(checkout.TroubleCRM, "KOWHAI", at(2)), of(checkout.TroubleMandates, "KOWHAI", at(7)),
		of(checkout.TroubleUnconfirmed, "KOWHAI", at(5)), of(checkout.TroubleUnconfirmed, "RIMU", at(5)),
		of(checkout.TroubleEvents, "KOWHAI", at(1)), of(checkout.TroubleUnfinished, "KOWHAI", at(0)),
		of(checkout.TroubleNotifications, "", at(1)),
	})(s.Troubles(t.Context(), present))
	for trouble, want := range map[checkout.Trouble][]checkout.Change{
		checkout.TroubleCRM: {crm}, checkout.TroubleMandates: {dead}, checkout.TroubleUnconfirmed: {unconfirmed, other},
		checkout.TroubleEvents: {unconfirmed}, checkout.TroubleNotices: nil, checkout.TroubleUnfinished: {unfinished},
		checkout.TroubleNotifications: nil, "x": nil,
	} {
		same(t, string(trouble), search(t, s, checkout.Query{Trouble: trouble, Now: present}), ids(want...))
	}
	same(t, "of a provider", search(t, s, checkout.Query{Trouble: checkout.TroubleUnconfirmed, ProviderCode: "RIMU", Now: present}), ids(other))
}

func troublesEnd(t *testing.T, s ports.Admin) {
	c := opened(1)
	c.Next = completed(c.Next)
	insert(t, s, c)
	for _, tt := range []struct {
		now  time.Time
		want int
	}{{at(5).Add(time.Hour), 0}, {at(6).Add(time.Hour), 1}, {at(5).Add(30 * 24 * time.Hour), 1}, {at(6).Add(30 * 24 * time.Hour), 0}} {
		counts(t, fmt.Sprint("Troubles at ", tt.now), tt.want)(s.Troubles(t.Context(), tt.now))
	}
	confirm(t, s, c.Next.ID, 1)
	counts(t, "Troubles of a confirmed checkout", 0)(s.Troubles(t.Context(), at(6).Add(time.Hour)))
}
