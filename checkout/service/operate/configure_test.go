package operate_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
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
