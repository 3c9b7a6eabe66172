package events

import (
	"encoding/hex"
	"regexp"
	"strings"
)

// Trace is the traceparent (W3C Trace Context) of the call that caused an event; "" without a trace.
type Trace string

// traceparent matches version 00: a trace id, the id of a span in it, and flags.
var traceparent = regexp.MustCompile(`\A00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}\z`)

// ParseTrace returns the trace of a call that has these values of HeaderTrace. Any but one value of version 00, whose ids are
// not zero, is no trace.
func ParseTrace(values []string) Trace {
	if len(values) != 1 {
		return ""
	}
	ids := traceparent.FindStringSubmatch(values[0])
	if ids == nil || strings.Trim(ids[1], "0") == "" || strings.Trim(ids[2], "0") == "" {
		return ""
	}
	return Trace(values[0])
}

// ID returns the trace id, or "" without a trace.
func (t Trace) ID() string {
	if t == "" {
		return ""
	}
	return string(t[len("00-"):][:32])
}

// Child returns the trace as a span in it passes it on: with the span's id, which is never zero, as the parent.
func (t Trace) Child(span [8]byte) Trace {
	if span == ([8]byte{}) {
		span[7] = 1
	}
	return "00-" + Trace(t.ID()+"-"+hex.EncodeToString(span[:])) + t[len(t)-len("-00"):]
}
