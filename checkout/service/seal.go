package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	sealEvery = holdLimit
	sealBatch = 500
	// maxRefused is the most entries that are refused, and stay for ever, and are read again with every batch, so that the
	// entries behind them are sealed.
	maxRefused = 10_000
	// checkpointEvery is the greatest age of the newest checkpoint while there is nothing to seal: a fresh one also shows that
	// nothing was recorded since.
	checkpointEvery = time.Hour
	// clocksAgain is the pause between two reports that clocks are apart.
	clocksAgain = time.Hour
	// keepLimit is the time limit of a call of Config.Checkpoint.
	keepLimit = 5 * time.Second
)

var (
	errNothingToSeal = errors.New("there is nothing to seal")
	errChanged       = errors.New("the evidence log is not what its newest checkpoint signed, or none of the keys signed that: " +
		"nothing more is sealed")
	errGap    = errors.New("an entry that was recorded is missing from the evidence log, before it was sealed: nothing more is sealed")
	errForked = errors.New("the evidence log does not go on from a checkpoint that is known: nothing more is sealed")
	errAhead  = errors.New("a chain of the evidence log said that the log has more entries than it has, and first confirms were " +
		"refused: somebody has edited the store; it is put right")
)

// sealer seals the evidence log. Every process with a key that signs has one, and one at a time has the job.
type sealer struct {
	*Service
	turn     locks  // guards what follows
	refused  string // the first entry of the latest batch that was refused
	refusals int    // in the latest batch
	changed  bool   // the log is not what was signed, or has a gap
	promise  promise
	known    evidence.Checkpoint // the newest checkpoint seen here; zero before
	newest   []byte              // the same, signed
	apart    time.Time           // when it was last reported that clocks are apart
	sealed   chan struct{}       // there is a newer checkpoint

	opened atomic.Pointer[openedHead] // the latest
}

// openedHead is a checkpoint that was found to sign the end of the log.
type openedHead struct {
	evidence.Checkpoint
	signed []byte
}

// newSealer returns a sealer that knows the checkpoint of Config.KnownCheckpoint.
func newSealer(s *Service) *sealer {
	known, err := s.cfg.Evidence.Open(s.cfg.KnownCheckpoint)
	if err != nil {
		known = evidence.Checkpoint{} // New has checked it: it is empty
	}
	return &sealer{Service: s, known: known, sealed: make(chan struct{}, 1)}
}

// run seals what was recorded since the last time, a batch after another.
func (s *sealer) run(ctx context.Context, _ string) (next string, pause time.Duration, err error) {
	sealed := false
	for n := sealBatch; n == sealBatch && ctx.Err() == nil; {
		n = 0
		err = s.inTurn(ctx, func(ctx context.Context) (err error) { n, err = s.sealBatch(ctx); return err })
		sealed = sealed || err == nil && n > 0
	}
	if sealed {
		select {
		case s.sealed <- struct{}{}:
		default:
		}
	}
	return "", sealEvery, err
}

// inTurn calls look alone, if the log goes on from the newest checkpoint that is known, and reports that the log cannot be sealed.
func (s *sealer) inTurn(ctx context.Context, look func(context.Context) error) error {
	unlock, _, err := s.turn.lock(ctx, "")
	if err != nil {
		return err
	}
	defer unlock()
	err = within(ctx, waitLimit, func(ctx context.Context) error {
		if err := s.follows(ctx); err != nil {
			return err
		}
		return look(ctx)
	})
	return s.reportNotSealed(ctx, err)
}

// keepNewest passes the newest checkpoint to Config.Checkpoint, whichever process has signed it, until ctx ends, and once more when
// a batch in progress is sealed. It waits for each call, which holds up no sealing: a disk may hang, or a host may not be reached.
func (s *sealer) keepNewest(ctx context.Context) {
	for passed, failing := "", false; ; {
		last := false
		select {
		case <-ctx.Done():
			ctx, last = context.WithoutCancel(ctx), true
		case <-time.After(sealEvery):
		case <-s.sealed:
		}
		var newest []byte
		err := s.inTurn(ctx, func(context.Context) error { newest = s.newest; return nil })
		if err == nil && len(newest) > 0 && string(newest) != passed {
			if failing = !s.pass(ctx, newest, failing); !failing {
				passed = string(newest)
			}
		}
		if last {
			return
		}
	}
}

// pass passes a checkpoint to Config.Checkpoint, reports that the call hangs, or fails for the first time in a row, and returns
// whether the checkpoint is kept.
func (s *sealer) pass(ctx context.Context, newest []byte, failing bool) (kept bool) {
	late := time.AfterFunc(keepLimit, func() {
		s.reportUnlessStopped(ctx, Failure{Operation: OperationHook, Severity: Error,
			Err: fmt.Errorf("the checkpoint is not kept after %s: sealing goes on, and later checkpoints wait until it is", keepLimit)})
	})
	defer late.Stop()
	err := within(ctx, keepLimit, func(ctx context.Context) error { return s.cfg.Checkpoint(ctx, newest) })
	if err != nil && !failing {
		s.report(ctx, Failure{Operation: OperationHook, Severity: Error, Err: fmt.Errorf("keep the newest checkpoint: %w", err)})
	}
	return err == nil
}

// notSealed is the reason why the log cannot be sealed, which has been reported.
type notSealed struct{ error }

func (e notSealed) Unwrap() error { return e.error }

// reportNotSealed counts and reports that the log cannot be sealed: once, while it is not what was signed. It returns the reason,
// or nil if another process seals the log or the service stops.
func (s *sealer) reportNotSealed(ctx context.Context, err error) error {
	changed := errors.Is(err, errChanged) || errors.Is(err, errForked) || errors.Is(err, errGap)
	switch {
	case err == nil, errors.Is(err, ports.ErrBusy), ctx.Err() != nil:
		s.changed = changed
		return nil
	case s.changed && changed: // it was reported
		s.cfg.Count(CountNotSealed, "")
	default:
		s.cfg.Count(CountNotSealed, "")
		s.reportUnlessStopped(ctx, Failure{Operation: OperationSeal, Severity: Error, Err: err})
	}
	s.changed = changed
	return notSealed{err}
}

// sealBatch seals at most sealBatch entries, and returns how many.
func (s *sealer) sealBatch(ctx context.Context) (sealed int, err error) {
	var b batch // of the latest attempt
	limit := sealBatch + min(s.refusals, maxRefused)
	err = s.cfg.Store.SealEvidence(ctx, limit, func(head evidence.Head, entries []evidence.Entry) (evidence.Sealing, error) {
		var err error
		b, err = s.batch(head, entries, len(entries) == limit)
		return b.Sealing, err
	})
	s.reportRefused(ctx, b.refused)
	s.reportClocks(ctx, b.apart)
	switch {
	case errors.Is(err, errNothingToSeal):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("seal the evidence log: %w", err)
	case b.ahead:
		s.reportUnlessStopped(ctx, Failure{Operation: OperationSeal, Severity: Error, Err: errAhead})
	}
	s.newest = b.Head.Checkpoint
	return len(b.Places), nil
}

// batch is the work of one call of the store that seals, and what was found about it.
type batch struct {
	evidence.Sealing
	refused []string      // entries that no secret of the operator's attests
	ahead   bool          // a chain has seen more than there is
	apart   time.Duration // how far a clock was seen to be from this one, if that is more than evidence.Late
}

// batch appends the entries to the log, without entries that no secret of the operator's attests, and signs a checkpoint. more
// says that there may be later entries.
func (s *sealer) batch(head evidence.Head, entries []evidence.Entry, more bool) (b batch, _ error) {
	now, first := s.now(), len(head.Checkpoint) == 0
	newest, err := s.openHead(head)
	switch {
	case err != nil:
		return b, errChanged
	case head.Size < s.known.Size:
		return b, errForked
	}
	b.Head, b.ahead = head, head.MostSeen > head.Size
	for _, e := range entries {
		switch {
		case !s.cfg.Keyring.Attests(e):
			b.refused = append(b.refused, e.ID)
			continue
		case e.Orphan:
			return b, fmt.Errorf("%w: entry %s follows on %s", errGap, e.ID, e.Previous)
		}
		b.seen(e.At.Sub(now))
		if !first {
			b.seen(newest.At.Sub(e.At))
		}
		position := b.Head.Size
		b.Places = append(b.Places, evidence.Place{ID: e.ID, Position: position, Nodes: b.Head.Append(e.Leaf)})
	}
	if !first {
		age := now.Sub(newest.At)
		b.seen(-age)
		if !b.ahead && len(b.Places) == 0 && age.Abs() <= checkpointEvery {
			return b, errNothingToSeal
		}
	}
	complete := newest.Complete // while later entries wait, which may have seen as little
	if !more {
		complete = max(complete, min(head.Seen, head.Size))
	}
	b.Head.Checkpoint, err = s.cfg.Evidence.Sign(evidence.Checkpoint{Size: b.Head.Size, Root: b.Head.Root(), At: now, Complete: complete})
	return b, err
}

// seen notes by how much one time is after another that should not be much later.
func (b *batch) seen(after time.Duration) {
	if after > evidence.Late {
		b.apart = max(b.apart, after)
	}
}

// reportClocks reports that the clocks of the machines that record and seal are too far apart, if they are.
func (s *sealer) reportClocks(ctx context.Context, apart time.Duration) {
	if apart == 0 {
		return
	}
	s.cfg.Count(CountClocksApart, "")
	if now := s.now(); s.apart.IsZero() || now.Sub(s.apart).Abs() >= clocksAgain {
		s.apart = now
		s.reportUnlessStopped(ctx, Failure{Operation: OperationSeal, Severity: Error, Err: fmt.Errorf(
			"a clock is %s from that of another machine, or has been set back: records in the evidence log have a wrong time; set the "+
				"clocks by NTP", apart.Round(time.Second))})
	}
}

// follows returns nil if the log goes on from the newest checkpoint that is known here, and then its own newest one is. An
// earlier end of the log, with the checkpoint that it had, is signed too, and would be taken for the end again.
func (s *sealer) follows(ctx context.Context) error {
	head, err := s.cfg.Store.EvidenceHead(ctx)
	if err != nil {
		return fmt.Errorf("read the head of the evidence log: %w", err)
	}
	newest, err := s.openHead(head)
	if err != nil {
		return errChanged
	}
	if s.known.Size > 0 {
		var unread error
		nodes := func(positions []int64) (nodes [][]evidence.Hash, err error) {
			nodes, err = s.cfg.Store.EvidenceNodes(ctx, positions)
			unread = err
			return nodes, err
		}
		switch err := evidence.CheckConsistent(s.known, newest, nodes); {
		case unread != nil:
			return fmt.Errorf("read the evidence log: %w", unread)
		case err != nil:
			return fmt.Errorf("%w: %w", errForked, err)
		}
	}
	s.known, s.newest = newest, head.Checkpoint
	return nil
}

// openHead returns the newest checkpoint of the log, as evidence.Keys.OpenHead does, and verifies no signature again: most often nothing
// is new.
func (s *sealer) openHead(head evidence.Head) (evidence.Checkpoint, error) {
	if was := s.opened.Load(); was != nil && was.Size == head.Size && was.Root == head.Root() && bytes.Equal(was.signed, head.Checkpoint) {
		return was.Checkpoint, nil
	}
	c, err := s.cfg.Evidence.OpenHead(head)
	if err == nil {
		s.opened.Store(&openedHead{c, head.Checkpoint})
	}
	return c, err
}

// reportRefused reports entries that a process without the operator's secret recorded, once.
func (s *sealer) reportRefused(ctx context.Context, ids []string) {
	first := ""
	if len(ids) > 0 {
		first = ids[0]
	}
	if first != s.refused && first != "" {
		s.reportUnlessStopped(ctx, Failure{Operation: OperationSeal, Severity: Error, Err: fmt.Errorf(
			"%d entries of the evidence log are not attested under the operator's secret, and are not sealed: the first is %s", len(ids), first)})
	}
	s.refused, s.refusals = first, len(ids)
}

// Checkpoint returns the newest signed checkpoint of the evidence log: a note as of C2SP's tlog-checkpoint. It is nil
// before the first, and may be two seconds old.
func (s *Service) Checkpoint(ctx context.Context) (signed []byte, err error) {
	defer recovered(&err)
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	head, err := s.heads.Get(s.now(), "", func() (evidence.Head, error) { return s.cfg.Store.EvidenceHead(ctx) })
	if err != nil {
		return nil, s.fail(ctx, "read the newest checkpoint", err)
	}
	return head.Checkpoint, nil
}

// EvidenceKey returns the public half of the key that signs checkpoints, or "" if this service has no such key.
func (s *Service) EvidenceKey() string { return s.cfg.Evidence.Public() }

// CheckpointAge returns how old the newest checkpoint of the evidence log is. ok is false if no checkpoint
// was signed yet, or no key of this service signed it.
func (s *Service) CheckpointAge(ctx context.Context) (age time.Duration, ok bool, err error) {
	defer recovered(&err)
	head, err := s.cfg.Store.EvidenceHead(ctx)
	if err != nil {
		return 0, false, fmt.Errorf("read the newest checkpoint: %w", err)
	}
	c, err := s.cfg.Evidence.Open(head.Checkpoint)
	if err != nil {
		return 0, false, nil
	}
	return max(0, s.now().Sub(c.At)), true, nil
}
