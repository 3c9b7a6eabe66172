package storetest

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Every tests a store against the promises of all its methods, and against ports.Store.Ready.
func Every(t *testing.T, open Open) {
	run(t, open, []promise{
		{"values share no memory with the store", sharesNothing},
		{"a context that has ended is an error, and nothing changes", endedContext},
		{"a new store is ready", func(t *testing.T, s ports.Admin) { must(t, "Ready", s.Ready(t.Context())) }},
		{"many checks of readiness at once succeed, and change nothing on record", func(t *testing.T, s ports.Admin) {
			filled(t, s)
			unchanged(t, s, func() {
				allSucceed(t, "Ready", many, func(int) error { return s.Ready(t.Context()) })
			})
		}},
	})
}

// filled stores something of every kind, and returns what was given to the store.
func filled(t *testing.T, s ports.Admin) (given []any) {
	t.Helper()
	conf, jobs := configuration("KOWHAI"), []checkout.Job{work(1), work(2)}
	did := operation(1)
	jobs[0].Body = []byte("body")
	configure(t, s, conf)
	addKeys(t, s, key(1))
	created := opened(1)
	insert(t, s, created)
	done := confirm(t, s, created.Next.ID, 1)
	fresh := enqueue(t, s, jobs...)
	must(t, "RecordAct", s.RecordAct(t.Context(), *did))
	return []any{&conf, &created, &done, jobs, fresh, did}
}

// everything reads everything that filled stores, in every way.
func everything(t *testing.T, s ports.Admin) []any {
	t.Helper()
	id, number, ctx := opened(1).Next.ID, agreed(opened(1).Next, 1).Number, t.Context()
	var all record
	must(t, "Export", s.Export(ctx, all.collect()))
	c, a, d := result(s.Checkout(ctx, id))(t), result(s.Agreement(ctx, number))(t), result(s.Document(ctx, number))(t)
	p, course := result(s.Provider(ctx, "KOWHAI"))(t), result(s.Course(ctx, "KOWHAI", "NZDIP"))(t)
	list, leased := jobs(t, s, checkout.JobFilter{}), leases(t, s, nil)
	for _, l := range leased {
		giveBack(t, s, l)
	}
	for i := range list { // which a lease changes
		list[i].Token = 0
	}
	for i := range all.Checkouts {
		for j := range all.Checkouts[i].Jobs {
			all.Checkouts[i].Jobs[j].Token = 0
		}
		all.Checkouts[i] = timeless(all.Checkouts[i])
	}
	of := make([]checkout.Job, len(leased))
	for i, l := range leased {
		of[i] = l.Job
	}
	return []any{&all, &c, &a, &d, &p, &course, list, of, moments(t, s, id), acts(t, s), result(s.Events(ctx, listing()))(t),
		result(s.Keys(ctx))(t), result(s.Providers(ctx))(t), result(s.Find(ctx, checkout.Query{Text: id}, 9))(t)}
}

func sharesNothing(t *testing.T, s ports.Admin) {
	texts := func() (all []string) {
		for _, v := range everything(t, s) {
			all = append(all, string(result(json.Marshal(v))(t)))
		}
		return all
	}
	given := filled(t, s)
	want := texts()
	scramble(reflect.ValueOf(given))
	stays := func(after string) {
		t.Helper()
		for i, got := range texts() {
			if got != want[i] {
				t.Errorf("%s:\n got %s\nwant %s", after, got, want[i])
			}
		}
	}
	stays("once the values that were given are changed")
	scramble(reflect.ValueOf(everything(t, s)))
	decide := func(passed ...any) error {
		scramble(reflect.ValueOf(passed))
		return errNo
	}
	for call, err := range map[string]error{
		"UpdateCheckout": s.UpdateCheckout(t.Context(), opened(1).Next.ID, pending(), func(c checkout.Checkout) (checkout.Change, error) {
			return checkout.Change{}, decide(&c)
		}),
		"ReplaceProviders": s.ReplaceProviders(t.Context(),
			func(all []catalogue.Configuration) ([]catalogue.Configuration, *checkout.Act, error) {
				return nil, nil, decide(all)
			}),
		"EraseCheckouts": s.EraseCheckouts(t.Context(), []string{opened(1).Next.ID}, func(found []checkout.Checkout) (checkout.Erasure, error) {
			return checkout.Erasure{}, decide(found)
		}),
	} {
		refused(t, call, err, errNo)
	}
	stays("once the values that were read are changed")
}

// scramble empties everything that a value refers to: the elements of its lists, and what it points to.
func scramble(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			scramble(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				scramble(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			scramble(v.Index(i))
			v.Index(i).SetZero()
		}
	}
}

func endedContext(t *testing.T, s ports.Admin) {
	insert(t, s, opened(1))
	enqueue(t, s, work(1))
	l := lease(t, s, work(1).ID)
	ended, end := context.WithCancel(t.Context())
	end()
	before, id, n := jobs(t, s, checkout.JobFilter{}), opened(1).Next.ID, opened(1).Next.OrderID
	unchanged(t, s, func() {
		_, read := s.Checkout(ended, id)
		_, found := s.FindCheckout(ended, byOrder("KOWHAI", n))
		_, entered := s.Enqueue(ended, workFrom(1, 2))
		_, leased := s.Lease(ended, checkout.JobQuery{Now: now(), For: leaseFor, Kinds: checkout.JobKinds(), Limit: many})
		_, listed := s.Jobs(ended, checkout.JobFilter{}, many)
		_, counted := s.Backlog(ended)
		_, listedEvents := s.Events(ended, listing())
		_, listedActs := s.Acts(ended, checkout.ActFilter{}, many)
		_, hits := s.Find(ended, checkout.Query{Text: id}, many)
		for call, err := range map[string]error{
			"Checkout": read, "FindCheckout": found, "Enqueue": entered, "Lease": leased, "Jobs": listed, "Backlog": counted,
			"Events": listedEvents, "Acts": listedActs, "Find": hits, "RecordAct": s.RecordAct(ended, *operation(1)),
			"InsertCheckout": s.InsertCheckout(ended, opened(2), pending()),
			"UpdateCheckout": s.UpdateCheckout(ended, id, pending(),
				deciding(func(c checkout.Checkout) checkout.Change { return confirmed(c, 1) })),
			"Extend":    s.Extend(ended, l, now(), 0),
			"Settle":    s.Settle(ended, l, checkout.Outcome{State: checkout.JobDone}, pending(), nil),
			"HastenJob": s.HastenJob(ended, work(1).ID, moment(checkout.MomentOperated, 1), *operation(1)),
			"Note":      s.Note(ended, []checkout.Noted{notedOf(id, moment(checkout.MomentOpened, 1))}),
			"AddKey":    s.AddKey(ended, key(1), nil),
			"Export":    s.Export(ended, new(record).collect()),
			"Ready":     s.Ready(ended),
		} {
			refused(t, call, err, context.Canceled)
		}
	})
	same(t, "jobs", jobs(t, s, checkout.JobFilter{}), before)
}
