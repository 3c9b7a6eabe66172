package simulation_test

import (
	"context"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/evidencelog"
)

// sealed judges the evidence log: everything is sealed, as it is on record, and goes on from every checkpoint that was kept.
func (m *model) sealed() {
	ctx, log := context.Background(), evidencelog.Log{Store: m.store, Keys: m.keys, Attests: m.ring.Attests}
	unsealed, err := m.store.UnsealedEvidence(ctx, 100)
	_, newest, errNewest := log.Newest(ctx)
	all := m.records()
	m.lock.Lock()
	defer m.lock.Unlock()
	if err != nil || len(unsealed) > 0 || errNewest != nil {
		m.fault("%d entries are not sealed, %v, %v", len(unsealed), err, errNewest)
		return
	}
	nodes := func(positions []int64) ([][]evidence.Hash, error) { return m.store.EvidenceNodes(ctx, positions) }
	var kept []evidence.Checkpoint
	largest := int64(0)
	for _, signed := range m.seals {
		c, err := m.keys.Open(signed)
		if err == nil {
			err = evidence.CheckConsistent(c, newest, nodes)
		}
		if err != nil {
			m.fault("the log does not go on from a checkpoint that was kept: %v", err)
		}
		kept, log.Outside, largest = append(kept, c), &c, max(largest, c.Size)
	}
	if largest < newest.Size {
		m.fault("no checkpoint of %d entries was kept, the largest that was is of %d", newest.Size, largest)
	}
	receipts := m.receipts()
	verdicts, forged, err := log.Audit(ctx, func(e evidence.Entry, position int64, _ bool) error {
		if r, given := receipts[e.ID]; given && r.Leaf != tlog.RecordHash(e.Leaf) {
			m.fault("entry %s is %s, and its receipt is of another", e.ID, e.Leaf)
		}
		delete(receipts, e.ID)
		for _, c := range kept {
			if evidence.Backdated(e, position, c) {
				m.fault("entry %s at %d seems to be back-dated before the checkpoint of %d entries, which is complete for %d", e.ID, position, c.Size, c.Complete)
			}
		}
		return nil
	})
	if len(receipts) > 0 {
		m.fault("the log lacks what was receipted: %v", receipts)
	}
	for _, r := range all {
		if r.Agreement != nil && err == nil {
			var of evidencelog.Record
			var found []evidencelog.Verdict
			if of, err = evidencelog.Read(ctx, m.store, r.Agreement.Number); err == nil {
				found, err = log.Check(ctx, of)
			}
			verdicts = append(verdicts, found...)
		}
	}
	if failed := evidencelog.Texts(verdicts, evidencelog.Failed); len(failed) > 0 || forged > 0 || err != nil {
		m.fault("the evidence log fails: %q, %d forged, %v", failed, forged, err)
	}
	if len(m.seals) > 0 {
		m.saw("checkpoints were kept")
	}
	if newest.Size > 500 {
		m.saw("a full batch was sealed")
	}
}

// receipts returns the receipts that providers were given, by the entries that they promise. The lock is held.
func (m *model) receipts() map[string]evidence.Receipt {
	all := map[string]evidence.Receipt{}
	for _, o := range m.orders {
		if o.confirmed != nil {
			r, err := m.keys.OpenReceipt(o.confirmed.Receipt)
			if err != nil || r.Number != o.confirmed.AgreementNumber {
				m.fault("%s was given the receipt %q: %v", o.name, o.confirmed.Receipt, err)
			}
			all[evidence.AgreementID(r.Number)] = r
		}
	}
	return all
}
