// Package audit makes the records of what operators do, for the evidence log.
package audit

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/text"
)

// Trail makes the entries of one operator.
type Trail struct {
	Operator string // who acts, as CheckName accepts it
	Keyring  checkout.Keyring
	Now      func() time.Time
	Rand     io.Reader
}

// CheckName returns why a text cannot name an operator, or nil.
func CheckName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return errors.New("the operator has no name")
	case !utf8.ValidString(name), utf8.RuneCountInString(name) > text.Max, text.CheckReadable(name) != "":
		return errors.New("the operator's name must be readable text of at most 255 characters")
	}
	return nil
}

// Did returns the entry of an operation, attested: its command, what it was done to, why, and what changed, a line each.
// None of them may hold a secret or personal data.
func (t Trail) Did(name, subject, reason string, changes ...string) (evidence.Entry, error) {
	id, err := uuid.NewRandomFromReader(t.Rand)
	if err != nil {
		return evidence.Entry{}, fmt.Errorf("generate the id of an operation: %w", err)
	}
	return t.Keyring.Attest(evidence.OfOperation(id.String(), evidence.Operation{At: t.Now().UTC().Truncate(time.Millisecond),
		Operator: t.Operator, Name: name, Subject: subject, Reason: reason, Changes: changes})), nil
}
