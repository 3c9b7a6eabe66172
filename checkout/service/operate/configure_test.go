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
		if leaves := d.recorded(t); err != nil || len(lines) != tt.lines || len(leaves) != tt.records {
			t.Errorf("%s: %q, %v, %d records; want %d lines and %d records", tt.name, lines, err, len(leaves), tt.lines, tt.records)
		}
	}
	for _, leaf := range d.recorded(t) {
		if strings.Contains(leaf, "whsec_") {
			t.Errorf("the record %s has a secret", leaf)
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
		leaves := d.recorded(t)
		if err != nil || len(leaves) != n+1 || !slices.Equal(d.names(t), tt.names) {
			t.Fatalf("%v; on record are %q and %d records, want %q", err, d.names(t), len(leaves), tt.names)
		}
		for _, want := range append(lines, `"operation":"apply"`, `"subject":"`+tt.subject+`"`) {
			if !strings.Contains(strings.ReplaceAll(leaves[n], `\"`, `"`), want) {
				t.Errorf("the record %s lacks %s", leaves[n], want)
			}
		}
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
	d.says(t, "P019 and 490 more", "and 11 lines more, which are not recorded")
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

// plain is the characters of a font without emoji.
type plain struct{}

func (plain) Unprintable(text string) (missing []rune) {
	for _, r := range text {
		if r > 0x1F000 {
			missing = append(missing, r)
		}
	}
	return missing
}

func TestNamesThatNoAgreementCanPrintAreNamed(t *testing.T) {
	bad := named("KOWHAI", "Kōwhai 😀")
	bad.Courses = []catalogue.Course{{Code: "NZDIP", Name: "Diploma 🎓"}, {Code: "NZCERT", Name: "Certificate"}}
	err := operate.Unprintable([]catalogue.Configuration{bad, named("RATA", "Rata")}, plain{})
	want := "provider KOWHAI: its name must not contain U+1F600, which the agreement cannot print\n" +
		"course NZDIP of provider KOWHAI: its name must not contain U+1F393, which the agreement cannot print"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := operate.Unprintable([]catalogue.Configuration{named("RATA", "Rata")}, plain{}); err != nil {
		t.Error(err)
	}
}
