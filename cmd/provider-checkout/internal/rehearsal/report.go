package rehearsal

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/junit"
)

// count returns the number of situations with an outcome in one of these states, or of all without states.
func (r Report) count(states ...state) int {
	names := map[string]bool{}
	for _, o := range r.Situations {
		if len(states) == 0 || slices.Contains(states, o.State) {
			names[o.Situation] = true
		}
	}
	return len(names)
}

// Err returns an error unless the integration has passed in each situation that was not skipped.
func (r Report) Err() error {
	if r.count(failed, running, waiting) == 0 {
		return nil
	}
	return fmt.Errorf("of %d situations %d failed, %d had not ended and %d had no checkout", r.count(),
		r.count(failed), r.count(running), r.count(waiting))
}

// Print prints each situation with its faults, except a situation that has passed, which was printed as it ended. It counts them if
// nothing is wrong.
func (r Report) Print(w io.Writer) {
	for _, o := range r.Situations {
		if o.State != passed {
			o.print(w)
		}
	}
	if r.Err() == nil {
		fmt.Fprintf(w, "%d passed, %d skipped: nothing is wrong\n", r.count(passed), r.count(skipped))
	}
}

func (o Outcome) print(w io.Writer) {
	fmt.Fprintf(w, "%-8s %-21s %s\n%s", o.State, o.Situation, cli.OneLine(o.Order), o.text())
}

// text returns the faults, a paragraph each.
func (o Outcome) text() (text string) {
	for _, f := range o.Faults {
		text += "  " + f.String() + "\n"
	}
	return text
}

// JSON returns the report as JSON.
func (r Report) JSON() ([]byte, error) { return json.MarshalIndent(r, "", "  ") }

// JUnit returns the report as JUnit's XML. A situation without a checkout, or without an end, is an error there.
func (r Report) JUnit() ([]byte, error) {
	const name = "conformance provider"
	suite := junit.Suite{Name: name}
	for i, o := range r.Situations {
		c, message := junit.Case{Class: name, Name: o.Situation, Seconds: o.Seconds}, &junit.Message{Message: string(o.State), Text: o.text()}
		if i > 0 && r.Situations[i-1].Situation == o.Situation { // a name may stand there once
			c.Name += " " + o.Order
		}
		switch o.State {
		case failed:
			c.Failure = message
		case running, waiting:
			c.Error = message
		case skipped:
			c.Skipped = message
		}
		suite.Cases = append(suite.Cases, c)
	}
	return suite.XML()
}
