package operate_test

import (
	"fmt"
	"slices"
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

func TestAChangeIsRecordedWithItsProvidersAndItsLines(t *testing.T) {
	d := newDesk(t)
	for n, tt := range []struct {
		change  operate.Change
		subject string
		names   []string
	}{
		{operate.Change{Named: []catalogue.Configuration{named("TUI", "Tūī"), named("KOWHAI", "Kōwhai"), named("RATA", "Rata")}},
			"KOWHAI RATA TUI", []string{"Kōwhai", "Rata", "Tūī"}},
		{operate.Change{Named: []catalogue.Configuration{named("RATA", "Rātā")}}, "RATA", []string{"Kōwhai", "Rātā", "Tūī"}},
		{operate.Change{Named: []catalogue.Configuration{named("RATA", "Rata"), named("MOA", "Moa"), named("KOWHAI", "Kōwhai")}, Prune: true},
			"MOA RATA TUI", []string{"Kōwhai", "Moa", "Rata"}},
	} {
		lines, _, err := d.Configure(t.Context(), "apply", tt.change)
		acts := d.recorded(t)
		if err != nil || len(acts) != n+1 || !slices.Equal(d.names(t), tt.names) {
			t.Fatalf("%v; on record are %q and %d acts, want %q", err, d.names(t), len(acts), tt.names)
		}
		checkAct(t, acts[n], "apply", tt.subject, lines...)
	}
}

// A record is bounded: it names twenty providers, and has five hundred lines.
func TestAChangeOfManyProvidersIsRecordedInBrief(t *testing.T) {
	d := newDesk(t)
	var all []catalogue.Configuration
	for n := range operate.MaxChanges + 10 {
		all = append(all, named(fmt.Sprintf("P%03d", n), "A name"))
	}
	lines, _, err := d.Configure(t.Context(), "apply", operate.Change{Named: all})
	if err != nil || len(lines) != len(all) {
		t.Fatalf("%d lines, %v; want all %d", len(lines), err, len(all))
	}
	act := d.recorded(t)[0]
	if last := act.Changes[len(act.Changes)-1]; !strings.HasSuffix(act.Subject, "P019 and 490 more") || len(act.Changes) != operate.MaxChanges ||
		last != "and 11 lines more, which are not recorded" {
		t.Errorf("the act is about %q, with %d lines, the last %q", act.Subject, len(act.Changes), last)
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
