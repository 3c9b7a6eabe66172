package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// approved is the decision under which an operator acts.
type approved struct {
	id string // of the approval, and of the one entry that the act leaves
	by string // the second person, in their role
}

// Ask has an act wait for a second person, for checkout.ApprovalLife. The log has nothing of it until it has ended.
func (o Operator) Ask(ctx context.Context, act Act, target, detail string) (checkout.Approval, error) {
	if err := o.permitted(rights[act].Ask, act); err != nil {
		return checkout.Approval{}, err
	}
	id, err := o.newID("apr_")
	if err != nil {
		return checkout.Approval{}, err
	}
	a := checkout.Approval{ID: id, Act: string(act), Target: target, Detail: detail, Reason: o.Reason, By: o.By,
		Role: string(o.Role), Person: o.Person, AskedAt: o.now()}
	if _, err := o.Store.Enqueue(ctx, []checkout.Job{a.Job()}, nil); err != nil {
		return a, fmt.Errorf("store approval %s: %w", a.ID, err)
	}
	return a, nil
}

const (
	maxApprovals = 100    // in a list
	maxAsked     = 10_000 // among which they are looked for: an act that was decided stays in the queue for ten minutes
)

// Approvals returns the acts that wait for a second person, the oldest first: of many the oldest hundred.
func (o Operator) Approvals(ctx context.Context) (list []checkout.Approval, err error) {
	jobs, err := o.Store.Jobs(ctx, checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobApproval}, State: checkout.JobPending,
		OldestFirst: true}, maxAsked)
	if err != nil {
		return nil, fmt.Errorf("read the approvals: %w", err)
	}
	for _, j := range jobs {
		switch a, err := o.waiting(ctx, j.Job); {
		case err == nil:
			list = append(list, a)
		case !errors.Is(err, ErrDecided):
			return nil, err
		}
		if len(list) == maxApprovals {
			break
		}
	}
	return list, nil
}

// Approval returns an act that waits for a second person. ErrDecided if it does not wait, or not any more; ports.ErrNotFound if
// there is no such act.
func (o Operator) Approval(ctx context.Context, id string) (checkout.Approval, error) {
	jobs, err := o.Store.Jobs(ctx, checkout.JobFilter{ID: id, Kinds: []checkout.JobKind{checkout.JobApproval}}, 1)
	switch {
	case err != nil:
		return checkout.Approval{}, err
	case len(jobs) == 0:
		return checkout.Approval{}, fmt.Errorf("approval %s: %w", id, ports.ErrNotFound)
	}
	return o.waiting(ctx, jobs[0].Job)
}

// waiting returns the approval of a job, or ErrDecided.
func (o Operator) waiting(ctx context.Context, j checkout.Job) (checkout.Approval, error) {
	a, err := j.Approval()
	if err != nil {
		return a, err
	}
	waits, err := o.waits(ctx, a)
	if err == nil && !waits {
		err = ErrDecided
	}
	return a, err
}

// waits reports whether an approval is neither decided nor over.
func (o Operator) waits(ctx context.Context, a checkout.Approval) (bool, error) {
	if !o.now().Before(a.Expires()) {
		return false, nil
	}
	_, _, err := o.Store.EvidenceEntry(ctx, evidence.OperationID(a.ID))
	if errors.Is(err, ports.ErrNotFound) {
		return true, nil
	}
	return false, err
}

// Decides returns why the operator may not decide about an approval, or nil.
func (o Operator) Decides(a checkout.Approval) error {
	switch {
	case !slices.Contains(rights[Act(a.Act)].Approve, o.Role):
		return ErrNotAllowed
	case a.Person == o.Person, a.By == o.By:
		return ErrSamePerson
	}
	return nil
}

// Approve does what somebody else asked for: do acts as the operator who asked, and its entry of the evidence log names the second
// person too. ErrNotAllowed, ErrSamePerson or ErrDecided if nothing is done. Of decisions at once one takes effect.
func (o Operator) Approve(ctx context.Context, id string, do func(context.Context, Operator, checkout.Approval) error) error {
	a, err := o.Approval(ctx, id)
	if err != nil {
		return err
	}
	if err := o.Decides(a); err != nil {
		return err
	}
	asker := o
	asker.By, asker.Role, asker.Reason, asker.Person = a.By, Role(a.Role), a.Reason, a.Person
	asker.approved = &approved{a.ID, checkout.OperatorIn(o.By, string(o.Role))}
	err = do(ctx, asker, a)
	waits, readErr := o.waits(ctx, a)
	switch {
	case err != nil && errors.Is(err, ports.ErrDuplicate) && !waits && readErr == nil:
		return ErrDecided
	case err != nil, readErr != nil:
		return errors.Join(err, readErr)
	case waits: // it was so already, and nothing was recorded
		return asker.Record(ctx, evidence.Operation{Name: a.Act, Subject: a.Target, Changes: []string{"= it was so already"}})
	}
	return nil
}

// Decline ends what somebody asked for without doing it. Who asked may take it back so. Its errors are the errors of Approve.
func (o Operator) Decline(ctx context.Context, id string) error {
	a, err := o.Approval(ctx, id)
	if err != nil {
		return err
	}
	if err := o.Decides(a); err != nil && a.Person != o.Person {
		return err
	}
	why := "declined by " + checkout.OperatorIn(o.By, string(o.Role))
	err = o.Store.RecordEvidence(ctx, o.Keyring.Attest(evidence.OfOperation(a.ID, a.Ended("declined", why, o.now()))))
	if errors.Is(err, ports.ErrDuplicate) {
		return ErrDecided
	}
	return err
}
