package salesforcetest

import (
	"fmt"
	"maps"
	"strconv"
	"time"
)

// otherCalls is the name of calls that the API does not have.
const otherCalls = "other"

// Statistics counts the work of a simulator so far.
type Statistics struct {
	Calls         map[string]int // by name: "POST /composite", "PATCH /sobjects/Contact/{field}/{value}", or "other"
	Answers       map[string]int // by name and status: "POST /composite 200"; without calls that hung or were reset
	Faults        map[FaultKind]int
	Tokens        int            // that were issued
	Usage         int            // calls of the present day that count for the limit
	BusiestMinute int            // the most calls within one minute of the clock
	Records       map[string]int // of each object that has some
}

// counts are the numbers that are counted at once.
type counts struct {
	calls   map[string]int
	answers map[string]int
	minute  time.Time
	inIt    int // calls in that minute
	busiest int
}

func newCounts() counts {
	return counts{calls: map[string]int{}, answers: map[string]int{}}
}

// inMinute counts a call in its minute.
func (c *counts) inMinute(now time.Time) {
	if minute := now.Truncate(time.Minute); !minute.Equal(c.minute) {
		c.minute, c.inIt = minute, 0
	}
	c.inIt++
	c.busiest = max(c.busiest, c.inIt)
}

func (s *Simulator) count(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.calls[name]++
}

func (s *Simulator) countAnswer(name string, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.answers[name+" "+strconv.Itoa(status)]++
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
	all := Statistics{Calls: maps.Clone(s.counts.calls), Answers: maps.Clone(s.counts.answers), Faults: s.faults.Suffered(),
		Tokens: s.tokens.issued, Usage: s.org.usage.spent, BusiestMinute: s.counts.busiest, Records: map[string]int{}}
	for _, t := range s.org.order {
		if len(t.records) > 0 {
			all.Records[t.Name] = len(t.records)
		}
	}
	return all
}
