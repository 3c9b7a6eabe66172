// Package operate executes what operators do to a store: they change providers and keys, have events sent again and jobs
// attempted, and read and erase what is on record about a person. Each act is an [evidence.Operation], which is checked, executed and
// recorded in the evidence log in one commit; commands, and any other door for operators, have no other way.
package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money/text"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Operator acts on a store under a name. At the command line Role and Person are "".
type Operator struct {
	Store   ports.Admin
	Keyring checkout.Keyring // attests the records
	By      string           // as CheckName accepts it
	Role    Role             // in which the operator acts
	Person  string           // the operator, under every name and role, as the issuer of sign-ins knows them
	Reason  string           // as ParseReason returns it
	Now     func() time.Time
	// Ahead is service.Config.Ahead: a checkout ends at the time of its clock. Optional.
	Ahead func(ctx context.Context, of checkout.About) time.Duration
	Rand  io.Reader

	approved *approved // by a second person; nil for an act of one
}

// CheckName returns why a text cannot name an operator, or nil.
func CheckName(name string) error {
	if fault := text.CheckName(name); fault != "" {
		return errors.New(fault)
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

// MaxChanges is the largest number of lines in a record.
const MaxChanges = 500

// bounded returns the first lines of a list, as many as a record has at most, and a last line with the number of the others.
func bounded(lines []string) []string {
	if len(lines) <= MaxChanges {
		return lines
	}
	left := len(lines) - (MaxChanges - 1)
	return append(slices.Clone(lines[:MaxChanges-1]), fmt.Sprintf("and %d lines more, which are not recorded", left))
}

// recordLimit is the time that recording an act may take, also when the operator does not wait.
const recordLimit = 10 * time.Second

// newID returns the id of a new record, after a prefix.
func (o Operator) newID(prefix string) (string, error) {
	id, err := uuid.NewRandomFromReader(o.Rand)
	if err != nil {
		return "", fmt.Errorf("generate an id: %w", err)
	}
	return prefix + id.String(), nil
}

// now is the present in the precision that stores keep.
func (o Operator) now() time.Time { return o.Now().UTC().Truncate(time.Millisecond) }

// entry returns the record of an operation, attested. The operation has its name, its subject and its changes.
func (o Operator) entry(op evidence.Operation, at time.Time) (evidence.Entry, error) {
	if o.approved != nil { // the second entry of an approval is a duplicate
		op.Approved = o.approved.by
		return o.attest(o.approved.id, op, at), nil
	}
	id, err := o.newID("")
	return o.attest(id, op, at), err
}

func (o Operator) attest(id string, op evidence.Operation, at time.Time) evidence.Entry {
	op.At, op.Operator, op.Reason = at, checkout.OperatorIn(o.By, string(o.Role)), o.Reason
	return o.Keyring.Attest(evidence.OfOperation(id, op))
}

// Record records an operation that changed nothing in the store, or whose changes are recorded already: in as many records as its
// changes need. It was done, so that it is recorded also if ctx has ended.
func (o Operator) Record(ctx context.Context, op evidence.Operation) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordLimit)
	defer cancel()
	for part := range slices.Chunk(op.Changes, MaxChanges) {
		op.Changes = part
		entry, err := o.entry(op, o.now())
		if err != nil {
			return err
		}
		if err := o.Store.RecordEvidence(ctx, entry); err != nil {
			return fmt.Errorf("it was done, and could not be recorded: %w", err)
		}
	}
	return nil
}

// Looked records that the operator has read personal data.
func (o Operator) Looked(ctx context.Context, name, target string) error {
	entry, err := o.entry(evidence.Operation{Name: name, Subject: target}, o.now())
	if err != nil {
		return err
	}
	if err := o.Store.RecordEvidence(ctx, entry); err != nil {
		return fmt.Errorf("record that personal data is read: %w", err)
	}
	return nil
}

// Retry makes a pending job due now: a running server attempts it within seconds. ports.ErrNotFound if there is no pending job with
// this id.
func (o Operator) Retry(ctx context.Context, id string) error {
	jobs, err := o.Store.Jobs(ctx, checkout.JobFilter{ID: id, State: checkout.JobPending}, 1)
	switch {
	case err != nil:
		return err
	case len(jobs) == 0:
		return fmt.Errorf("job %s: %w", id, ports.ErrNotFound)
	}
	if err := o.checkReasonFor(ctx, jobs[0].Job); err != nil {
		return err
	}
	now := o.now()
	was := jobs[0].Due.UTC()
	due := now
	if was.Before(now) { // which the store leaves as it is
		due = was
	}
	change := fmt.Sprintf("~ %s: due %s → %s", jobs[0].Job.Kind, was.Format(time.RFC3339), due.Format(time.RFC3339))
	entry, err := o.entry(evidence.Operation{Name: "jobs retry", Subject: id, Changes: []string{change}}, now)
	if err != nil {
		return err
	}
	m := checkout.Moment{At: now, Kind: checkout.MomentOperated, Actor: checkout.OperatorActor(o.By), Detail: "jobs retry " + id, Times: 1}
	return o.Store.HastenJob(ctx, id, m, entry)
}
