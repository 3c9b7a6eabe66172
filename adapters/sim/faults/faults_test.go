package faults_test

import (
	"bytes"
	"crypto/rand"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/faults"
)

func TestTheFirstFaultThatFitsIsSuffered(t *testing.T) {
	var list faults.Armed[string]
	list.Arm("posts", faults.When{Method: "POST", Path: "/a/*", Times: 1})
	list.Arm("never", faults.When{Path: "["})
	list.Arm("refused", faults.When{})
	list.Arm("any", faults.When{Path: "/a/b"})
	accept := func(fault string) bool { return fault != "refused" }
	for i, tt := range []struct{ method, path, want string }{
		{"GET", "/a/b", "any"},
		{"POST", "/a/b/c", ""},
		{"POST", "/a/b", "posts"},
		{"POST", "/a/b", "any"}, // the first is spent
		{"GET", "/c", ""},
	} {
		if got, ok := list.Pick(tt.method, tt.path, rand.Reader, accept); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%d: Pick(%s %s) = %q %v, want %q", i, tt.method, tt.path, got, ok, tt.want)
		}
	}
	list.Disarm()
	if got, ok := list.Pick("GET", "/a/b", rand.Reader, nil); ok {
		t.Errorf("Pick = %q when nothing is armed", got)
	}
}

// Randomness that a fault does not need is not drawn: the next one would get another draw.
func TestAFaultComesWithItsProbability(t *testing.T) {
	var list faults.Armed[string]
	list.Arm("half", faults.When{Probability: 0.5})
	for first, want := range map[byte]bool{0x00: true, 0x7f: true, 0x80: false, 0xff: false} {
		draw := bytes.NewReader(append([]byte{first}, make([]byte, 7)...))
		if _, ok := list.Pick("GET", "/", draw, nil); ok != want || draw.Len() != 0 {
			t.Errorf("Pick with a draw of %#x = %v, want %v", first, ok, want)
		}
	}
}
