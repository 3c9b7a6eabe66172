package conformance

import (
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/junit"
)

// add adds the outcome of a check.
func (r *Report) add(result Result) {
	r.Checks = append(r.Checks, result)
	switch result.Status {
	case Passed:
		r.Passed++
	case Failed:
		r.Failed++
	case Skipped:
		r.Skipped++
	}
}

// Write writes the report for people: a line for each check, with its faults below it.
func (r Report) Write(w io.Writer) error {
	words := map[Status]string{Passed: "ok  ", Failed: "FAIL", Skipped: "skip"}
	var text strings.Builder
	for _, c := range r.Checks {
		fmt.Fprintf(&text, "%s  %s: %s", words[c.Status], c.section(), c.Sentence)
		if c.Reason != "" {
			fmt.Fprintf(&text, " (%s)", c.Reason)
		}
		text.WriteString("\n")
		for _, f := range c.Faults {
			text.WriteString(indented(f.text(), "      "))
		}
	}
	fmt.Fprintf(&text, "%d passed, %d failed, %d skipped: %s (%s)\n", r.Passed, r.Failed, r.Skipped, r.BaseURL, r.Environment)
	_, err := io.WriteString(w, text.String())
	return err
}

// section returns the section of a check in words.
func (c Result) section() string {
	if c.Section == docs {
		return "documentation"
	}
	return "section " + c.Section
}

// text returns a fault with its request and answer.
func (f Fault) text() string {
	return "want " + f.Want + "\n" + indented(f.Request, "> ") + indented(f.Answer, "< ")
}

func indented(text, by string) string {
	var lines strings.Builder
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		lines.WriteString(strings.TrimRight(by+line, " ") + "\n")
	}
	return lines.String()
}

// JSON returns the report as a JSON object.
func (r Report) JSON() ([]byte, error) { return json.Marshal(r, jsontext.WithIndent("  ")) }

// JUnit returns the report as JUnit's XML: a test suite, with a test case for each check.
func (r Report) JUnit() ([]byte, error) {
	suite := junit.Suite{Name: "provider-checkout conformance " + r.BaseURL, At: r.At.Format("2006-01-02T15:04:05")}
	for _, c := range r.Checks {
		to := junit.Case{Class: c.section(), Name: c.Sentence, Seconds: c.Seconds}
		if c.Status == Skipped {
			to.Skipped = &junit.Message{Message: c.Reason}
		}
		if c.Status == Failed {
			to.Failure = &junit.Message{Message: "want " + c.Faults[0].Want}
			for _, f := range c.Faults {
				to.Failure.Text += f.text() + "\n"
			}
		}
		suite.Cases = append(suite.Cases, to)
	}
	return suite.XML()
}
