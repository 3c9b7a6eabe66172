package testlevel

import (
	"testing"
	"time"
)

func TestTimesAreOfAMachineOfUsualSpeed(t *testing.T) {
	began := time.Now()
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	s := speed{begun: at(32), stretches: []stretch{{at(10), 1}, {at(20), 5}, {at(30), 2}}}
	for _, tt := range []struct{ from, to, want int }{
		{0, 10, 10}, {2, 5, 3}, {10, 20, 2}, {15, 20, 1}, {12, 17, 1}, {0, 30, 17}, {18, 22, 1}, {30, 32, 1}, {10, 10, 0},
	} {
		if got := s.between(at(tt.from), at(tt.to)).Round(time.Second); got != time.Duration(tt.want)*time.Second {
			t.Errorf("from %d s to %d s are %v at usual speed, want %d s", tt.from, tt.to, got, tt.want)
		}
	}
	if got := s.between(at(30), at(91)); got > time.Second {
		t.Errorf("a task that does not end makes a minute %v", got)
	}
}
