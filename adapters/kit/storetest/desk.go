package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

func desk() []promise {
	return []promise{
		{"a checkout is found by each of its ids", func(s *store) {
			s.insert(opened(1), opened(2), openedBy("RIMU", 3))
			s.confirm(1)
			c := s.read(1)
			for _, text := range []string{c.ID, c.OrderID, c.Setup.BillingRequestID, c.Setup.MandateID, c.Confirmation.AgreementNumber,
				" " + c.OrderID + "\n"} {
				hits := get(s.Find(s.Context(), checkout.Query{Text: text}, many))(s)
				s.same("found by "+text, hits, []checkout.Hit{{Checkout: c, Since: c.CreatedAt}})
			}
			for _, text := range []string{"order-9", "ORDER-1", "order", c.IdempotencyKey, c.RequestID, "KOWHAI", "%", "sync"} {
				s.finds(text)
			}
		}},
		{"a checkout is found by the beginning of the name and by the address, in any case and without marks", findsByName},
		{"a payer who has not begun is found by name and address for seven days", findsRecent},
		{"a checkout that is erased is found by its ids, and not by name or address", func(s *store) {
			s.insert(opened(1))
			s.confirm(1)
			s.finds("O’Neill", 1)
			s.update(1, erased)
			for _, text := range []string{"O’Neill", "anaru@student.example", "MD-order-1"} {
				s.finds(text)
			}
			s.finds("order-1", 1)
			s.finds(numberOf(1), 1)
		}},
		{"the checkouts of a provider, or of all, come the newest first", func(s *store) {
			for i := range 5 {
				s.insert(openedBy([]string{"KOWHAI", "RIMU"}[i%2], (i+3)%5))
			}
			s.same("all", s.numbers(checkout.Query{}, many), []int{4, 3, 2, 1, 0})
			s.same("two of all", s.numbers(checkout.Query{}, 2), []int{4, 3})
			s.same("of a provider", s.numbers(checkout.Query{ProviderCode: "RIMU"}, many), []int{4, 1})
			s.same("of a provider by order", s.numbers(checkout.Query{Text: "order-4", ProviderCode: "KOWHAI"}, many), []int(nil))
		}},
		{"each trouble is counted, and its checkouts found, from the time on at which it needs a hand", func(s *store) {
			since := s.inTrouble()
			for _, t := range checkout.Troubles() {
				earliest, latest := t.Window(at(0))
				for _, of := range since[t] { // each of its times at each end of the window, and a millisecond later
					for _, end := range []time.Duration{at(0).Sub(latest), min(at(0).Sub(earliest), 1000*time.Hour)} {
						s.countsTrouble(t, of.Add(end), since[t])
						s.countsTrouble(t, of.Add(end+time.Millisecond), since[t])
					}
				}
			}
		}},
		{"refused calls of the CRM come by the first payment, with their reason", func(s *store) {
			for i, day := range []int{3, 1, 2} {
				change := opened(i)
				change.Next.Intent.Plan.First.Day = day
				change.Jobs = append(change.Jobs, change.Next.Job(checkout.JobEnd, "", at(40), 0))
				s.insert(change)
			}
			for _, l := range s.lease(checkout.JobEnd, checkout.JobSync) {
				s.settle(l, checkout.Outcome{State: checkout.JobPending, Failure: checkout.Failure{At: at(9), Reason: string(l.Job.Kind)}})
			}
			query := checkout.Query{Trouble: checkout.TroubleCRM, Now: at(59)}
			s.same("in order", s.numbers(query, many), []int{1, 2, 0})
			s.same("the first", get(s.Find(s.Context(), query, 1))(s), []checkout.Hit{{Checkout: s.read(1), Since: at(1), Reason: "sync"}})
			s.same("counts", get(s.Troubles(s.Context(), at(59)))(s), []checkout.TroubleCount{
				{Trouble: checkout.TroubleCRM, ProviderCode: "KOWHAI", Count: 3, Oldest: at(0)}})
		}},
	}
}

// numbers returns the numbers of the checkouts that a query names, by the minute of their creation.
func (s *store) numbers(q checkout.Query, limit int) (numbers []int) {
	s.Helper()
	for _, h := range get(s.Find(s.Context(), q, limit))(s) {
		numbers = append(numbers, h.Checkout.CreatedAt.Minute())
	}
	return numbers
}

// finds reports the numbers that are found by a text and are others than expected.
func (s *store) finds(text string, want ...int) {
	s.Helper()
	s.same(fmt.Sprintf("found by %q", text), s.numbers(checkout.Query{Text: text}, many), want)
}

func findsByName(s *store) {
	for i, student := range []checkout.Student{
		{FirstName: "Ānaru", LastName: "O’Neill", Email: "Anaru@Student.example"},
		{FirstName: "Jo", LastName: "O'Neil-Smith", Email: "jo@x.example"},
		{FirstName: "O’Neill", LastName: "Ngāta", Email: "anaru@student.example.nz"},
		{FirstName: "李", LastName: "王", Email: "x.anaru@student.example"},
		{FirstName: "100%", LastName: "_nderscore", Email: "p%@x.example"},
	} {
		change := opened(i)
		change.Next.Student, change.Next.Setup = student, begun(change.Next, i).Setup
		s.insert(change)
	}
	for text, want := range map[string][]int{
		"O’NEILL": {0}, "oneil": {1, 0}, "o'neil smith": {1}, "ngata": {2}, "NGĀT": {2}, "oneill anaru": {0}, "王": {3},
		"neill": nil, "anaru": nil, "underscore": nil, "%": nil, "_": nil,
		"anaru@student.example": {0}, "ĀNARU@STUDENT.EXAMPLE": {0}, "p%@x.example": {4}, "%@x.example": nil, "anaru@student": nil,
	} {
		s.finds(text, want...)
	}
}

func findsRecent(s *store) {
	const days = 24 * time.Hour
	for i, age := range []time.Duration{7*days + time.Hour, 7*days - time.Hour} {
		change := opened(i)
		c := &change.Next
		c.CreatedAt = s.now().Add(-age).Truncate(time.Hour).Add(time.Duration(i) * time.Minute)
		c.ID = checkout.NewID("KOWHAI", c.CreatedAt, [10]byte{byte(i)})
		s.insert(change)
	}
	s.finds("O’Neill", 1)
	s.finds("anaru@student.example", 1)
	s.finds("order-0", 0)
	s.updateHolding(0, s.find(byOrder("KOWHAI", "order-0")), func(c checkout.Checkout) checkout.Change {
		return checkout.Change{At: at(9), Next: begun(c, 9)}
	})
	s.finds("O’Neill", 1, 0)
}

// inTrouble stores three checkouts with each trouble, the last of RIMU, and one without, and returns since when they have it.
func (s *store) inTrouble() map[checkout.Trouble][]time.Time {
	s.Helper()
	since, n := map[checkout.Trouble][]time.Time{}, 0
	for _, t := range checkout.Troubles() {
		for _, provider := range []string{"KOWHAI", "KOWHAI", "RIMU"} {
			n++
			s.insert(openedBy(provider, n))
			since[t] = append(since[t], s.trouble(t, s.find(byOrder(provider, fmt.Sprint("order-", n))), n))
		}
	}
	s.insert(opened(50))
	return since
}

// trouble gives checkout number n a trouble, and returns since when it has it.
func (s *store) trouble(t checkout.Trouble, c checkout.Checkout, n int) time.Time {
	s.Helper()
	change := checkout.Change{At: at(30), Next: c, Jobs: []checkout.Job{notice(c, n)}}
	kind, state, since := checkout.JobSync, checkout.JobPending, time.Time{}
	switch t {
	case checkout.TroubleEvents:
		kind, state = checkout.JobDeliver, checkout.JobFailed
	case checkout.TroubleNotices:
		kind, state = checkout.JobNotify, checkout.JobFailed
	case checkout.TroubleUnconfirmed:
		change.Next, since = completed(c, n), at(n+1)
	case checkout.TroubleUnfinished:
		change.Next, since = begun(c, n), at(n)
	case checkout.TroubleMandates:
		change, since = confirmed(c, n), at(n+20)
		change.Next.Setup.Mandate, change.Next.Setup.MandateSince = checkout.MandateCancelled, since
	}
	s.updateHolding(0, c, func(checkout.Checkout) checkout.Change { return change })
	if !since.IsZero() {
		return since
	}
	for _, l := range s.lease(kind) {
		if l.Job.CheckoutID == c.ID {
			s.settle(l, checkout.Outcome{State: state, Pause: time.Hour, Failure: checkout.Failure{At: at(20), Reason: "why"}})
		}
	}
	r := s.jobs(checkout.JobFilter{CheckoutID: c.ID, Kinds: []checkout.JobKind{kind}})[0]
	if s.setClock() { // else it runs by itself
		s.pass(time.Second)
	}
	return cmp.Or(r.SettledAt, r.CreatedAt)
}

// countsTrouble reports if a trouble of two checkouts of KOWHAI and one of RIMU is not counted and found as it is to be at a time.
func (s *store) countsTrouble(t checkout.Trouble, now time.Time, since []time.Time) {
	s.Helper()
	earliest, latest := t.Window(now)
	for provider, times := range map[string][]time.Time{"KOWHAI": since[:2], "RIMU": since[2:]} {
		times = slices.DeleteFunc(slices.Clone(times), func(at time.Time) bool { return at.Before(earliest) || !at.Before(latest) })
		var found []time.Time
		for _, h := range get(s.Find(s.Context(), checkout.Query{Trouble: t, ProviderCode: provider, Now: now}, many))(s) {
			found = append(found, h.Since)
		}
		s.same(fmt.Sprintf("%s of %s at %v", t, provider, now), found, slices.Concat(times))
		got := checkout.TroubleCount{Trouble: t, ProviderCode: provider}
		want := got
		for _, c := range get(s.Troubles(s.Context(), now))(s) {
			if c.Trouble == t && c.ProviderCode == provider {
				got = c
			}
		}
		if want.Count = len(times); want.Count > 0 {
			want.Oldest = times[0]
		}
		s.same(fmt.Sprintf("count of %s of %s at %v", t, provider, now), got, want)
	}
}

func exports() []promise {
	return []promise{
		{"everything is exported once, in the order of creation", exportsAll},
		{"of an e-mail address only its checkouts are exported, the letters A to Z in any case", exportsStudent},
		{"an error of visit ends the export, and is returned as it is", exportEnds},
		{"what is stored during an export is not in it", exportsSnapshot},
	}
}

// exported is the export of a store.
type exported struct {
	Configurations []catalogue.Configuration
	Keys           []catalogue.Key
	Checkouts      []checkout.CheckoutRecord
	Unreadable     []string
}

// visitor returns a visitor that adds what it gets to e.
func (e *exported) visitor() checkout.Visitor {
	return checkout.Visitor{
		Configuration: func(c catalogue.Configuration) error { e.Configurations = append(e.Configurations, c); return nil },
		Key:           func(k catalogue.Key) error { e.Keys = append(e.Keys, k); return nil },
		Checkout:      func(r checkout.CheckoutRecord) error { e.Checkouts = append(e.Checkouts, r); return nil },
		Unreadable:    func(id string, err error) error { e.Unreadable = append(e.Unreadable, id); return nil },
	}
}

// export returns what a store exports, of one student or of all.
func (s *store) export(email string) (e exported) {
	s.Helper()
	s.must("Export", s.Export(s.Context(), email, e.visitor()))
	return e
}

func exportsAll(s *store) {
	s.insert(openedBy("TOTARA", 4), openedBy("KOWHAI", 3), opened(1), opened(2))
	s.confirm(1)
	for _, l := range s.lease() {
		s.settle(l, checkout.Outcome{State: checkout.JobDone, Attempts: 2, Receipt: "ok", Cursor: "c"})
	}
	s.addKeys(key(2), key(1))
	s.configure(legacy("RIMU"), configuration("KOWHAI"))
	s.enqueue(pull())
	e := s.export("")
	s.same("configurations", e.Configurations, all{configuration("KOWHAI"), legacy("RIMU")})
	s.same("keys", e.Keys, []catalogue.Key{key(1), key(2)})
	var ids []string
	for _, r := range e.Checkouts {
		ids = append(ids, r.Checkout.ID)
		s.same("checkout", r.Checkout, get(s.Checkout(s.Context(), r.Checkout.ID))(s))
	}
	s.same("checkouts", ids, []string{idOf("KOWHAI", 1), idOf("KOWHAI", 2), idOf("KOWHAI", 3), idOf("TOTARA", 4)})
	for i, id := range []string{"evt_checkout.created_" + ids[0], "sync", "evt_checkout.confirmed_" + ids[0],
		"evt_agreement.generated_" + ids[0], "ntc_6"} {
		s.same("job "+id, e.Checkouts[0].Jobs[i:i+1], s.jobs(checkout.JobFilter{CheckoutID: ids[0], ID: id}))
	}
	s.same("moments", e.Checkouts[0].Moments, s.moments(1))
	s.same("agreement", *e.Checkouts[0].Agreement, get(s.Agreement(s.Context(), ids[0]))(s))
	s.same("length of the document", e.Checkouts[0].Document, len(document(1).Bytes))
}

func exportsStudent(s *store) {
	for i, address := range []string{"Anaru@Student.example", "x.anaru@student.example", "ānaru@student.example", "ANARU@STUDENT.EXAMPLE",
		"%@student.example"} {
		change := opened(i)
		change.Next.Student.Email = address
		s.insert(change)
	}
	s.configure(legacy("RIMU"))
	s.addKeys(key(1))
	e := s.export("anaru@student.EXAMPLE")
	s.same("checkouts, configurations and keys", []int{len(e.Checkouts), len(e.Configurations), len(e.Keys)}, []int{2, 0, 0})
	s.same("with a letter beyond A to Z", len(s.export("Ānaru@student.example").Checkouts), 0)
	s.same("of a pattern", len(s.export("%@student.example").Checkouts), 1)
}

func exportEnds(s *store) {
	s.configure(legacy("RIMU"), legacy("TOTARA"))
	s.addKeys(key(1), key(2))
	s.insert(opened(1), opened(2))
	for failing := range 3 {
		calls := [3]int{}
		visit := func(what int) error {
			if calls[what]++; what == failing {
				return errNo
			}
			return nil
		}
		s.same("error", s.Export(s.Context(), "", checkout.Visitor{
			Configuration: func(catalogue.Configuration) error { return visit(0) },
			Key:           func(catalogue.Key) error { return visit(1) },
			Checkout:      func(checkout.CheckoutRecord) error { return visit(2) },
		}), errNo)
		s.same("calls", calls[:], [][]int{{1, 0, 0}, {2, 1, 0}, {2, 2, 1}}[failing])
	}
}

func exportsSnapshot(s *store) {
	s.insert(opened(1), opened(2))
	s.configure(legacy("RIMU"))
	other := s.another()
	var e exported
	v := e.visitor()
	v.Configuration = func(catalogue.Configuration) error {
		other.insert(opened(3))
		other.confirm(2)
		return nil
	}
	s.must("Export", s.Export(s.Context(), "", v))
	s.same("checkouts", len(e.Checkouts), 2)
	s.same("status", e.Checkouts[1].Checkout.Status, checkout.SetupRequired)
	s.same("jobs", len(e.Checkouts[1].Jobs), 2)
}

// unreadable reports unless an export goes on after a checkout of which something cannot be read.
func unreadable(s *store) {
	s.insert(opened(1), opened(2), opened(3))
	s.opener.Damage(s.T, s.Admin, opened(2).Next.ID)
	e := s.export("")
	s.same("unreadable", e.Unreadable, []string{opened(2).Next.ID})
	s.same("checkouts", len(e.Checkouts), 2)
}
