package checkout

import "time"

// Act is something that an operator did. It is stored in the commit of its effect, and is never changed. It has no personal data.
type Act struct {
	ID           string // act_…
	At           time.Time
	Operator     string   // a name; nothing proves it
	Name         string   // the command: "keys revoke"
	Subject      string   // a checkout's id, an agreement's number, a key's id, a provider's code
	ProviderCode string   // "" for an act of no provider
	Reason       string   // as the operator gave it; may be ""
	Changes      []string // before and after, a line each, without secrets
}

// ActFilter admits the acts that match all its fields. An empty field matches every act.
type ActFilter struct {
	ProviderCode string
	Subject      string
	Since        time.Time // done at this time or later
}
