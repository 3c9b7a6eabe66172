package conformance

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// words are the outcomes as the text of a report has them.
var words = map[Status]string{Passed: "ok  ", Failed: "FAIL", Skipped: "skip"}

// Write writes the report for people: a line for each check, with its faults below it.
func (r Report) Write(w io.Writer) error {
	for _, result := range r.Results {
		line := fmt.Sprintf("%s  %s: %s", words[result.Status], section(result.Section), result.Sentence)
		if result.Reason != "" {
			line += " (" + result.Reason + ")"
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
		for _, f := range result.Faults {
			if _, err := io.WriteString(w, indented(f.text(), "      ")); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintf(w, "%d passed, %d failed, %d skipped: %s (%s)\n", r.Count(Passed), r.Count(Failed), r.Count(Skipped), r.BaseURL, r.Environment)
	return err
}

func section(name string) string {
	if name == docs {
		return "documentation"
	}
	return "section " + name
}

// text returns a fault with its request and answer.
func (f Fault) text() string {
	return "want " + f.Want + "\n" + indented(f.Request, "> ") + indented(f.Answer, "< ")
}

func indented(text, by string) string {
	var lines strings.Builder
	for line := range strings.Lines(strings.TrimSuffix(text, "\n") + "\n") {
		lines.WriteString(strings.TrimRight(by+strings.TrimSuffix(line, "\n"), " ") + "\n")
	}
	return lines.String()
}

// JSON returns the report as a JSON object.
func (r Report) JSON() ([]byte, error) {
	w := reportWire{r.BaseURL, r.Environment, r.Provider, r.At.UTC().Format(time.RFC3339), r.Count(Passed), r.Count(Failed), r.Count(Skipped), nil}
	for _, result := range r.Results {
		to := resultWire{Section: result.Section, Sentence: result.Sentence, Status: result.Status, Reason: result.Reason, Seconds: result.Took.Seconds()}
		for _, f := range result.Faults {
			to.Faults = append(to.Faults, faultWire(f))
		}
		w.Checks = append(w.Checks, to)
	}
	return json.Marshal(w, jsontext.WithIndent("  "))
}

// JUnit returns the report as JUnit's XML: a test suite, with a test case for each check.
func (r Report) JUnit() ([]byte, error) {
	w := suiteWire{Name: "provider-checkout conformance " + r.BaseURL, At: r.At.UTC().Format("2006-01-02T15:04:05"), Tests: len(r.Results),
		Failures: r.Count(Failed), Skipped: r.Count(Skipped)}
	var took time.Duration
	for _, result := range r.Results {
		to := caseWire{Class: section(result.Section), Name: result.Sentence, Seconds: seconds(result.Took)}
		if result.Status == Skipped {
			to.Skipped = &skippedWire{result.Reason}
		}
		if len(result.Faults) > 0 {
			to.Failure = &failureWire{Message: "want " + result.Faults[0].Want}
			for _, f := range result.Faults {
				to.Failure.Text += f.text() + "\n"
			}
		}
		took += result.Took
		w.Cases = append(w.Cases, to)
	}
	w.Seconds = seconds(took)
	data, err := xml.MarshalIndent(w, "", "  ")
	return append([]byte(xml.Header), append(data, '\n')...), err
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
