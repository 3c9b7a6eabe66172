package events_test

import (
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/events"
)

const trace = events.Trace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")

func TestATraceIsOneValueOfVersion00(t *testing.T) {
	text := string(trace)
	for _, values := range [][]string{
		nil, {}, {""}, {text, text}, {text + " "}, {text + "\n"}, {text + "-00"}, {text[:54]}, {strings.ToUpper(text)},
		{"01" + text[2:]}, {"ff" + text[2:]}, {strings.Replace(text, "4bf9", "4bg9", 1)}, {strings.ReplaceAll(text, "-", "_")},
		{"00-" + strings.Repeat("0", 32) + text[35:]}, {text[:36] + strings.Repeat("0", 16) + "-01"},
	} {
		if got := events.ParseTrace(values); got != "" || got.ID() != "" {
			t.Errorf("%q is the trace %q", values, got)
		}
	}
	if got := events.ParseTrace([]string{text}); got != trace || got.ID() != "4bf92f3577b34da6a3ce929d0e0e4736" {
		t.Errorf("%q is the trace %q, %q", text, got, got.ID())
	}
}

func TestASpanPassesOnTheTraceWithAnIDOfItsOwn(t *testing.T) {
	for span, want := range map[[8]byte]string{
		{0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31}: "b7ad6b7169203331",
		{}: "0000000000000001", // zero is no id
	} {
		if got := trace.Child(span); got != events.Trace("00-4bf92f3577b34da6a3ce929d0e0e4736-"+want+"-01") {
			t.Errorf("the span %x passes on %q", span, got)
		}
		if got := trace.Child(span); events.ParseTrace([]string{string(got)}) != got {
			t.Errorf("%q is no trace", got)
		}
	}
}
