package service

import (
	"fmt"
	"testing"
)

func TestRecentForgetsWhatIsOldAndOnlyThat(t *testing.T) {
	var r recent
	for i := range 5 * recentSize {
		r.add(fmt.Sprint(i))
		if !r.has(fmt.Sprint(i)) || i >= recentSize && !r.has(fmt.Sprint(i-recentSize+1)) {
			t.Fatalf("name %d, or one that is not old, is forgotten", i)
		}
	}
	if n := len(r.young) + len(r.old); n > 2*recentSize || r.has("0") {
		t.Errorf("%d names are remembered", n)
	}
}
