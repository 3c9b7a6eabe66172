package salesforcetest

import (
	"maps"
	"slices"
	"strconv"
)

// Action is the effect of a call on a record.
type Action string

// The actions.
const (
	Created Action = "created"
	Updated Action = "updated"
	Deleted Action = "deleted"
)

// Journal returns every effect that calls had so far, the first one first. A call that was rolled back had no effect.
func (s *Simulator) Journal() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries := append([]Entry{}, s.org.journal...)
	for i := range entries {
		entries[i].Fields, entries[i].Changed = maps.Clone(entries[i].Fields), slices.Clone(entries[i].Changed)
	}
	return entries
}

// note adds what was done with a record to the entries of the transaction.
func (t *transaction) note(action Action, r *record, before, written map[string]string) {
	e := Entry{Time: t.now, Call: t.call, Method: t.method, Path: t.path, Action: action, Type: r.table.Name, Key: r.key(), ID: r.id,
		Fields: map[string]string{}, Changed: []string{}}
	for name, value := range written {
		e.Fields[name] = value
		if r.table.field(name).Type == TypeBase64 {
			e.Fields[name] = strconv.Itoa(len(value)) + " bytes"
		}
		if before[name] != value {
			e.Changed = append(e.Changed, name)
		}
	}
	slices.Sort(e.Changed)
	t.entries = append(t.entries, e)
}
