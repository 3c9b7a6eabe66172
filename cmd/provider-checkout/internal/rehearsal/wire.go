package rehearsal

import (
	"encoding/xml"
)

// reportWire is the report as JSON.
type reportWire struct {
	Situations []outcomeWire `json:"situations"`
}

type outcomeWire struct {
	Situation string      `json:"situation"`
	About     string      `json:"about"`
	State     state       `json:"state"` // waiting, running, passed, failed or skipped
	Order     string      `json:"provider_order_id,omitempty"`
	Checkout  string      `json:"checkout_id,omitempty"`
	Faults    []faultWire `json:"faults"`
}

type faultWire struct {
	Rule    string `json:"rule"`
	Wrong   string `json:"wrong"`
	Says    string `json:"says"`
	Page    string `json:"page"`
	Request string `json:"request_id,omitempty"`
	Times   int    `json:"times"`
}

func (o Outcome) toWire() outcomeWire {
	w := outcomeWire{Situation: o.name, About: o.about, State: o.state, Order: o.order, Checkout: o.checkout, Faults: []faultWire{}}
	for _, f := range o.faults {
		w.Faults = append(w.Faults, faultWire{f.rule, f.wrong, f.says, f.page, f.request, f.times})
	}
	return w
}

// suiteName is the name of the report, and the class of its cases, in JUnit's XML.
const suiteName = "conformance provider"

// suiteWire is the report as JUnit's XML.
type suiteWire struct {
	XMLName  xml.Name   `xml:"testsuite"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Skipped  int        `xml:"skipped,attr"`
	Cases    []caseWire `xml:"testcase"`
}

type caseWire struct {
	Class   string      `xml:"classname,attr"`
	Name    string      `xml:"name,attr"`
	Failure *resultWire `xml:"failure"`
	Error   *resultWire `xml:"error"`
	Skipped *resultWire `xml:"skipped"`
}

type resultWire struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func (o Outcome) toCase() caseWire {
	c, result := caseWire{Class: suiteName, Name: o.name}, &resultWire{Message: string(o.state)}
	for _, f := range o.faults {
		result.Text += f.String() + "\n"
	}
	switch o.state {
	case failed:
		c.Failure = result
	case running, waiting:
		c.Error = result
	case skipped:
		c.Skipped = result
	}
	return c
}
