package rehearsal

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
)

// Report has the outcome of each situation.
type Report []Outcome

// Outcome is the outcome of a situation.
type Outcome struct {
	situation
	state    state
	order    string // of the checkout that was in it; "" without one
	checkout string
	faults   []Fault
}

// count returns the number of situations in these states.
func (r Report) count(states ...state) (n int) {
	for _, o := range r {
		if slices.Contains(states, o.state) {
			n++
		}
	}
	return n
}

// Err returns an error unless the integration has passed in each situation that was not skipped.
func (r Report) Err() error {
	if r.count(passed, skipped) == len(r) {
		return nil
	}
	return fmt.Errorf("of %d situations %d failed, %d had not ended and %d had no checkout", len(r),
		r.count(failed), r.count(running), r.count(waiting))
}

// Print prints each situation with its faults.
func (r Report) Print(w io.Writer) {
	for _, o := range r {
		o.print(w)
	}
}

func (o Outcome) print(w io.Writer) {
	fmt.Fprintf(w, "%-8s %-21s %s\n", o.state, o.name, o.order)
	for _, f := range o.faults {
		fmt.Fprintf(w, "  %s\n", f)
	}
}

// JSON returns the report as JSON.
func (r Report) JSON() ([]byte, error) {
	all := reportWire{}
	for _, o := range r {
		all.Situations = append(all.Situations, o.toWire())
	}
	return json.MarshalIndent(all, "", "  ")
}

// JUnit returns the report as JUnit's XML. A situation without a checkout, or without an end, is an error there.
func (r Report) JUnit() ([]byte, error) {
	suite := suiteWire{Name: suiteName, Tests: len(r), Failures: r.count(failed), Errors: r.count(running, waiting),
		Skipped: r.count(skipped)}
	for _, o := range r {
		suite.Cases = append(suite.Cases, o.toCase())
	}
	text, err := xml.MarshalIndent(suite, "", "  ")
	return slices.Concat([]byte(xml.Header), text), err
}
