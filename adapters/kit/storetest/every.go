package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

func everyMethod() []promise {
	return []promise{
		{"values share no memory with the store", sharesNothing},
		{"a context that has ended is an error, and nothing changes", endedContext},
		{"the store is ready, also for many at once, and neither that nor a scrub changes what is on record", func(s *store) {
			s.filled()
			s.unchanged(func() {
				s.concurrently("Ready", many, nil, func(s *store, _ int) error { return s.Ready(s.Context()) })
				s.must("Scrub", s.Scrub(s.Context()))
			})
		}},
	}
}

// filled stores something of every kind, and returns the values that were given to the store.
func (s *store) filled() []any {
	conf, k, did := configuration("KOWHAI"), key(1), act(1)
	created, jobs := opened(1), []checkout.Job{pull()}
	jobs[0].Body = []byte("body")
	s.configure(conf)
	s.must("AddKey", s.AddKey(s.Context(), k, did))
	s.insert(created)
	var done checkout.Change
	s.update(1, func(c checkout.Checkout) checkout.Change { done = confirmed(c, 1); return done })
	s.enqueue(jobs...)
	return []any{&conf, &k, &did, &created, &done, jobs}
}

// values returns everything that filled has stored, as it is read in every way.
func (s *store) values() []any {
	ctx, id := s.Context(), opened(1).Next.ID
	e, c, a, d := s.export(""), s.read(1), get(s.Agreement(ctx, id))(s), get(s.Document(ctx, id))(s)
	leases := s.lease()
	for i, l := range leases {
		s.must("Extend", s.Extend(ctx, l, 0))
		leases[i].Token = 0
	}
	course, k := get(s.Course(ctx, "KOWHAI", "NZDIP"))(s), get(s.Key(ctx, key(1).Hash))(s)
	return []any{&e, &c, &a, &d, leases, &course, &k, get(s.Providers(ctx))(s), get(s.Keys(ctx))(s), s.moments(1),
		s.jobs(checkout.JobFilter{}), s.acts(checkout.ActFilter{}), get(s.Find(ctx, checkout.Query{}, many))(s)}
}

func sharesNothing(s *store) {
	text := func() []byte { return get(json.Marshal(s.values()))(s) }
	given := s.filled()
	want := text()
	stays := func(after string) {
		s.Helper()
		if got := text(); !bytes.Equal(got, want) {
			s.Errorf("%s:\n got %s\nwant %s", after, got, want)
		}
	}
	scramble(reflect.ValueOf(given))
	stays("once the values that were given are changed")
	scramble(reflect.ValueOf(s.values()))
	stays("once the values that were read are changed")
	known := s.read(1)
	_, _, err := s.UpdateCheckout(s.Context(), known, 0, func(c checkout.Checkout) (checkout.Change, error) {
		scramble(reflect.ValueOf(&c))
		return checkout.Change{}, errNo
	})
	s.refused("UpdateCheckout", err, errNo)
	s.same("the caller's checkout", known, s.read(1))
	err = s.ReplaceProviders(s.Context(), func(was all) (all, []checkout.Act, error) {
		scramble(reflect.ValueOf(was))
		return nil, nil, errNo
	})
	s.refused("ReplaceProviders", err, errNo)
	stays("once the values that were passed to decide are changed")
}

// scramble empties everything that a value refers to.
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

func endedContext(s *store) {
	s.filled()
	ctx, end := context.WithCancel(s.Context())
	end()
	given := []any{ctx, opened(2), deciding(withdrawn), query(), []checkout.Job{pull()}, noted(1, moment(checkout.MomentOpened, 9)),
		replacing(nil, act(5)), key(2), act(5), new(exported).visitor()}
	s.unchanged(func() {
		for method := range reflect.TypeFor[ports.Admin]().Methods() {
			var args []reflect.Value
			for in := range method.Type.Ins() {
				arg := reflect.Zero(in)
				for _, v := range given {
					if reflect.TypeOf(v).AssignableTo(in) {
						arg = reflect.ValueOf(v)
					}
				}
				args = append(args, arg)
			}
			if method.Type.IsVariadic() {
				args = args[:len(args)-1]
			}
			out := reflect.ValueOf(s.Admin).MethodByName(method.Name).Call(args)
			err, _ := out[len(out)-1].Interface().(error)
			s.refused(method.Name, err, context.Canceled)
		}
	})
}

// Sandbox keeps records of a fake processor. A store that has its methods is tested by them.
type Sandbox interface {
	KeepSandboxRecord(ctx context.Context, name string, data []byte) error
	SandboxRecord(ctx context.Context, name string) ([]byte, error)
	DropSandboxRecords(ctx context.Context, prefix string) error
}

// keepsSandbox tests a store that is a Sandbox.
func keepsSandbox(s *store) {
	ctx, one, other := s.Context(), s.Admin.(Sandbox), s.another().Admin.(Sandbox)
	for _, name := range []string{"setup/1", "setup/2", "setup%", "Setup/1", "setu"} {
		data := []byte("\x00\xff" + name)
		s.must("KeepSandboxRecord", one.KeepSandboxRecord(ctx, name, data))
		clear(data)
		s.must("KeepSandboxRecord again", other.KeepSandboxRecord(ctx, name, data))
	}
	clear(get(one.SandboxRecord(ctx, "setu"))(s))
	s.must("DropSandboxRecords", one.DropSandboxRecords(ctx, "setup/"))
	s.must("DropSandboxRecords", one.DropSandboxRecords(ctx, "%"))
	for _, name := range []string{"setup%", "Setup/1", "setu"} {
		s.same(name, string(get(other.SandboxRecord(ctx, name))(s)), "\x00\xff"+name)
	}
	for _, name := range []string{"setup/1", "setup/2", "set"} {
		missing(other.SandboxRecord(ctx, name))(s, name)
	}
}
