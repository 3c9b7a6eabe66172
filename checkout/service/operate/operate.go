// Package operate executes what operators do to a store: they change providers and keys, have events sent again and jobs
// attempted, and read and erase what is on record about a person. Each is a [checkout.Act], which is stored in the commit of what it
// does; commands and the desk have no other way.
package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money/text"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Operator acts on a store under a name.
type Operator struct {
	Store   ports.Admin
	Keyring checkout.Keyring // signs the links that are mailed
	By      string           // as CheckName accepts it
	Reason  string           // as ParseReason returns it
	Now     func() time.Time
	Rand    io.Reader // for API keys
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

// now is the present in the precision that stores keep.
func (o Operator) now() time.Time { return o.Now().UTC().Truncate(time.Millisecond) }

// act returns the act of the operator at a time.
func (o Operator) act(at time.Time, name, subject string, changes ...string) *checkout.Act {
	return &checkout.Act{At: at, Operator: o.By, Name: name, Subject: subject, Reason: o.Reason, Changes: bounded(changes)}
}

// Looked records that the operator has read personal data.
func (o Operator) Looked(ctx context.Context, name, subject string) error {
	if err := o.Store.RecordAct(ctx, *o.act(o.now(), name, subject)); err != nil {
		return fmt.Errorf("record that personal data is read: %w", err)
	}
	return nil
}

// Retry makes a job due now: a running server attempts it within seconds, and sends an event that has failed once more, with the same
// body. ports.ErrNotFound if there is no job with this id that could be attempted (checkout.JobRecord.Hastens).
func (o Operator) Retry(ctx context.Context, id string) error {
	jobs, err := o.Store.Jobs(ctx, checkout.JobFilter{ID: id}, 1)
	switch {
	case err != nil:
		return err
	case len(jobs) == 0, !jobs[0].Hastens():
		return fmt.Errorf("job %s: %w", id, ports.ErrNotFound)
	}
	if err := o.checkReasonFor(ctx, jobs[0].Job); err != nil {
		return err
	}
	now := o.now()
	did := o.act(now, "jobs retry", id, fmt.Sprintf("~ %s: %s, due now", jobs[0].Job.Kind, jobs[0].State))
	m := checkout.Moment{At: now, Kind: checkout.MomentOperated, Actor: checkout.OperatorActor(o.By), Detail: "jobs retry " + id, Times: 1}
	return o.Store.HastenJob(ctx, id, m, *did)
}
