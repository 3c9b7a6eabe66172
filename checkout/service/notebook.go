package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

const (
	// noteLimit limits one write of the notebook.
	noteLimit = 2 * time.Second
	// maxNotes is the largest number of moments that wait to be stored. Further ones are lost.
	maxNotes = 10_000
)

// notebook keeps the moments and the uses of keys that are noted off the path of requests: calls that were refused, and pages that were
// opened. The scheduler stores them once a second; a crash loses them.
type notebook struct {
	mu      sync.Mutex
	moments []checkout.Noted
	uses    map[checkout.KeyUse]bool
}

// key notes the use of a key, once a minute: the store has it soon, and so has the key that is read then.
func (n *notebook) key(k catalogue.Key, now time.Time) {
	minute := now.UTC().Truncate(time.Minute)
	if !k.LastUsed.Before(minute) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.uses == nil {
		n.uses = make(map[checkout.KeyUse]bool)
	}
	n.uses[checkout.KeyUse{KeyID: k.ID, Minute: minute}] = true
}

func (n *notebook) moment(about checkout.About, m checkout.Moment) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.moments) < maxNotes {
		n.moments = append(n.moments, checkout.Noted{About: about, Moment: m})
	}
}

// storeNotes stores what was noted, also if ctx has ended.
func (s *Service) storeNotes(ctx context.Context) {
	n := &s.notes
	n.mu.Lock()
	moments, uses := n.moments, slices.Collect(maps.Keys(n.uses))
	n.moments, n.uses = nil, nil
	n.mu.Unlock()
	if len(moments) == 0 && len(uses) == 0 {
		return
	}
	err := within(context.WithoutCancel(ctx), noteLimit, func(ctx context.Context) error { return s.cfg.Store.Note(ctx, moments, uses) })
	if err != nil {
		s.report(ctx, Failure{Operation: OperationJournal, Severity: Warning,
			Err: fmt.Errorf("note %d moments and the use of %d keys: %w", len(moments), len(uses), err)})
	}
}

// Refused notes a call about the caller's checkout that was refused, also one whose body could not be parsed. BUSY is no refusal.
func (s *Service) Refused(caller Caller, id, requestID string, err error) {
	refusal, ok := errors.AsType[*checkout.Error](err)
	if !ok || refusal.Code == checkout.CodeBusy || id == "" || checkout.ProviderOf(id) != caller.ProviderCode {
		return
	}
	s.notes.moment(checkout.About{CheckoutID: id, ProviderCode: caller.ProviderCode},
		checkout.RefusedMoment(refusal, checkout.ProviderActor(caller.KeyID), requestID, s.now()))
}
