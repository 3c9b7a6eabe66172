package simulation_test

import (
	"bytes"
	"context"
	"slices"
	"time"

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
	var complete []evidence.Checkpoint
	for _, signed := range m.signed {
		c, err := m.open(signed)
		if complete = append(complete, c); err != nil {
			m.fault("the log had the checkpoint %q: %v", signed, err)
		}
	}
	outside := m.kept
	if m.witness != nil && m.witness.signed != nil {
		outside = slices.Insert(slices.Clone(outside), 0, m.witness.signed)
	}
	for _, signed := range outside {
		c, err := m.open(signed)
		if err == nil {
			err = evidence.CheckConsistent(c, newest, nodes)
		}
		if m.isLost(c) {
			if m.saw("a checkpoint showed what was lost"); err == nil {
				m.fault("the log seems to go on from a checkpoint of what was lost: %+v", c)
			}
			continue
		}
		if err != nil {
			m.fault("the log does not go on from a checkpoint that was kept or cosigned: %v", err)
		}
		log.Outside = &c
	}
	m.showsLoss(log)
	receipts := m.receipts()
	verdicts, forged, err := log.Audit(ctx, func(e evidence.Entry, position int64, _ bool) error {
		if r, given := receipts[e.ID]; given && r.Leaf != tlog.RecordHash(e.Leaf) {
			m.fault("entry %s is %s, and its receipt is of another", e.ID, e.Leaf)
		} else if given {
			m.saw("an entry was held to its receipt")
		}
		delete(receipts, e.ID)
		before := evidence.Checkpoint{} // of the checkpoints without it, that which is complete for most
		for _, c := range complete {
			if position >= c.Size && c.Complete > before.Complete {
				before = c
			}
		}
		if before.Complete > 0 {
			m.saw("an entry was held to a checkpoint before it")
		}
		if evidence.Backdated(e, position, before) {
			m.fault("entry %s at %d seems to be back-dated before the checkpoint of %d entries, which is complete for %d", e.ID, position, before.Size, before.Complete)
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
	if len(m.kept) > 0 {
		m.saw("checkpoints were kept")
	}
	if newest.Size > 500 {
		m.saw("a full batch was sealed")
	}
}

// open opens a checkpoint, once. The lock is held.
func (m *model) open(signed []byte) (evidence.Checkpoint, error) {
	if c, known := m.checkpoints[string(signed)]; known {
		return c, nil
	}
	c, err := m.keys.Open(signed)
	if err == nil {
		m.checkpoints[string(signed)] = c
	}
	return c, err
}

// keepsUp judges that the newest checkpoint was kept, unless it was signed just now: a call that failed is made again within seconds.
func (m *model) keepsUp() {
	m.lock.Lock()
	defer m.lock.Unlock()
	if n := len(m.signed); n > 0 && time.Since(m.signedAt) > 20*time.Second &&
		!slices.ContainsFunc(m.kept, func(kept []byte) bool { return bytes.Equal(kept, m.signed[n-1]) }) {
		m.fault("the checkpoint that was signed at %s is not kept: %s", m.signedAt.Sub(m.began), m.signed[n-1])
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
