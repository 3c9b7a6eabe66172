package salesforcetest

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

// Action is the effect of a call on a record.
type Action string

// The actions.
const (
	Created Action = "created"
	Updated Action = "updated"
	Deleted Action = "deleted"
)

// Entry is one effect of a call: a record that it created, updated or deleted. The control path answers with it.
type Entry struct {
	Time    time.Time         `json:"time"`
	Call    int               `json:"call"`   // number of the call, from 1; the parts of a composite call share it
	Method  string            `json:"method"` // of the call, or of the part of a composite call
	Path    string            `json:"path"`
	Action  Action            `json:"action"`
	Type    string            `json:"type"`    // name of the object
	Key     string            `json:"key"`     // value of the record's first unique field that has a value, or ""
	ID      string            `json:"id"`      // of the record
	Fields  map[string]string `json:"fields"`  // what was written, by name of the field; of content only the size
	Changed []string          `json:"changed"` // names of those fields whose value became another, sorted; all of them in a new record
}

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
