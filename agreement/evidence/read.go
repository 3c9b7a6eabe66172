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
	LogSize   int64     // size of the tree that the process had seen
}

var errUnknownRecord = errors.New("it is no record that this version knows")

// Read returns what the leaf of an entry says. Whether it is what was recorded only the tree shows.
func Read(leaf []byte) (r Record, err error) {
	var kind kindWire
	at := ""
	switch err = json.Unmarshal(leaf, &kind); {
	case err != nil, kind.Format != 1:
	case kind.Kind == KindAgreement:
		var w agreementWire
		err = json.Unmarshal(leaf, &w)
		r.Agreement, at = w.Number, w.RecordedAt
	case kind.Kind == KindOperation:
		var w operationWire
		err = json.Unmarshal(leaf, &w)
		r.Operation, at = w.operation(), w.At
	}
	if err == nil {
		r.At, err = time.Parse(time.RFC3339, at)
	}
	if err != nil {
		return Record{}, errUnknownRecord
	}
	r.Kind, r.LogSize, r.Operation.At = kind.Kind, kind.LogSize, r.At
	return r, nil
}

func (w operationWire) operation() Operation {
	return Operation{Operator: w.Operator, Approved: w.ApprovedBy, Name: w.Operation, Subject: w.Subject, Reason: w.Reason,
		Changes: w.Changes, Object: w.Object, Before: w.Before, After: w.After}
}
