package evidence

import (
	"encoding/json"
	"errors"
	"time"
)

// Kinds of entries.
const (
	KindAgreement = "agreement"
	KindOperation = "operation"
)

// Record is the content of an entry.
type Record struct {
	Kind      string
	At        time.Time
	Agreement string    // the number, of the kind KindAgreement
	Operation Operation // of the kind KindOperation
}

var errUnknownRecord = errors.New("it is no record that this version knows")

// Read returns what the leaf of an entry says. Whether it is what was recorded only the tree shows.
func Read(leaf []byte) (r Record, err error) {
	var kind kindWire
	if err := json.Unmarshal(leaf, &kind); err != nil || kind.Format != 1 {
		return r, errUnknownRecord
	}
	at := ""
	switch r.Kind = kind.Kind; r.Kind {
	case KindAgreement:
		var w agreementWire
		err = json.Unmarshal(leaf, &w)
		r.Agreement, at = w.Number, w.RecordedAt
	case KindOperation:
		var w operationWire
		err = json.Unmarshal(leaf, &w)
		r.Operation, at = w.operation(), w.At
	default:
		return Record{}, errUnknownRecord
	}
	if err != nil {
		return Record{}, errUnknownRecord
	}
	if r.At, err = time.Parse(time.RFC3339, at); err != nil {
		return Record{}, errUnknownRecord
	}
	r.Operation.At = r.At
	return r, nil
}

func (w operationWire) operation() Operation {
	return Operation{Operator: w.Operator, Name: w.Operation, Subject: w.Subject, Reason: w.Reason, Changes: w.Changes}
}
