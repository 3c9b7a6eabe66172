package faults_test

import (
	"bytes"
	"crypto/rand"
	"maps"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/faults"
)

func TestTheFirstFaultThatFitsIsSuffered(t *testing.T) {
	list := faults.New(&sync.Mutex{})
	list.Arm(faults.Fault{Kind: "posts", Method: "POST", Path: "/a/*", Times: 1}, faults.Fault{Kind: "never", Path: "["},
		faults.Fault{Kind: "refused"}, faults.Fault{Kind: "any", Path: "/a/b"})
	accept := func(fault faults.Fault) bool { return fault.Kind != "refused" }
	for i, tt := range []struct {
		method, path string
		want         faults.Kind
	}{
		{"GET", "/a/b", "any"},
		{"POST", "/a/b/c", ""},
		{"POST", "/a/b", "posts"},
		{"POST", "/a/b", "any"}, // the first is spent
		{"GET", "/c", ""},
	} {
		if got, ok := list.Pick(httptest.NewRequest(tt.method, tt.path, nil), rand.Reader, accept); got.Kind != tt.want || ok != (tt.want != "") {
			t.Errorf("%d: Pick(%s %s) = %q %v, want %q", i, tt.method, tt.path, got.Kind, ok, tt.want)
		}
	}
	list.Disarm()
	if got, ok := list.Pick(httptest.NewRequest("GET", "/a/b", nil), rand.Reader, nil); ok {
		t.Errorf("Pick = %q when nothing is armed", got.Kind)
	}
	if got := list.Suffered(); !maps.Equal(got, map[faults.Kind]int{"any": 2, "posts": 1}) {
		t.Errorf("suffered %v", got)
	}
}

// Randomness that a fault does not need is not drawn: the next one would get another draw.
func TestAFaultComesWithItsProbability(t *testing.T) {
	list := faults.New(&sync.Mutex{})
	list.Arm(faults.Fault{Kind: "half", Probability: 0.5})
	for first, want := range map[byte]bool{0x00: true, 0x7f: true, 0x80: false, 0xff: false} {
		draw := bytes.NewReader(append([]byte{first}, make([]byte, 7)...))
		if _, ok := list.Pick(httptest.NewRequest("GET", "/", nil), draw, nil); ok != want || draw.Len() != 0 {
			t.Errorf("Pick with a draw of %#x = %v, want %v", first, ok, want)
		}
	}
}
