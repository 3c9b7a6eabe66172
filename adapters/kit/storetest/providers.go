package storetest

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Providers tests a store against ports.Configuration and ports.Configurer, except for API keys.
func Providers(t *testing.T, open Open) {
	run(t, open, []promise{
		{"a provider comes back as it was stored, its secret included", func(t *testing.T, s ports.Admin) {
			counts(t, "providers of a new store", 0)(s.Providers(t.Context()))
			want := configuration("KOWHAI")
			configure(t, s, want, legacy("RIMU"))
			for _, p := range []catalogue.Provider{want.Provider, legacy("RIMU").Provider} {
				gets(t, "provider", p)(s.Provider(t.Context(), p.Code))
			}
			gets(t, "providers", []catalogue.Provider{want.Provider, legacy("RIMU").Provider})(s.Providers(t.Context()))
		}},
		{"courses and options come back as they were stored, and in their order", func(t *testing.T, s ports.Admin) {
			want := configuration("KOWHAI")
			configure(t, s, want, legacy("RIMU"))
			for _, c := range want.Courses {
				gets(t, "course", c)(s.Course(t.Context(), "KOWHAI", c.Code))
			}
			same(t, "configurations", export(t, s).Configurations, []catalogue.Configuration{want, legacy("RIMU")})
		}},
		{"providers come in the order of their codes", func(t *testing.T, s ports.Admin) {
			configure(t, s, legacy("B"), legacy("a"), legacy("A_"), legacy("A"), legacy("A-"), legacy("0"))
			all := result(s.Providers(t.Context()))(t)
			var codes []string
			for _, p := range all {
				codes = append(codes, p.Code)
			}
			same(t, "codes", codes, []string{"0", "A", "A-", "A_", "B", "a"})
		}},
		{"text comes back byte for byte, and codes that look alike are different", configurationTexts},
		{"amounts and counts come back whole", func(t *testing.T, s ports.Admin) {
			want := configuration("KOWHAI")
			want.Courses[0].Price, want.Courses[0].Upfront = math.MaxInt64, 1<<53+1
			want.Courses[0].Options = []catalogue.Option{
				{Frequency: money.Weekly, Number: math.MaxInt32}, {Frequency: money.Monthly, Amount: math.MaxInt64},
			}
			configure(t, s, want)
			gets(t, "course", want.Courses[0])(s.Course(t.Context(), "KOWHAI", want.Courses[0].Code))
		}},
		{"a provider or course that does not exist is not found", func(t *testing.T, s ports.Admin) {
			configure(t, s, configuration("KOWHAI"), legacy("RIMU"))
			missing(t, "Provider")(s.Provider(t.Context(), "kowhai"))
			for _, c := range [][2]string{{"KOWHAI", "nzdip"}, {"KOWHAI", ""}, {"RIMU", "NZDIP"}, {"TOTARA", "NZDIP"}} {
				missing(t, fmt.Sprintf("Course %q", c))(s.Course(t.Context(), c[0], c[1]))
			}
		}},
		{"a replacement leaves nothing of what it replaces", replacedWhole},
		{"decide gets all configurations in the order of the codes", decideGetsAll},
		{"an error of decide is returned as it is, a panic reaches the caller, and nothing is stored", replaceError},
		{"a provider or a course that comes twice is a duplicate, and nothing is stored", configuredTwice},
		{"keys and checkouts outlive the configuration", func(t *testing.T, s ports.Admin) {
			configure(t, s, configuration("KOWHAI"))
			addKeys(t, s, key(1))
			insert(t, s, opened(1))
			configure(t, s)
			got := export(t, s)
			same(t, "configurations", len(got.Configurations), 0)
			same(t, "keys", got.Keys, []catalogue.Key{key(1)})
			same(t, "checkout", got.Checkouts[0].Checkout, opened(1).Next)
		}},
	})
}

func configurationTexts(t *testing.T, s ports.Admin) {
	want := configuration("KOWHAI")
	want.Courses = nil
	for _, text := range oddTexts() {
		p := &want.Provider
		p.EnrolmentOrigins = append(p.EnrolmentOrigins, text)
		p.Name, p.AccountID, p.SuccessURL, p.CancelURL = text, text, text, text
		p.Branding = catalogue.Branding{DisplayName: text, PrimaryColour: text, LogoURL: text, SupportEmail: text}
		p.Destination.Secret = text
		want.Courses = append(want.Courses, catalogue.Course{Code: text, Name: text, Price: 1, Environment: catalogue.Sandbox})
		configure(t, s, want)
		gets(t, "provider", *p)(s.Provider(t.Context(), "KOWHAI"))
	}
	for _, c := range want.Courses {
		gets(t, "course", c)(s.Course(t.Context(), "KOWHAI", c.Code))
	}
}

func replacedWhole(t *testing.T, s ports.Admin) {
	configure(t, s, configuration("KOWHAI"), configuration("RIMU"), legacy("TOTARA"))
	want := configuration("RIMU")
	want.Provider.EnrolmentOrigins, want.Provider.Destination = nil, catalogue.Destination{}
	want.Courses = want.Courses[1:]
	want.Courses[0].Options = nil
	configure(t, s, want)
	same(t, "configurations", export(t, s).Configurations, []catalogue.Configuration{want})
	missing(t, "Course that was removed")(s.Course(t.Context(), "RIMU", "NZDIP"))
	configure(t, s)
	same(t, "configurations", len(export(t, s).Configurations), 0)
}

func decideGetsAll(t *testing.T, s ports.Admin) {
	configure(t, s, legacy("RIMU"), configuration("KOWHAI"), legacy("A"))
	decide := func(all []catalogue.Configuration) ([]catalogue.Configuration, *checkout.Act, error) {
		same(t, "what decide gets", all, []catalogue.Configuration{legacy("A"), configuration("KOWHAI"), legacy("RIMU")})
		return all, nil, nil
	}
	must(t, "ReplaceProviders", s.ReplaceProviders(t.Context(), decide))
	same(t, "configurations", export(t, s).Configurations,
		[]catalogue.Configuration{legacy("A"), configuration("KOWHAI"), legacy("RIMU")})
}

func replaceError(t *testing.T, s ports.Admin) {
	configure(t, s, configuration("KOWHAI"))
	want := errors.New("no")
	unchanged(t, s, func() {
		if err := s.ReplaceProviders(t.Context(), by(nil, nil, want)); err != want {
			t.Errorf("ReplaceProviders: got error %v, want the very error of decide", err)
		}
		panicking := func([]catalogue.Configuration) ([]catalogue.Configuration, *checkout.Act, error) { panic("decide") }
		panics(t, "decide", func() { _ = s.ReplaceProviders(t.Context(), panicking) })
	})
	configure(t, s, legacy("RIMU")) // the store goes on
}

func configuredTwice(t *testing.T, s ports.Admin) {
	configure(t, s, configuration("KOWHAI"))
	twice := configuration("RIMU")
	twice.Courses[1].Code = twice.Courses[0].Code
	unchanged(t, s, func() {
		for what, all := range map[string][]catalogue.Configuration{
			"a provider twice": {legacy("A"), configuration("RIMU"), legacy("RIMU")},
			"a course twice":   {legacy("A"), twice},
		} {
			refused(t, what, s.ReplaceProviders(t.Context(), by(all, nil, nil)), ports.ErrDuplicate)
		}
	})
}
