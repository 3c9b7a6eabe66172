package conformance

import "encoding/xml"

// reportWire is the report as JSON.
type reportWire struct {
	BaseURL     string       `json:"base_url"`
	Environment string       `json:"environment"`
	Provider    string       `json:"provider_code"`
	At          string       `json:"at"`
	Passed      int          `json:"passed"`
	Failed      int          `json:"failed"`
	Skipped     int          `json:"skipped"`
	Checks      []resultWire `json:"checks"`
}

type resultWire struct {
	Section  string      `json:"section"`
	Sentence string      `json:"sentence"`
	Status   Status      `json:"status"`
	Reason   string      `json:"reason,omitempty"`
	Seconds  float64     `json:"seconds"`
	Faults   []faultWire `json:"faults,omitempty"`
}

type faultWire struct {
	Want    string `json:"want"`
	Request string `json:"request"`
	Answer  string `json:"answer"`
}

// suiteWire is the report as JUnit's XML, of which every reader knows these elements and attributes.
type suiteWire struct {
	XMLName  xml.Name   `xml:"testsuite"`
	Name     string     `xml:"name,attr"`
	At       string     `xml:"timestamp,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Skipped  int        `xml:"skipped,attr"`
	Seconds  string     `xml:"time,attr"`
	Cases    []caseWire `xml:"testcase"`
}

type caseWire struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Seconds string       `xml:"time,attr"`
	Failure *failureWire `xml:"failure"`
	Skipped *skippedWire `xml:"skipped"`
}

type failureWire struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

type skippedWire struct {
	Message string `xml:"message,attr"`
}
