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
	// Object, if it is not "", names the changed thing: Providers, KeyObject of an API key, or EndObject. Before and After are
	// hashes of it in hexadecimal, "" where it did not exist.
	Object, Before, After string
}

// Providers is the object of a change of the providers' configurations.
const Providers = "providers"

// EndObject returns the object of the withdrawal of an agreement.
func EndObject(number string) string { return "end/" + number }

// KeyObject returns the object of a change of an API key.
func KeyObject(id string) string { return "key/" + id }

// OfOperation returns the entry of an operation with an id of its own, to be attested. What it has seen of the tree its store adds.
func OfOperation(id string, o Operation) Entry {
	return Entry{ID: OperationID(id), At: o.At, seen: unseen, Leaf: encode(operationWire{Kind: KindOperation, Format: 1, At: instant(o.At),
		Operator: o.Operator, ApprovedBy: o.Approved, Operation: o.Name, Subject: o.Subject, Reason: o.Reason, Changes: append([]string{}, o.Changes...),
		Object: o.Object, Before: o.Before, After: o.After})}
}
