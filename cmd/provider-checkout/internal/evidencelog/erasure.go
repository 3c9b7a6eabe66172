package evidencelog

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// checkErasure returns the verdict on an agreement whose checkout is marked as erased, and on the salt of its entry: nothing
// personal is left of it, and the log has who erased it, and when. Otherwise the mark would excuse everything that the
// commitments would show.
func (l Log) checkErasure(ctx context.Context, r Record, e evidence.Entry) (Verdict, error) {
	a, left := r.Agreement, r.Agreement.Erased()
	if a.Student != left.Student || a.DirectDebit != left.DirectDebit || r.Document != nil && len(r.Document.Bytes) > 0 {
		return Fail("it is marked as erased, and personal data is on record"), nil
	}
	erased, unsalted, err := l.erasuresOf(ctx, a.Number, len(e.Salt) == 0)
	if err != nil {
		return Verdict{}, err
	}
	at := r.Checkout.ErasedAt
	switch {
	case len(erased) == 0:
		return Fail("it is marked as erased, and the evidence log has no erasure of it"), nil
	case !slices.ContainsFunc(erased, at.Equal):
		return Fail("it is marked as erased on %s, and the evidence log says that this was on %s", at.Format(timeLayout), erased[0].Format(timeLayout)), nil
	case len(e.Salt) == 0 && len(unsalted) == 0:
		return Fail("the salt of its commitments is gone, and the evidence log has no erasure of that"), nil
	case len(e.Salt) == 0:
		return Pass("its personal data and its PDF were erased on %s, and the salt of its commitments on %s; the evidence log says so",
			at.Format(timeLayout), unsalted[0].Format(timeLayout)), nil
	}
	return Pass("its personal data and its PDF were erased on %s; the evidence log says so", at.Format(timeLayout)), nil
}

// erasures has the times of changes of agreements, by the line of Changes.
type erasures map[string][]time.Time

// Remembering returns a Log for the checks of many agreements: it reads the erasures once, and again for an agreement whose erasure it
// does not know.
func (l Log) Remembering() Log {
	l.remembered = new(erasures)
	return l
}

// erasuresOf returns when, as the log says, operations erased the agreement's personal data, and the salt of its commitments.
func (l Log) erasuresOf(ctx context.Context, number string, withSalt bool) (erased, unsalted []time.Time, err error) {
	data, salt := checkout.ErasedAgreement(number), checkout.UnsaltedAgreement(number)
	known := l.remembered
	if known == nil {
		known = new(erasures)
	}
	if (*known)[data] == nil || withSalt && (*known)[salt] == nil {
		*known, err = l.erasures(ctx)
	}
	return (*known)[data], (*known)[salt], err
}

// erasures reads the changes of agreements by operations. An entry counts if it is what was signed, or, before it is sealed, if it was
// made with the operator's secret.
func (l Log) erasures(ctx context.Context) (erasures, error) {
	all := erasures{}
	return all, l.Each(ctx, func(e evidence.Entry, position int64) error {
		record, err := evidence.Read(e.Leaf)
		ofAgreements := slices.DeleteFunc(record.Operation.Changes, func(line string) bool { return !strings.HasPrefix(line, "agreement ") })
		if err != nil || len(ofAgreements) == 0 { // most entries
			return nil
		}
		if position == evidence.Unsealed && !l.Attests(e) || position != evidence.Unsealed && !l.sealed(ctx, e, position) {
			return nil
		}
		for _, line := range ofAgreements {
			all[line] = append(all[line], record.At)
		}
		return nil
	})
}

// sealed reports whether an entry is what was signed at its position, as far as the keys are known.
func (l Log) sealed(ctx context.Context, e evidence.Entry, position int64) bool {
	if !l.Keys.CanVerify() {
		return true
	}
	signed, _, err := l.Newest(ctx)
	if err != nil {
		return true // another verdict fails for that, and says why
	}
	_, err = l.Keys.Prove(e.Leaf, position, signed, l.nodes(ctx))
	return err == nil
}
