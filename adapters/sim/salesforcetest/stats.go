package salesforcetest

import (
	"fmt"
	"maps"
	"time"
)

// otherCalls is the name of calls that the API does not have.
const otherCalls = "other"

// count counts a call under its name.
func (s *Simulator) count(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[name]++
}

// usage is the part of the limit of a day that is used.
type usage struct {
	limit int
	day   time.Time
	spent int
}

// spend counts a call and reports whether it is within the limit.
func (u *usage) spend(now time.Time) bool {
	if day := now.Truncate(24 * time.Hour); !day.Equal(u.day) {
		u.day, u.spent = day, 0
	}
	if u.spent == u.limit {
		return false
	}
	u.spent++
	return true
}

// String returns the form of the header Sforce-Limit-Info.
func (u *usage) String() string { return fmt.Sprintf("%d/%d", u.spent, u.limit) }

// Statistics returns what the simulator has done so far.
func (s *Simulator) Statistics() Statistics {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := Statistics{Calls: maps.Clone(s.counts), Faults: s.faults.Suffered(), Tokens: s.tokens.issued, Usage: s.org.usage.spent,
		Records: map[string]int{}}
	for _, t := range s.org.order {
		if len(t.records) > 0 {
			all.Records[t.Name] = len(t.records)
		}
	}
	return all
}
