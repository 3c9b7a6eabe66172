// Package junit writes reports as JUnit's XML, with the elements and attributes that every reader knows.
package junit

import (
	"encoding/xml"
	"math"
)

// Suite is a report. XML sets its counts and its time.
type Suite struct {
	XMLName  xml.Name `xml:"testsuite"`
	Name     string   `xml:"name,attr"`
	At       string   `xml:"timestamp,attr,omitempty"` // such as 2026-12-01T03:00:00
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Seconds  float64  `xml:"time,attr"`
	Cases    []Case   `xml:"testcase"`
}

// Case is a test, which passed if it has neither a failure nor an error and was not skipped.
type Case struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Seconds float64  `xml:"time,attr"`
	Failure *Message `xml:"failure"`
	Error   *Message `xml:"error"`
	Skipped *Message `xml:"skipped"`
}

// Message says why a test did not pass.
type Message struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// XML returns the report.
func (s Suite) XML() ([]byte, error) {
	for _, c := range s.Cases {
		s.Tests++
		s.Seconds = math.Round((s.Seconds+c.Seconds)*1000) / 1000
		switch {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
	data, err := xml.MarshalIndent(s, "", "  ")
	return append([]byte(xml.Header), append(data, '\n')...), err
}
