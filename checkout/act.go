package checkout

import "time"

// Act is something that an operator did. It is stored in the commit of what was done, and is never changed.
type Act struct {
	At       time.Time
	Operator string   // a name, at the desk with a role; nothing proves it
	Name     string   // the command: "keys revoke"
	Subject  string   // what it was done to: a provider code, an id, a number; no personal data
	Reason   string   // as the operator gave it; may be ""
	Changes  []string // before and after, a line each, without secrets and personal data
}

// ActFilter selects acts: they match every field that is set.
type ActFilter struct {
	Subject string    // a word of Act.Subject: one of several provider codes, say
	Since   time.Time // done at this time or later
}
