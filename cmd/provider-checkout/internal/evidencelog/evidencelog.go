// Package evidencelog reads the evidence log of a store for the operator's commands: it proves agreements, and holds what is
// on record to the log.
package evidencelog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Log is the evidence log of a store.
type Log struct {
	Store interface {
		ports.Evidence
		ports.EvidenceReader
	}
	Keys evidence.Keys // that signed its checkpoints; empty if they are not known
	// Attests reports whether a process with the operator's secret recorded an entry: see checkout.Keyring.Attests.
	Attests func(evidence.Entry) bool
	Outside *evidence.Checkpoint // that was kept elsewhere, and one of the keys signed; nil without one
	Receipt *evidence.Receipt    // that one of the keys signed; nil without one
	Now     time.Time            // to which the promise of Receipt is held

	remembered *erasures // nil to read the erasures for each agreement
}

// Verdict is the outcome of one check.
type Verdict struct {
	Mark Mark
	Text string
}

// Mark is a Verdict in a word, as it is printed.
type Mark string

const (
	Passed Mark = "ok"
	Failed Mark = "FAIL"
	None   Mark = "none" // there is nothing to check
)

// NoKey is the verdict on every signature where there is no evidence key.
var NoKey = Nothing("no evidence key is given, so that signatures are not checked")

// Pass returns the verdict of a check that passed.
func Pass(format string, args ...any) Verdict { return Verdict{Passed, fmt.Sprintf(format, args...)} }

// Fail returns the verdict of a check that failed.
func Fail(format string, args ...any) Verdict { return Verdict{Failed, fmt.Sprintf(format, args...)} }

// Nothing returns the verdict where there is nothing to check.
func Nothing(format string, args ...any) Verdict { return Verdict{None, fmt.Sprintf(format, args...)} }

// Texts returns the texts of the verdicts with a mark.
func Texts(verdicts []Verdict, mark Mark) (texts []string) {
	for _, v := range verdicts {
		if v.Mark == mark {
			texts = append(texts, v.Text)
		}
	}
	return texts
}

const timeLayout = "2006-01-02 15:04:05 UTC"

var (
	errNoCheckpoint = errors.New("the evidence log has no checkpoint yet: no server with an evidence key has served this store")
	// ErrForeign means that nothing can be held to the newest checkpoint.
	ErrForeign = errors.New("the newest checkpoint on record is not that of the log, or no known key has signed it")
)

// Newest returns the newest checkpoint on record. It is the log's own, and signed by a known key.
func (l Log) Newest(ctx context.Context) (signed []byte, c evidence.Checkpoint, err error) {
	head, err := l.Store.EvidenceHead(ctx)
	if err != nil {
		return nil, c, err
	}
	if len(head.Checkpoint) == 0 {
		return nil, c, errNoCheckpoint
	}
	if c, err = l.Keys.OpenHead(head); err != nil {
		return nil, c, ErrForeign
	}
	return head.Checkpoint, c, nil
}

// nodes reads the tree.
func (l Log) nodes(ctx context.Context) evidence.Nodes {
	return func(positions []int64) ([][]evidence.Hash, error) { return l.Store.EvidenceNodes(ctx, positions) }
}

// Prove returns the proof of an agreement under the newest checkpoint.
func (l Log) Prove(ctx context.Context, number string) (evidence.Proof, error) {
	e, position, err := l.Store.EvidenceEntry(ctx, evidence.AgreementID(number))
	if errors.Is(err, ports.ErrNotFound) {
		return evidence.Proof{}, fmt.Errorf("the evidence log has no agreement %s", number)
	}
	if err != nil {
		return evidence.Proof{}, err
	}
	if position == evidence.Unsealed {
		return evidence.Proof{}, fmt.Errorf("agreement %s is not sealed yet: a server with the evidence key seals it within seconds", number)
	}
	signed, _, err := l.Newest(ctx)
	if err != nil {
		return evidence.Proof{}, err
	}
	proof, err := l.Keys.Prove(e.Leaf, position, signed, l.nodes(ctx))
	if err != nil {
		return evidence.Proof{}, fmt.Errorf("agreement %s cannot be proven, the log was changed: %w", number, err)
	}
	return proof, nil
}

// Record is everything on record about one agreement.
type Record struct {
	Agreement agreement.Agreement
	Document  *agreement.Document // nil if no document was stored
	Checkout  checkout.Checkout
}

// Read returns everything on record about the agreement with this number. The error is ports.ErrNotFound if there is no such
// agreement.
func Read(ctx context.Context, db ports.Store, number string) (r Record, err error) {
	if r.Agreement, r.Document, err = ReadDocument(ctx, db, number); err != nil {
		return r, err
	}
	if r.Checkout, err = db.Checkout(ctx, r.Agreement.CheckoutID); err != nil {
		return r, fmt.Errorf("read its checkout: %v", err) // %v, because the agreement was found
	}
	return r, nil
}

// ReadDocument returns the agreement with this number and its document, nil if no document was stored. The error is
// ports.ErrNotFound if there is no such agreement.
func ReadDocument(ctx context.Context, db ports.Store, number string) (a agreement.Agreement, d *agreement.Document, err error) {
	if a, err = db.Agreement(ctx, number); err != nil {
		return a, nil, err
	}
	switch found, err := db.Document(ctx, number); {
	case err == nil:
		d = &found
	case !errors.Is(err, ports.ErrNotFound):
		return a, nil, fmt.Errorf("read its PDF: %w", err)
	}
	return a, d, nil
}

// CheckReceipt holds the log to the receipt: its record is sealed, or the promise still runs. There is no verdict without a receipt.
func (l Log) CheckReceipt(ctx context.Context) ([]Verdict, error) {
	if l.Receipt == nil {
		return nil, nil
	}
	r := *l.Receipt
	e, position, err := l.Store.EvidenceEntry(ctx, evidence.AgreementID(r.Number))
	if err != nil && !errors.Is(err, ports.ErrNotFound) {
		return nil, err
	}
	until := r.Until.Format(timeLayout)
	switch {
	case err != nil:
		return []Verdict{Fail("BROKEN: the receipt says that agreement %s is on record, and the evidence log does not have it", r.Number)}, nil
	case !r.Of(e.Leaf):
		return []Verdict{Fail("BROKEN: the receipt of agreement %s is of another record than the evidence log has", r.Number)}, nil
	case position != evidence.Unsealed && l.sealed(ctx, e, position):
		return []Verdict{Pass("the record of the receipt is sealed")}, nil
	case position != evidence.Unsealed:
		return []Verdict{Fail("BROKEN: the record of the receipt is not what was signed at its place in the evidence log")}, nil
	case l.Now.After(r.Until):
		return []Verdict{Fail("BROKEN: the receipt promises that its record is sealed by %s, and it is not", until)}, nil
	}
	return []Verdict{Nothing("the record of the receipt is not sealed yet, which is promised by %s", until)}, nil
}

// conclusion returns what the record of the agreement holds beside it, without time and salt.
func (r Record) conclusion() evidence.Conclusion {
	c := evidence.Conclusion{Environment: string(catalogue.Production), RequestID: r.Checkout.Confirmation.RequestID,
		Document: r.Document, Debited: r.Checkout.Debited()}
	if r.Agreement.Sandbox {
		c.Environment = string(catalogue.Sandbox)
	}
	return c
}

// Check compares what is on record with the log, and the log with its newest checkpoint, and with the one from
// elsewhere if there is one.
func (l Log) Check(ctx context.Context, r Record) ([]Verdict, error) {
	e, position, err := l.Store.EvidenceEntry(ctx, evidence.AgreementID(r.Agreement.Number))
	if errors.Is(err, ports.ErrNotFound) {
		return []Verdict{Fail("the evidence log has no record of it")}, nil
	}
	if err != nil {
		return nil, err
	}
	verdicts := append([]Verdict{compare(e, r)}, l.checkStored(e, r)...)
	if late := e.At.Sub(r.Agreement.AcceptedAt); late > evidence.Late {
		verdicts = append(verdicts, Nothing("it was recorded %s after it was accepted: until then nothing kept it from being changed", late.Round(time.Second)))
	}
	if r.Checkout.Erased() {
		erased, err := l.checkErasure(ctx, r, e)
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, erased)
	}
	verdict, newest, err := l.checkNewest(ctx, e, position)
	if err != nil {
		return nil, err
	}
	verdicts = append(verdicts, verdict)
	if l.Outside == nil {
		return verdicts, nil
	}
	return append(verdicts, l.checkOutside(ctx, e, position, newest, *l.Outside)), nil
}

// checkStored returns a verdict on the receipt on record that is not of the entry.
func (l Log) checkStored(e evidence.Entry, r Record) []Verdict {
	text := r.Checkout.Confirmation.Receipt
	if text == "" || !l.Keys.CanVerify() {
		return nil
	}
	if receipt, err := l.Keys.OpenReceipt(text); err != nil || receipt.Number != r.Agreement.Number || !receipt.Of(e.Leaf) {
		return []Verdict{Fail("the receipt on record is not of the record in the evidence log, or no known key has signed it")}
	}
	return nil
}

// compare compares what is on record with an entry.
func compare(e evidence.Entry, r Record) Verdict {
	switch differing, err := evidence.Compare(e, r.Agreement, r.conclusion(), r.Checkout.Erased()); {
	case err != nil:
		return Fail("the evidence log: %v", err)
	case len(differing) > 0:
		return Fail("the evidence log has another %s", strings.Join(differing, ", "))
	}
	return Pass("the evidence log has the same, recorded %s", e.At.Format(timeLayout))
}

// checkNewest returns the verdict on an entry under the newest checkpoint, and that checkpoint; nil if the log
// cannot be held to a checkpoint.
func (l Log) checkNewest(ctx context.Context, e evidence.Entry, position int64) (Verdict, *evidence.Checkpoint, error) {
	signed, c, err := l.Newest(ctx)
	switch {
	case position == evidence.Unsealed && !l.Attests(e):
		return Fail("the record is not sealed, and it was not made with the operator's secret"), nil, nil
	case !l.Keys.CanVerify():
		return NoKey, nil, nil
	case errors.Is(err, errNoCheckpoint) && position == evidence.Unsealed:
		return Nothing("%v", err), nil, nil
	case errors.Is(err, ErrForeign), errors.Is(err, errNoCheckpoint):
		return Fail("%v", err), nil, nil
	case err != nil:
		return Verdict{}, nil, err
	}
	return l.checkUnder(ctx, e, position, signed, c), &c, nil
}

// checkUnder returns the verdict on an entry under a checkpoint of the log.
func (l Log) checkUnder(ctx context.Context, e evidence.Entry, position int64, signed []byte, c evidence.Checkpoint) Verdict {
	at := c.At.Format(timeLayout)
	switch {
	case evidence.Backdated(e, position, c):
		return Fail("the record says that it was made before the checkpoint of %s, which does not have it", at)
	case position == evidence.Unsealed:
		return Nothing("the record is not sealed yet")
	}
	if _, err := l.Keys.Prove(e.Leaf, position, signed, l.nodes(ctx)); err != nil {
		return Fail("the record is not what was signed at its place in the evidence log: %v", err)
	}
	return Pass("it is record %d of %d under the checkpoint of %s", position+1, c.Size, at)
}

// checkOutside returns the verdict on the log under a checkpoint that was kept elsewhere.
func (l Log) checkOutside(ctx context.Context, e evidence.Entry, position int64, newest *evidence.Checkpoint, c evidence.Checkpoint) Verdict {
	if newest == nil {
		return Fail("the log cannot be held to the checkpoint of %s", c.At.Format(timeLayout))
	}
	if err := evidence.CheckConsistent(c, *newest, l.nodes(ctx)); err != nil {
		return Fail("%v", err)
	}
	if evidence.Backdated(e, position, c) {
		return Fail("the record says that it was made before the checkpoint of %s, which does not have it", c.At.Format(timeLayout))
	}
	return Pass("the log still begins with the %d records of the checkpoint of %s", c.Size, c.At.Format(timeLayout))
}
