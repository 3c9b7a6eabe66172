package storetest

import (
	"context"
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
		{"pages have every entry once, while others come", pagesWhileOthersCome},
		{"a cursor of another list is not found", foreignCursor},
		{"troubles are counted by provider, and listed by the time since when", troublesCounted},
		{"what is no trouble any more is not counted", troublesEnd},
		{"the funnel counts a checkout once in each column up to the farthest", funnelCounted},
		{"agreements of a month come in pages, the newest first, with what a report says of them", concludedInPages},
	})
}

// search returns the ids of all checkouts that a query finds, by pages of two.
func search(t *testing.T, s ports.Desk, q checkout.Query) (ids []string) {
	t.Helper()
	for after, n := "", 0; ; n++ {
		page := result(s.Find(t.Context(), q, after, 2))(t)
		if len(page.Hits) > 2 || n > 500 {
			t.Fatalf("Find(%+v): page %d has %d hits", q, n, len(page.Hits))
		}
		for _, h := range page.Hits {
			ids = append(ids, h.Checkout.ID)
		}
		if after = page.Next; after == "" {
			return ids
		}
	}
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
	for by, text := range map[string]string{
		checkout.ByID: c.Next.ID, checkout.ByOrder: c.Next.OrderID, checkout.ByAgreement: done.Agreement.Number,
		checkout.ByBillingRequest: done.Next.Setup.BillingRequestID, checkout.ByMandate: done.Next.Setup.MandateID,
		checkout.ByEvent: c.Events[0].ID, checkout.ByRequest: "req_created", "request ": "req_refused",
		"request  ": done.Next.Confirmation.RequestID, checkout.ByKey: key(1).ID, "agreement ": strings.ToLower(done.Agreement.Number),
		"checkout ": "  " + c.Next.ID + "\n",
	} {
		page := result(s.Find(t.Context(), checkout.Query{Text: text}, "", checkout.MaxPage))(t)
		same(t, "found by "+text, page, checkout.Page{Hits: []checkout.Hit{{Checkout: done.Next, By: strings.TrimSpace(by), Since: done.Next.CreatedAt}}})
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
		"tuhoe": {maia}, "TŪHOE": {maia}, "tu\u0304hoe": {maia}, "Tūhoe Wahanga": {maia}, "tuhoe-wahanga māia": {maia}, "maia t": {maia},
		"ma": {maia, mania}, "ONEILL": {mania}, "o'n": {mania}, "ana": {ana, tui}, "ana a": {ana}, "t": {maia, tui}, "uhoe": nil, "hoe wahanga": nil,
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
	for _, text := range []string{"tuhoe", "maia", "p1@student.example", mine.Next.OrderID} {
		same(t, text+" of all", len(search(t, s, checkout.Query{Text: text})), 2)
		same(t, text, search(t, s, checkout.Query{Text: text, ProviderCode: "RIMU"}), ids(other))
	}
	same(t, "all of a provider", search(t, s, checkout.Query{ProviderCode: "RIMU"}), ids(other))
	same(t, "another's id", len(search(t, s, checkout.Query{Text: mine.Next.ID, ProviderCode: "RIMU"})), 0)
	same(t, "another's key", len(search(t, s, checkout.Query{Text: key(1).ID, ProviderCode: "RIMU"})), 0)
}

func erasedNotFound(t *testing.T, s ports.Admin) {
	configure(t, s, configuration("KOWHAI"))
	c := named(1, "Māia", "Tūhoe")
	insert(t, s, c)
	finds(t, s, "tuhoe", c)
	must(t, "EraseCheckouts", s.EraseCheckouts(t.Context(), ids(c), func(found []checkout.Checkout) (checkout.Erasure, error) {
		e := checkout.EraseAll(found, at(9), "operator:x")
		e.Entry = *operation(1)
		return e, nil
	}))
	for _, text := range []string{"tuhoe", "maia", "p1@student.example", "", " ", "@"} {
		finds(t, s, text)
	}
	finds(t, s, c.Next.OrderID, c)
}

func pagesWhileOthersCome(t *testing.T, s ports.Admin) {
	configure(t, s, configuration("KOWHAI"))
	var all []checkout.Change
	for n := 10; n < 20; n++ {
		all = append(all, named(n, fmt.Sprint("Tui", n%3), "Tūhoe"))
	}
	insert(t, s, all...)
	for name, q := range map[string]checkout.Query{"name": {Text: "tu"}, "provider": {ProviderCode: "KOWHAI"}, "key": {Text: "tuhoe"}} {
		before := search(t, s, q)
		sameSet(t, "found by "+name, before, ids(all...)...)
		var seen []string
		for after, n := "", 20+len(seen); ; n++ {
			page := result(s.Find(t.Context(), q, after, 3))(t)
			for _, h := range page.Hits {
				seen = append(seen, h.Checkout.ID)
			}
			more := named(n+100*len(name), "Tui"+name, "Tūhoe")
			insert(t, s, more)
			if after = page.Next; after == "" {
				break
			}
		}
		for _, id := range before {
			if n := len(slices.DeleteFunc(slices.Clone(seen), func(o string) bool { return o != id })); n != 1 {
				t.Errorf("by %s: %s came %d times, want once", name, id, n)
			}
		}
		for _, c := range result(s.Find(t.Context(), checkout.Query{Text: "tui" + name}, "", checkout.MaxPage))(t).Hits {
			all = append(all, checkout.Change{Next: c.Checkout})
		}
	}
}

func foreignCursor(t *testing.T, s ports.Admin) {
	configure(t, s, configuration("KOWHAI"))
	insert(t, s, named(1, "Ana", "Ana"))
	for _, after := range []string{"x", "name 1 KOWHAI-1-x", "name x KOWHAI-1-x", "; DROP", "name 1 \x00\xff-1-x", "order 1 " + opened(1).Next.ID + "x"} {
		_, err := s.Find(t.Context(), checkout.Query{Text: "ana"}, after, 2)
		refused(t, "Find after "+after, err, ports.ErrNotFound)
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
	recordEvidence(t, s, entryAt(9, "operation/late"))
	of := func(t checkout.Trouble, provider string, since time.Time) checkout.TroubleCount {
		return checkout.TroubleCount{Trouble: t, ProviderCode: provider, Count: 1, Oldest: since}
	}
	gets(t, "Troubles", []checkout.TroubleCount{
		of(checkout.TroubleCRM, "KOWHAI", at(2)), of(checkout.TroubleMandates, "KOWHAI", at(7)),
		of(checkout.TroubleUnconfirmed, "KOWHAI", at(5)), of(checkout.TroubleUnconfirmed, "RIMU", at(5)),
		of(checkout.TroubleEvents, "KOWHAI", at(1)), of(checkout.TroubleUnfinished, "KOWHAI", at(0)),
		of(checkout.TroubleNotifications, "", at(1)),
	})(withoutEvidence(s.Troubles(t.Context(), present)))
	for trouble, want := range map[checkout.Trouble][]checkout.Change{
		checkout.TroubleCRM: {crm}, checkout.TroubleMandates: {dead}, checkout.TroubleUnconfirmed: {unconfirmed, other},
		checkout.TroubleEvents: {unconfirmed}, checkout.TroubleNotices: nil, checkout.TroubleUnfinished: {unfinished},
		checkout.TroubleNotifications: nil, checkout.TroubleEvidence: nil, "x": nil,
	} {
		same(t, string(trouble), search(t, s, checkout.Query{Trouble: trouble, Now: present}), ids(want...))
	}
	same(t, "of a provider", search(t, s, checkout.Query{Trouble: checkout.TroubleUnconfirmed, ProviderCode: "RIMU", Now: present}), ids(other))
}

// withoutEvidence leaves out the entries of the evidence log, which have the times of the cases.
func withoutEvidence(list []checkout.TroubleCount, err error) (any, error) {
	return slices.DeleteFunc(list, func(c checkout.TroubleCount) bool { return c.Trouble == checkout.TroubleEvidence }), err
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
	sealAll(t, s, 9)
	counts(t, "Troubles of a confirmed checkout", 0)(s.Troubles(t.Context(), at(6).Add(time.Hour)))
}

func funnelCounted(t *testing.T, s ports.Admin) {
	stages := func(n int, kinds ...checkout.MomentKind) checkout.Change {
		c := opened(n)
		for i, kind := range kinds {
			c.Moments = append(c.Moments, moment(kind, i))
		}
		return c
	}
	from := func(n int) time.Time { return at(0).AddDate(0, 0, n) }
	insert(t, s, stages(1), stages(2, checkout.MomentOpened, checkout.MomentOpened, checkout.MomentRefused, checkout.MomentPressed, checkout.MomentPressed),
		stages(3, checkout.MomentOpened, checkout.MomentPressed, checkout.MomentSetupDone, checkout.MomentConfirmed),
		ofProvider("RIMU", stages(4, checkout.MomentPressed)))
	kowhai := checkout.FunnelDay{ProviderCode: "KOWHAI", Day: "2026-11-20", Created: 3, Opened: 2, Pressed: 2, SetUp: 1, Confirmed: 1}
	rimu := checkout.FunnelDay{ProviderCode: "RIMU", Day: "2026-11-20", Created: 1, Opened: 1, Pressed: 1}
	counted := func(from, to time.Time, provider string, want ...checkout.FunnelDay) {
		t.Helper()
		list := result(s.Funnel(t.Context(), from, to, provider))(t)
		same(t, fmt.Sprintf("Funnel(%s, %s, %q)", from, to, provider), append([]checkout.FunnelDay(nil), list...), want)
	}
	counted(from(0), from(1), "", kowhai, rimu)
	counted(from(-19), from(11), "RIMU", rimu)
	counted(from(1), from(11), "")
	counted(from(-19), from(0), "")
	for round := range 2 { // a checkout that is removed counts no more, and its place is free for another
		insert(t, s, reserved(5+round))
		more := kowhai
		more.Created++
		counted(from(0), from(1), "KOWHAI", more)
		finds(t, s, "onei", opened(1), opened(2), opened(3), reserved(5+round), ofProvider("RIMU", opened(4)))
		change(t, s, 5+round, checkout.Change{Remove: true})
		counted(from(0), from(1), "KOWHAI", kowhai)
	}
	note(t, s, 1, moment(checkout.MomentOpened, 8))
	note(t, s, 3, moment(checkout.MomentOpened, 8)) // which takes nothing back
	change(t, s, 2, checkout.Change{Moments: []checkout.Moment{moment(checkout.MomentSetupDone, 9)}})
	kowhai.Opened, kowhai.SetUp = 3, 2
	yesterday, tomorrow := opened(7), opened(8)
	yesterday.Next.CreatedAt = at(0).Truncate(24 * time.Hour).Add(-time.Millisecond)
	tomorrow.Next.CreatedAt = at(0).Truncate(24*time.Hour).AddDate(0, 0, 1)
	insert(t, s, yesterday, tomorrow)
	counted(from(-1), from(1), "", checkout.FunnelDay{ProviderCode: "KOWHAI", Day: "2026-11-19", Created: 1}, kowhai, rimu)
}

func concludedInPages(t *testing.T, s ports.Admin) {
	concluded := func(month string) (numbers []string) {
		m := result(checkout.ParseMonth(month, time.UTC))(t)
		for after := ""; ; {
			page, next, err := s.Concluded(t.Context(), m, after, 2)
			must(t, "Concluded", err)
			for _, c := range page {
				numbers = append(numbers, c.Agreement.Number)
				a, of := result(s.Agreement(t.Context(), c.Agreement.Number))(t), result(s.Checkout(t.Context(), c.Checkout.ID))(t)
				got, _ := m.Line(c)
				want, _ := m.Line(checkout.Concluded{Agreement: a, Checkout: of})
				same(t, "line of "+a.Number, got.Columns(), want.Columns())
			}
			if after = next; after == "" {
				return numbers
			}
		}
	}
	var want []string
	for n := range 5 {
		insert(t, s, opened(n))
		done := confirm(t, s, opened(n).Next.ID, int64(n))
		want = append(want, done.Agreement.Number)
	}
	slices.Reverse(want) // all were accepted at one time
	same(t, "agreements", concluded("2026-11"), want)
	same(t, "agreements before they were accepted", len(concluded("2026-10")), 0)
	same(t, "agreements when nothing is due any more", len(concluded("2030-01")), 0)
	update(t, s, opened(3).Next.ID, func(c checkout.Checkout) checkout.Change {
		c.End.At = time.Date(2030, time.January, 15, 0, 0, 0, 0, time.UTC)
		return checkout.Change{Next: c}
	})
	same(t, "agreements that were withdrawn when nothing was due any more", concluded("2030-01"), want[1:2])
	same(t, "agreements of which something is due", slices.Contains(concluded("2027-12"), want[1]), true)
}

// Prepared returns a store that prepares itself before it answers: what a server does now and then.
func Prepared(s interface {
	ports.Admin
	Prepare(ctx context.Context) error
}) ports.Admin {
	return prepared{s, s.Prepare}
}

type prepared struct {
	ports.Admin
	prepare func(context.Context) error
}

func (p prepared) Find(ctx context.Context, q checkout.Query, after string, limit int) (checkout.Page, error) {
	if err := p.prepare(ctx); err != nil {
		return checkout.Page{}, err
	}
	return p.Admin.Find(ctx, q, after, limit)
}
