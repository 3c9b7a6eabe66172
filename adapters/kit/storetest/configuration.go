package storetest

import (
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

func configurations() []promise {
	return []promise{
		{"providers and courses come back as they were configured", func(s *store) {
			conf, odd, ctx := configuration("KOWHAI"), configuration("ODD"), s.Context()
			odd.Provider.Name, odd.Provider.Branding.DisplayName, odd.Provider.Destination.Secret = "Ko\u0304whai", "zero\u200bwidth", `\"secret'%`
			s.configure(conf, odd, legacy("RIMU"))
			s.same("providers", get(s.Providers(ctx))(s), []catalogue.Provider{conf.Provider, odd.Provider, legacy("RIMU").Provider})
			for _, want := range conf.Courses {
				s.same("course "+want.Code, get(s.Course(ctx, "KOWHAI", want.Code))(s), want)
			}
			s.same("configurations", s.export("").Configurations, all{conf, odd, legacy("RIMU")})
			missing(s.Course(ctx, "KOWHAI", "nzdip"))(s, "an unknown course")
		}},
		{"providers come in the order of their codes, all of them or those that are asked for", func(s *store) {
			s.same("none", len(get(s.Providers(s.Context()))(s)), 0)
			s.configure(legacy("B"), legacy("A-1"), legacy("A_1"), legacy("A0"), legacy("A"))
			for _, tt := range []struct{ ask, want []string }{
				{nil, []string{"A", "A-1", "A0", "A_1", "B"}}, // by their bytes
				{[]string{"B", "A", "C", "B"}, []string{"A", "B"}},
				{[]string{"C", "b"}, nil},
			} {
				var got []string
				for _, p := range get(s.Providers(s.Context(), tt.ask...))(s) {
					got = append(got, p.Code)
				}
				s.same("providers", got, tt.want)
			}
		}},
		{"a configuration takes the place of the one before, and leaves keys and checkouts", replaces},
		{"decide gets all configurations in the order of the codes, and its error stores nothing", func(s *store) {
			s.configure(configuration("RIMU"), configuration("KOWHAI"))
			s.unchanged(func() {
				err := s.ReplaceProviders(s.Context(), func(got all) (all, []checkout.Act, error) {
					s.same("configurations", got, all{configuration("KOWHAI"), configuration("RIMU")})
					return nil, []checkout.Act{act(1)}, errNo
				})
				s.same("error", err, errNo)
			})
		}},
		{"a provider or a course that comes twice is ErrDuplicate, and nothing is stored", func(s *store) {
			s.configure(configuration("KOWHAI"))
			course := configuration("RIMU")
			course.Courses = append(course.Courses, course.Courses[0])
			s.unchanged(func() {
				for what, after := range map[string]all{
					"provider": {legacy("RIMU"), legacy("TOTARA"), legacy("RIMU")},
					"course":   {legacy("TOTARA"), course},
				} {
					s.refused(what, s.ReplaceProviders(s.Context(), replacing(after, act(1))), ports.ErrDuplicate)
				}
			})
		}},
		{"of concurrent changes of the configuration none is lost", func(s *store) {
			s.concurrently("ReplaceProviders", many, nil, func(s *store, i int) error {
				return s.ReplaceProviders(s.Context(), func(was all) (all, []checkout.Act, error) {
					return append(was, legacy("P"+string(rune('A'+i)))), []checkout.Act{act(i)}, nil
				})
			})
			s.same("providers", len(get(s.Providers(s.Context()))(s)), many)
			s.same("acts", len(s.acts(checkout.ActFilter{})), many)
		}},
	}
}

func keys() []promise {
	return []promise{
		{"keys come back as they were added, in the order of their creation", func(s *store) {
			first, odd := key(1), key(3)
			bare := catalogue.Key{ID: "id0", Provider: "RIMU", Environment: catalogue.Production, Hash: [32]byte{1}, CreatedAt: at(2)}
			odd.Label, odd.CreatedAt, odd.ExpiresAt = "Ko\u0304whai ' \"", at(3).Add(999*time.Microsecond).In(nzdt), at(4).In(nzdt)
			s.addKeys(odd, key(2), first, bare)
			odd.CreatedAt, odd.ExpiresAt = at(3), at(4)
			s.same("keys", get(s.Keys(s.Context()))(s), []catalogue.Key{first, bare, key(2), odd})
			s.same("key", get(s.Key(s.Context(), odd.Hash))(s), odd)
			missing(s.Key(s.Context(), [32]byte{9}))(s, "an unknown key")
		}},
		{"a key's id and hash are taken once", func(s *store) {
			s.addKeys(key(1))
			sameID, sameHash := key(2), key(3)
			sameID.ID, sameHash.Hash = key(1).ID, key(1).Hash
			s.unchanged(func() {
				s.refused("id", s.AddKey(s.Context(), sameID, act(9)), ports.ErrDuplicate)
				s.refused("hash", s.AddKey(s.Context(), sameHash, act(9)), ports.ErrDuplicate)
			})
			s.concurrently("AddKey", 1, ports.ErrDuplicate, func(s *store, i int) error { return s.AddKey(s.Context(), key(4), act(20+i)) })
		}},
		{"a key is revoked once, with its act", func(s *store) {
			s.addKeys(key(1), key(2))
			s.concurrently("RevokeKey", many, nil, func(s *store, i int) error {
				return s.RevokeKey(s.Context(), "id1", at(30+i).Add(time.Microsecond).In(nzdt), act(30+i))
			})
			acts := s.acts(checkout.ActFilter{Since: at(30)})
			s.same("acts", len(acts), 1)
			s.same("revoked", get(s.Key(s.Context(), key(1).Hash))(s).RevokedAt, acts[0].At)
			s.unchanged(func() {
				s.must("RevokeKey again", s.RevokeKey(s.Context(), "id1", at(50), act(50)))
				s.refused("RevokeKey of an unknown key", s.RevokeKey(s.Context(), "id9", at(50), act(50)), ports.ErrNotFound)
			})
			s.same("another key", get(s.Key(s.Context(), key(2).Hash))(s), key(2))
		}},
		{"acts are listed by each filter, the newest first, as they were stored", listsActs},
	}
}

// all is every configuration.
type all = []catalogue.Configuration

// replacing returns a decision about the configurations, whatever they are.
func replacing(after all, acts ...checkout.Act) func(all) (all, []checkout.Act, error) {
	return func(all) (all, []checkout.Act, error) { return after, acts, nil }
}

func (s *store) configure(after ...catalogue.Configuration) {
	s.Helper()
	s.must("ReplaceProviders", s.ReplaceProviders(s.Context(), replacing(after)))
}

// addKeys stores API keys.
func (s *store) addKeys(keys ...catalogue.Key) {
	s.Helper()
	for i, k := range keys {
		s.must("AddKey "+k.ID, s.AddKey(s.Context(), k, act(i+1)))
	}
}

// acts returns the acts that a filter admits.
func (s *store) acts(f checkout.ActFilter) []checkout.Act {
	s.Helper()
	return get(s.Acts(s.Context(), f, 1000))(s)
}

func replaces(s *store) {
	s.configure(configuration("KOWHAI"), configuration("RIMU"))
	s.addKeys(key(1))
	s.insert(opened(1))
	changed := configuration("KOWHAI")
	changed.Provider.Active = false
	slices.Reverse(changed.Courses)
	first, second := act(11), act(12)
	s.must("ReplaceProviders", s.ReplaceProviders(s.Context(), replacing(all{legacy("TOTARA"), changed}, first, second)))
	e := s.export("")
	s.same("configurations", e.Configurations, all{changed, legacy("TOTARA")})
	s.same("keys", e.Keys, []catalogue.Key{key(1)})
	s.same("checkout", e.Checkouts[0].Checkout, stored(opened(1)).Next)
	s.same("acts", s.acts(checkout.ActFilter{})[:2], []checkout.Act{second, first})
	missing(s.Course(s.Context(), "RIMU", "NZDIP"))(s, "a course that is gone")
}

func listsActs(s *store) {
	var acts []checkout.Act // the newest first
	for n := range 6 {
		a := act(n)
		if a.Subject += oddTexts()[n]; n == 4 {
			a = checkout.Act{ID: a.ID, At: at(5).Add(999 * time.Microsecond).In(nzdt), Operator: "M", Name: "apply", ProviderCode: "RIMU"}
		}
		s.must("AddKey", s.AddKey(s.Context(), key(n), a))
		a.At = a.At.UTC().Truncate(time.Millisecond)
		acts = append([]checkout.Act{a}, acts...)
	}
	for what, tt := range map[string]struct {
		filter checkout.ActFilter
		want   []checkout.Act
	}{
		"all":      {checkout.ActFilter{}, acts},
		"provider": {checkout.ActFilter{ProviderCode: "RIMU"}, acts[1:2]},
		"subject":  {checkout.ActFilter{Subject: acts[3].Subject}, acts[3:4]},
		"since":    {checkout.ActFilter{Since: at(3).Add(999 * time.Microsecond).In(nzdt)}, acts[:3]},
		"each":     {checkout.ActFilter{ProviderCode: "KOWHAI", Subject: acts[0].Subject, Since: at(5)}, acts[:1]},
	} {
		s.same("by "+what, s.acts(tt.filter), tt.want)
	}
	s.same("two", get(s.Acts(s.Context(), checkout.ActFilter{}, 2))(s), acts[:2])
}
