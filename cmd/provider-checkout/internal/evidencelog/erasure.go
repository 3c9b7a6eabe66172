package evidencelog

import (
	"context"
	"slices"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// searchBatch is how many entries are read at a time to find an erasure.
const searchBatch = 1000

// checkErasure returns the verdict on an agreement whose checkout is marked as erased: nothing personal is left of it, and
// the log has who erased it. Otherwise the mark would excuse everything that the commitments would show.
func (l Log) checkErasure(ctx context.Context, r Record) (Verdict, error) {
	a, left := r.Agreement, r.Agreement.Erased()
	if a.Student != left.Student || a.DirectDebit != left.DirectDebit || r.Document != nil && len(r.Document.Bytes) > 0 {
		return Fail("it is marked as erased, and personal data is on record"), nil
	}
	found, err := l.erasureOf(ctx, a)
	if err != nil {
		return Verdict{}, err
	}
	if !found {
		return Fail("it is marked as erased, and the evidence log has no erasure of it"), nil
	}
	return Pass("its personal data and its PDF were erased on %s; the evidence log says so", r.Checkout.ErasedAt.Format(timeLayout)), nil
}

// erasureOf reports whether the log has an operation that erased the agreement's personal data.
func (l Log) erasureOf(ctx context.Context, a agreement.Agreement) (bool, error) {
	erases := func(e evidence.Entry) bool {
		record, err := evidence.Read(e.Leaf)
		return err == nil && slices.Contains(record.Operation.Changes, checkout.ErasedAgreement(a.Number))
	}
	for from := int64(0); ; from += searchBatch {
		entries, err := l.Store.SealedEvidence(ctx, from, searchBatch)
		if err != nil {
			return false, err
		}
		if i := slices.IndexFunc(entries, erases); i >= 0 {
			return l.sealed(ctx, entries[i], from+int64(i))
		}
		if len(entries) < searchBatch {
			break
		}
	}
	waiting, err := l.Store.UnsealedEvidence(ctx, searchBatch)
	return slices.ContainsFunc(waiting, func(e evidence.Entry) bool { return erases(e) && l.Attests(e) }), err
}

// sealed reports whether an entry is what was signed at its position, as far as the keys are known.
func (l Log) sealed(ctx context.Context, e evidence.Entry, position int64) (bool, error) {
	if !l.Keys.CanVerify() {
		return true, nil
	}
	signed, c, err := l.Newest(ctx)
	if err != nil {
		return false, nil // which another verdict says
	}
	proof, err := evidence.Prove(e.Leaf, position, signed, c, l.nodes(ctx))
	if err != nil {
		return false, nil
	}
	_, err = proof.Check(l.Keys)
	return err == nil, nil
}
