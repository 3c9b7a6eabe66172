package evidencelog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Adopter records the agreements that a version without an evidence log concluded. What it records is signed as it is on
// record now, so it records nothing while the log is not what it was: whoever can write to the tables can take the record of
// an agreement away, or rename it, and forge the agreement.
type Adopter struct {
	Store   ports.Admin
	Log     Log // of the store
	Keyring checkout.Keyring
	Now     func() time.Time
	Rand    io.Reader
}

// Adopt records every agreement that the log does not have, and returns their numbers. Their records say when that was
// done. The error is an agreement that is younger than the log, when all others are recorded.
func (a Adopter) Adopt(ctx context.Context) (adopted []string, err error) {
	concluded, err := a.agreements(ctx) // before the log: what is confirmed meanwhile is in the log alone
	if err != nil {
		return nil, err
	}
	held, err := a.Log.survey(ctx)
	if err != nil {
		return nil, fmt.Errorf("nothing is adopted: %w", err)
	}
	if err := a.allOnRecord(ctx, held, concluded); err != nil {
		return nil, fmt.Errorf("nothing is adopted: %w", err)
	}
	var younger []error
	for _, c := range concluded {
		switch {
		case held.agreements[c.number] || c.erased:
			continue
		case held.began(c.accepted):
			younger = append(younger, fmt.Errorf("agreement %s was accepted when there was a log already, which has no record of it: it is not adopted", c.number))
			continue
		}
		if err := a.adopt(ctx, c.number); err != nil {
			return adopted, fmt.Errorf("adopt agreement %s: %w", c.number, err)
		}
		adopted = append(adopted, c.number)
	}
	return adopted, errors.Join(younger...)
}

// concluded is an agreement on record.
type concluded struct {
	number   string
	accepted time.Time
	erased   bool
}

// agreements returns all agreements, oldest checkout first.
func (a Adopter) agreements(ctx context.Context) (list []concluded, err error) {
	err = a.Store.Export(ctx, ports.Visitor{
		Configuration: func(catalogue.Configuration) error { return nil },
		Key:           func(catalogue.Key) error { return nil },
		Unreadable:    func(id string, err error) error { return fmt.Errorf("checkout %s cannot be read: %w", id, err) },
		Checkout: func(r ports.CheckoutRecord) error {
			if r.Agreement != nil {
				list = append(list, concluded{r.Agreement.Number, r.Agreement.AcceptedAt, r.Checkout.Erased()})
			}
			return nil
		},
	})
	return list, err
}

// allOnRecord returns an error for an agreement that the log has and the store has not: under another number it would look
// like one that the log never had.
func (a Adopter) allOnRecord(ctx context.Context, held contents, known []concluded) error {
	missing := make(map[string]bool, len(held.agreements))
	for number := range held.agreements {
		missing[number] = true
	}
	for _, c := range known {
		delete(missing, c.number)
	}
	for number := range missing {
		switch _, err := a.Store.Agreement(ctx, number); {
		case errors.Is(err, ports.ErrNotFound):
			return fmt.Errorf("the evidence log has agreement %s, which is not on record", number)
		case err != nil:
			return err
		}
	}
	return nil
}

func (a Adopter) adopt(ctx context.Context, number string) error {
	r, err := Read(ctx, a.Store, number)
	if err != nil {
		return err
	}
	if r.Document != nil && sha256.Sum256(r.Document.Bytes) != r.Document.SHA256 {
		return errors.New("its PDF does not have the SHA-256 on record")
	}
	c := r.conclusion()
	c.At = a.Now().UTC().Truncate(time.Millisecond)
	if _, err := io.ReadFull(a.Rand, c.Salt[:]); err != nil {
		return err
	}
	return a.Store.RecordEvidence(ctx, a.Keyring.Attest(evidence.OfAgreement(r.Agreement, c)))
}

// contents is what a log that was found unchanged holds.
type contents struct {
	agreements map[string]bool // numbers
	first      time.Time       // when the first entry was recorded; zero if there is none
}

// began reports whether there was a log at a time.
func (c contents) began(at time.Time) bool { return !c.first.IsZero() && at.After(c.first) }

// survey reads the whole log, and returns what its records say: ids stand in no tree. The error is what is wrong with it.
func (l Log) survey(ctx context.Context) (contents, error) {
	held := contents{agreements: map[string]bool{}}
	head, err := l.Store.EvidenceHead(ctx)
	if err != nil {
		return held, err
	}
	if !l.Keys.CanVerify() && (head.Size > 0 || len(head.Checkpoint) > 0) {
		return held, errors.New("the evidence key that signed the log is not given")
	}
	tree, err := l.Signed(ctx)
	if err != nil {
		return held, err
	}
	var wrong error // the first
	err = l.Each(ctx, func(e evidence.Entry, position int64) error {
		tree.Add(e, position)
		if position == evidence.Unsealed && !l.Attests(e) {
			wrong = cmp.Or(wrong, fmt.Errorf("the entry %q was not recorded by a process with the operator's secret", e.ID))
			return nil
		}
		record, err := evidence.Read(e.Leaf)
		if err != nil {
			wrong = cmp.Or(wrong, fmt.Errorf("the entry %q: %w", e.ID, err))
			return nil
		}
		if held.first.IsZero() || record.At.Before(held.first) {
			held.first = record.At
		}
		if record.Kind == evidence.KindAgreement {
			held.agreements[record.Agreement] = true
		}
		return nil
	})
	if err != nil {
		return held, err
	}
	if err := tree.intact(); err != nil {
		return held, err
	}
	return held, wrong
}

// intact returns nil if the log is what was signed, or nothing was ever signed or sealed.
func (s *Signed) intact() error {
	for _, v := range s.Verdicts() {
		if v.Mark == Failed {
			return errors.New(v.Text)
		}
	}
	if s.beyond > 0 {
		return errors.New("entries were sealed meanwhile, or put in as sealed: run it again")
	}
	return nil
}
