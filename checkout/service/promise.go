package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

// errBroken: a receipt's promise is broken.
var errBroken = errors.New("what was agreed is not sealed, though receipts promise it: first confirms are refused until it is")

// brokenPause is the time after which a client asks again while a promise is broken.
const brokenPause = time.Minute

// promise is the knowledge of a process about the promise of the receipts. Every process with a key that signs looks at the log every
// sealEvery, by a clock that nobody sets, and does not ask at a confirm.
type promise struct {
	size   int64         // the greatest of the tree that was seen signed
	idle   time.Duration // for which entries have waited and the tree has not grown
	broken atomic.Bool
}

// broken returns nil, or that first confirms are refused because nothing is sealed in time.
func (s *sealer) broken() error {
	if s.promise.broken.Load() {
		return errBroken
	}
	return nil
}

// watchPromise calls watch every sealEvery until ctx ends, and not once more.
func (s *sealer) watchPromise(ctx context.Context) {
	for sleep(ctx, sealEvery) == nil {
		if err := within(ctx, waitLimit, s.watch); err != nil { // what was known stays
			s.reportUnlessStopped(ctx, Failure{Operation: OperationSeal, Severity: Warning, Err: err})
		}
	}
}

// watch finds out whether entries wait for longer than receipts promise. A wrong clock alone, of another process or of this one, breaks
// no promise: an entry counts as late once nothing has been sealed for a minute.
func (s *sealer) watch(ctx context.Context) error {
	oldest, waits, err := s.oldest(ctx)
	if err != nil {
		return fmt.Errorf("read what waits to be sealed: %w", err)
	}
	head, err := s.cfg.Store.EvidenceHead(ctx)
	if err != nil {
		return fmt.Errorf("read the head of the evidence log: %w", err)
	}
	p := &s.promise
	_, unsigned := s.openHead(head)
	grown := head.Size > p.size && unsigned == nil
	if grown {
		p.size = head.Size
	}
	if p.idle += sealEvery; grown || !waits {
		p.idle = 0
	}
	late := p.idle >= leastSealWithin && s.now().Sub(oldest) > s.cfg.SealWithin || p.idle > s.cfg.SealWithin
	if late && !p.broken.Swap(late) {
		s.reportUnlessStopped(ctx, Failure{Operation: OperationSeal, Severity: Error, Err: errBroken})
	}
	p.broken.Store(late)
	if p.idle >= leastSealWithin { // a wrong clock may hold up the job, whoever has it; what fails is reported there
		_, _, _ = s.run(ctx, "")
	}
	return nil
}

// oldest returns the time of the oldest entry that waits to be sealed, of the first ones in their chains. Entries that nothing attests
// never will be, and do not count, unless there are more than the sealer passes over: then whatever is recorded waits from now on.
func (s *sealer) oldest(ctx context.Context) (at time.Time, waits bool, err error) {
	for limit := sealBatch / 10; ; limit = min(10*limit, sealBatch+maxRefused) {
		entries, err := s.cfg.Store.UnsealedEvidence(ctx, limit)
		if err != nil {
			return at, false, err
		}
		genuine := slices.DeleteFunc(slices.Clone(entries), func(e evidence.Entry) bool { return !s.cfg.Keyring.Attests(e) })
		if len(genuine) > 0 {
			return slices.MinFunc(genuine, func(a, b evidence.Entry) int { return a.At.Compare(b.At) }).At, true, nil
		}
		if len(entries) < limit {
			return at, false, nil
		}
		if limit > maxRefused {
			return s.now(), true, nil
		}
	}
}
