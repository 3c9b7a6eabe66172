// Package operate has what operators do: they change providers and keys, end checkouts, retry jobs, and read and erase the data of a
// student. Each is a [checkout.Act], stored in the commit of its effect; commands and the desk have no other way.
package operate

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money/text"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Operator acts on a store under a name.
type Operator struct {
	Store   ports.Admin
	Keyring checkout.Keyring // signs the links that are mailed
	By      string           // as text.CheckName accepts it
	Reason  string           // as ParseReason returns it
	Now     func() time.Time
	Rand    io.Reader // for API keys, and the ids of acts
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

// maxChanges is the largest number of lines of an act.
const maxChanges = 500

// now is the present in the precision that stores keep.
func (o Operator) now() time.Time { return o.Now().UTC().Truncate(time.Millisecond) }

func (o Operator) act(name, subject, provider string, changes ...string) (checkout.Act, error) {
	var entropy [8]byte
	if _, err := io.ReadFull(o.Rand, entropy[:]); err != nil {
		return checkout.Act{}, fmt.Errorf("generate the id of an act: %w", err)
	}
	if more := len(changes) - maxChanges; more > 0 {
		changes = append(slices.Clone(changes[:maxChanges-1]), fmt.Sprintf("and %d lines more, which are not recorded", more+1))
	}
	return checkout.Act{ID: "act_" + hex.EncodeToString(entropy[:]), At: o.now(), Operator: o.By, Name: name, Subject: subject,
		ProviderCode: provider, Reason: o.Reason, Changes: changes}, nil
}

// Looked records that the operator has read personal data of a checkout.
func (o Operator) Looked(ctx context.Context, name string, c checkout.Checkout) error {
	if err := o.CheckReason(c); err != nil {
		return err
	}
	act, err := o.act(name, c.ID, c.ProviderCode)
	if err == nil {
		_, err = o.Store.Enqueue(ctx, nil, &act)
	}
	if err != nil {
		return fmt.Errorf("record that personal data is read: %w", err)
	}
	return nil
}

// Retry makes jobs due now that are pending or have failed, and returns how many: a running server attempts them within seconds. An
// event has its three attempts once more, under the same id and with the same body.
func (o Operator) Retry(ctx context.Context, jobs []checkout.JobRecord) (retried int, err error) {
	var list []checkout.Job
	for _, r := range jobs {
		if r.Retries() {
			j := r.Job
			j.CreatedAt, j.Due = o.now(), time.Time{}
			list = append(list, j)
		}
	}
	return o.enqueue(ctx, "jobs retry", list)
}

// Sync has the CRM compared with each checkout that has changed since a time and is not erased, and returns how many they are. Where
// the CRM knows more, nothing is written, and the checkout becomes a trouble.
func (o Operator) Sync(ctx context.Context, since time.Time) (queued int, err error) {
	var list []checkout.Job
	err = o.Store.Export(ctx, "", checkout.Visitor{
		Configuration: func(catalogue.Configuration) error { return nil },
		Key:           func(catalogue.Key) error { return nil },
		Checkout: func(r checkout.CheckoutRecord) error {
			if c := r.Checkout; c.Revision >= since.UnixMilli() && !c.Erased() {
				list = append(list, c.Job(checkout.JobSync, "", o.now(), 0))
			}
			return nil
		},
		Unreadable: func(id string, err error) error { return fmt.Errorf("read checkout %s: %w", id, err) },
	})
	if err != nil {
		return 0, err
	}
	return o.enqueue(ctx, "crm sync", list)
}

// maxEnqueued is the largest number of jobs that enter by one act.
const maxEnqueued = 1000

// enqueue stores jobs with the acts that have them enter, and returns how many.
func (o Operator) enqueue(ctx context.Context, name string, jobs []checkout.Job) (entered int, err error) {
	byProvider := map[string][]checkout.Job{}
	for _, j := range jobs {
		byProvider[j.ProviderCode] = append(byProvider[j.ProviderCode], j)
	}
	for code, all := range byProvider {
		for list := range slices.Chunk(all, maxEnqueued) {
			subject := code
			if len(list) == 1 && list[0].CheckoutID != "" {
				subject = list[0].CheckoutID
				c, err := o.Store.Checkout(ctx, subject)
				if err != nil {
					return entered, fmt.Errorf("read checkout %s: %w", subject, err)
				}
				if err := o.CheckReason(c); err != nil {
					return entered, err
				}
			}
			act, err := o.act(name, subject, code, fmt.Sprintf("~ %d jobs, such as %s", len(list), list[0].ID))
			if err != nil {
				return entered, err
			}
			n, err := o.Store.Enqueue(ctx, list, &act)
			if entered += n; err != nil {
				return entered, fmt.Errorf("%s of provider %s: %w", name, code, err)
			}
		}
	}
	return entered, nil
}

// ErrNamed: the operator's reason names the student.
var ErrNamed = errors.New("the reason stays on record for ever and must name no person")

// CheckReason returns ErrNamed for a reason that names the student of a checkout, or nil.
func (o Operator) CheckReason(c checkout.Checkout) error {
	if word := named(o.Reason, c); word != "" {
		return fmt.Errorf("%w; it has %q", ErrNamed, word)
	}
	return nil
}

// Cancel cancels a checkout before its confirm, for the operator's reason of 1 to 255 characters. The errors are the errors of
// checkout.Cancel: checkout.ErrEnded for a repeat, which changes and records nothing. ports.ErrNotFound if there is no such checkout.
func (o Operator) Cancel(ctx context.Context, id string) error {
	cmd := checkout.Cancel{Actor: checkout.OperatorActor(o.By), By: checkout.PartyOperator, Reason: checkout.Some(o.Reason)}
	if err := cmd.Check(); err != nil {
		return err
	}
	c, err := o.Store.Checkout(ctx, id)
	if err != nil {
		return err
	}
	return o.change(ctx, c, "cancel", id, func(c checkout.Checkout) (checkout.Change, error) { return cmd.Decide(c, o.now()) })
}

// Withdraw withdraws the agreement with this number on a ground, for the operator's reason. The errors are the errors of checkout.Withdraw:
// checkout.ErrEnded for a repeat, which changes and records nothing. ports.ErrNotFound if there is no such agreement.
func (o Operator) Withdraw(ctx context.Context, number string, ground checkout.Ground) error {
	if !slices.Contains(checkout.Grounds(), ground) {
		return fmt.Errorf("ground %q is none of %q", ground, checkout.Grounds())
	}
	c, err := o.Store.FindCheckout(ctx, checkout.Reference{AgreementNumber: number})
	if err != nil {
		return err
	}
	cmd := checkout.Withdraw{Actor: checkout.OperatorActor(o.By), Ground: ground, Reason: o.Reason}
	return o.change(ctx, c, "withdraw", c.ID, func(c checkout.Checkout) (checkout.Change, error) { return cmd.Decide(c, o.now()) },
		number+", ground: "+string(ground))
}

// MailLink sends a new link to the setup page, which opens for a lifetime, to the e-mail address on record: a running server that sends
// e-mail does. The errors are the errors of checkout.MailLink, and ports.ErrNotFound if there is no such checkout.
func (o Operator) MailLink(ctx context.Context, id string, lifetime time.Duration) error {
	c, err := o.Store.Checkout(ctx, id)
	if err != nil {
		return err
	}
	ofPayer := checkout.JobFilter{CheckoutID: id, Kinds: []checkout.JobKind{checkout.JobNotify}}
	notices, err := o.Store.Jobs(ctx, ofPayer, checkout.RecentNotices)
	if err != nil {
		return err
	}
	return o.change(ctx, c, "link", id, func(c checkout.Checkout) (checkout.Change, error) {
		return c.MailLink(o.Keyring, checkout.LinkRequest{Actor: checkout.OperatorActor(o.By), Now: o.now(), Lifetime: lifetime, Notices: notices})
	})
}

// change stores what decide makes of a checkout, with the act, unless the operator's reason names the student: acts outlive personal data.
func (o Operator) change(ctx context.Context, c checkout.Checkout, name, subject string,
	decide func(checkout.Checkout) (checkout.Change, error), changes ...string) error {
	act, err := o.act(name, subject, c.ProviderCode, changes...)
	if err != nil {
		return err
	}
	_, _, err = o.Store.UpdateCheckout(ctx, c, 0, func(c checkout.Checkout) (checkout.Change, error) {
		if err := o.CheckReason(c); err != nil && !c.Ended() {
			return checkout.Change{}, err
		}
		change, err := decide(c)
		change.Act = &act
		return change, err
	})
	return err
}
