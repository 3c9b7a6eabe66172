package evidence

import "time"

// Operation is something that an operator did.
type Operation struct {
	At       time.Time
	Operator string   // a name, at the desk with a role: of the one who asked, where a second person approved
	Approved string   // the second person who approved it, in the same form; "" where one person may act alone
	Name     string   // the command: "keys revoke"
	Subject  string   // what it was done to: a provider code, an id, a number; no personal data
	Reason   string   // as the operator gave it; may be ""
	Changes  []string // before and after, a line each, without secrets and personal data
}

// OfOperation returns the entry of an operation with an id of its own, without its attestation.
func OfOperation(id string, o Operation) Entry {
	return Entry{ID: OperationID(id), At: o.At, Leaf: encode(operationWire{Kind: KindOperation, Format: 1, At: instant(o.At),
		Operator: o.Operator, ApprovedBy: o.Approved, Operation: o.Name, Subject: o.Subject, Reason: o.Reason, Changes: append([]string{}, o.Changes...)})}
}
