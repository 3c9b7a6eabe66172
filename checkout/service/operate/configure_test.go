package operate_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

func TestAChangeOfNothingIsNotRecorded(t *testing.T) {
	d := newDesk(t)
	with := named("KOWHAI", "Kōwhai")
	with.Provider.Destination = catalogue.Destination{URL: "https://hooks.example", Secret: "whsec_0123456789abcdefgh"}
	for _, tt := range []struct {
		name    string
		change  operate.Change
		lines   int
		records int
	}{
		{"a dry run", operate.Change{Named: []catalogue.Configuration{with}, DryRun: true}, 1, 0},
		{"the first time", operate.Change{Named: []catalogue.Configuration{with}}, 1, 1},
		{"the second time", operate.Change{Named: []catalogue.Configuration{with}}, 0, 1},
		{"without the destination, which is kept", operate.Change{Named: []catalogue.Configuration{named("KOWHAI", "Kōwhai")}, KeepDestinations: true}, 0, 1},
		{"with a rate", operate.Change{Named: []catalogue.Configuration{rated(with)}}, 1, 2},
		{"without the rate, which is kept too", operate.Change{Named: []catalogue.Configuration{named("KOWHAI", "Kōwhai")}, KeepDestinations: true}, 0, 2},
		{"without the destination, which is not", operate.Change{Named: []catalogue.Configuration{named("KOWHAI", "Kōwhai")}}, 1, 3},
	} {
		lines, _, err := d.Configure(t.Context(), "apply", tt.change)
		if acts := d.recorded(t); err != nil || len(lines) != tt.lines || len(acts) != tt.records {
			t.Errorf("%s: %q, %v, %d acts; want %d lines and %d acts", tt.name, lines, err, len(acts), tt.lines, tt.records)
		}
	}
	for _, act := range d.recorded(t) {
		if strings.Contains(fmt.Sprint(act), "whsec_") {
			t.Errorf("the act %+v has a secret", act)
		}
	}
}

func rated(c catalogue.Configuration) catalogue.Configuration {
	c.Provider.RateLimit = 250
	return c
}

func TestEachProviderThatChangesHasAnActWithItsLines(t *testing.T) {
	d := newDesk(t)
	acts := 0
	for _, tt := range []struct {
		change   operate.Change
		subjects []string
		names    []string
	}{
		{operate.Change{Named: []catalogue.Configuration{named("TUI", "Tūī"), named("KOWHAI", "Kōwhai"), named("RATA", "Rata")}},
			[]string{"KOWHAI", "RATA", "TUI"}, []string{"Kōwhai", "Rata", "Tūī"}},
		{operate.Change{Named: []catalogue.Configuration{named("RATA", "Rātā")}}, []string{"RATA"}, []string{"Kōwhai", "Rātā", "Tūī"}},
		{operate.Change{Named: []catalogue.Configuration{named("RATA", "Rata"), named("MOA", "Moa"), named("KOWHAI", "Kōwhai")}, Prune: true},
			[]string{"MOA", "RATA", "TUI"}, []string{"Kōwhai", "Moa", "Rata"}},
	} {
		lines, _, err := d.Configure(t.Context(), "apply", tt.change)
		on := d.recorded(t)
		if err != nil || len(on) != acts+len(tt.subjects) || !slices.Equal(d.names(t), tt.names) {
			t.Fatalf("%v; on record are %q and %d acts, want %q", err, d.names(t), len(on), tt.names)
		}
		on = on[acts:]
		acts += len(on)
		slices.SortFunc(on, func(a, b checkout.Act) int { return cmp.Compare(a.Subject, b.Subject) })
		for i, subject := range tt.subjects {
			checkAct(t, on[i], "apply", subject, lines[i])
		}
	}
}

// A record is bounded: it has five hundred lines.
func TestAChangeOfManyCoursesIsRecordedInBrief(t *testing.T) {
	d := newDesk(t)
	many := named("KOWHAI", "Kōwhai")
	for n := range 509 {
		many.Courses = append(many.Courses, catalogue.Course{Code: fmt.Sprintf("C%03d", n)})
	}
	lines, _, err := d.Configure(t.Context(), "apply", operate.Change{Named: []catalogue.Configuration{many}})
	if err != nil || len(lines) != 510 {
		t.Fatalf("%d lines, %v; want all 510", len(lines), err)
	}
	act := d.recorded(t)[0]
	if last := act.Changes[len(act.Changes)-1]; len(act.Changes) != 500 || last != "and 11 lines more, which are not recorded" {
		t.Errorf("the act has %d lines, the last %q", len(act.Changes), last)
	}
}

func TestAChangeExpectsARevision(t *testing.T) {
	d := newDesk(t)
	first := operate.Change{Named: []catalogue.Configuration{named("KOWHAI", "Kōwhai")}, DryRun: true}
	_, revision, err := d.Configure(t.Context(), "apply", first)
	must(t, err)
	first.DryRun, first.Expect = false, revision
	_, after, err := d.Configure(t.Context(), "apply", first)
	if err != nil || after == revision {
		t.Errorf("expecting the revision that a dry run said: %v, and then revision %s after %s", err, after, revision)
	}
	first.Named[0].Provider.Name = "Kowhai"
	if _, _, err := d.Configure(t.Context(), "apply", first); !errors.Is(err, operate.ErrOtherRevision) || len(d.recorded(t)) != 1 {
		t.Errorf("expecting an old one: %v, and %d acts", err, len(d.recorded(t)))
	}
}

func TestAProviderIsDisabledAndEnabledOnce(t *testing.T) {
	d := newDesk(t)
	p := named("KOWHAI", "Kōwhai")
	p.Provider.Active = true
	d.configure(t, p)
	if err := d.SetDisabled(t.Context(), "TUI", true); !errors.Is(err, operate.ErrNoProvider) {
		t.Errorf("an unknown provider: %v", err)
	}
	for n, disabled := range []bool{true, false} {
		for range 2 { // the second time nothing happens
			must(t, d.SetDisabled(t.Context(), "KOWHAI", disabled))
		}
		acts := d.recorded(t)
		if len(acts) != n+1 || acts[n].Name != map[bool]string{true: "providers disable", false: "providers enable"}[disabled] || len(acts[n].Changes) != 1 {
			t.Errorf("disabled %t: the acts are %+v", disabled, acts)
		}
		for _, keep := range []bool{true, false} { // a pull, and an apply
			if _, _, err := d.Configure(t.Context(), "apply", operate.Change{Named: []catalogue.Configuration{p}, KeepDestinations: keep}); err != nil {
				t.Fatal(err)
			}
			if list, err := d.store.Providers(t.Context()); err != nil || list[0].Disabled != disabled {
				t.Errorf("on record is %+v, %v; want disabled %t", list, err, disabled)
			}
		}
	}
}

// A destination that is kept must fit what is new about its provider.
func TestADestinationThatIsKeptIsChecked(t *testing.T) {
	d := newDesk(t)
	with := named("KOWHAI", "Kōwhai")
	with.Provider.Destination = catalogue.Destination{URL: "http://127.0.0.1:1/hooks", Secret: "whsec_0123456789abcdefgh"}
	d.configure(t, with)
	live := named("KOWHAI", "Kōwhai")
	live.Provider.Environment = catalogue.Production
	_, _, err := d.Configure(t.Context(), "providers pull", operate.Change{Named: []catalogue.Configuration{live}, KeepDestinations: true})
	if err == nil || !strings.Contains(err.Error(), "provider KOWHAI: ") || !strings.Contains(err.Error(), "on record") || len(d.recorded(t)) != 0 {
		t.Errorf("%v, and %d records; want a destination of the sandbox refused in production", err, len(d.recorded(t)))
	}
}
