// Package audit makes the records of what operators do, for the evidence log.
package audit

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os/user"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// OperatorVariable is the environment variable that names who runs a command.
const OperatorVariable = "PROVIDER_CHECKOUT_OPERATOR"

// Operator returns who runs a command: the name in OperatorVariable, or else the user who called sudo, or else the user
// that the operating system has. It is what they say they are; the operating system's own log shows who had the secret.
func Operator(env func(string) string, current func() (*user.User, error)) (string, error) {
	name := cmp.Or(env(OperatorVariable), env("SUDO_USER"))
	if name == "" {
		u, err := current()
		if err != nil {
			return "", fmt.Errorf("the operating system does not say who this is (set %s): %w", OperatorVariable, err)
		}
		name = cmp.Or(u.Username, "uid "+u.Uid)
	}
	name = text.Normalize(name)
	return name, CheckName(name)
}

// CheckName returns why a text cannot name an operator, or nil.
func CheckName(name string) error {
	if fault := text.CheckName(name); fault != "" {
		return fmt.Errorf("the operator's name (%s) %s", OperatorVariable, fault)
	}
	return nil
}

// maxReason is the length of the longest reason, in characters.
const maxReason = 1000

// ParseReason returns the reason that an operator gave.
func ParseReason(given string) (string, error) {
	reason := text.Normalize(given)
	switch {
	case !utf8.ValidString(reason):
		return "", errors.New("must be valid UTF-8")
	case utf8.RuneCountInString(reason) > maxReason:
		return "", fmt.Errorf("must be at most %d characters", maxReason)
	}
	if fault := text.CheckReadable(reason); fault != "" {
		return "", errors.New(fault)
	}
	return reason, nil
}

// MaxChanges is how many lines an entry has at most, where it need not name everything that changed.
const MaxChanges = 500

// Bounded returns the first lines of a list, as many as an entry has at most, and a last one that says how many there are beside
// them.
func Bounded(lines []string) []string {
	if len(lines) <= MaxChanges {
		return lines
	}
	left := len(lines) - (MaxChanges - 1)
	return append(slices.Clone(lines[:MaxChanges-1]), fmt.Sprintf("and %d lines more, which are not recorded", left))
}

// Trail makes the entries of one operator.
type Trail struct {
	Operator string // who acts, as CheckName accepts it
	Keyring  checkout.Keyring
	Now      func() time.Time
	Rand     io.Reader
}

// NewTrail returns the trail of an operator of a store with these secrets.
func NewTrail(operator string, secrets [][]byte) (Trail, error) {
	keyring, err := checkout.NewKeyring(secrets...)
	if err != nil {
		return Trail{}, fmt.Errorf("derive the keys of evidence: %w", err)
	}
	return Trail{Operator: operator, Keyring: keyring, Now: time.Now, Rand: rand.Reader}, nil
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
