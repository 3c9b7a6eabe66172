package service

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// noteLimit limits a refused call's wait until its moment is on record.
const noteLimit = 2 * time.Second

// maxNotes is the most moments and refusals that are kept in memory until they are stored: what comes beyond it is lost.
const maxNotes = 10_000

// journal passes moments that are on record to Config.Noted.
func (s *Service) journal(ctx context.Context, about checkout.About, moments []checkout.Moment) {
	if s.cfg.Noted == nil {
		return
	}
	for _, m := range moments {
		s.cfg.Noted(ctx, checkout.Noted{About: about, Moment: m})
	}
}

// storeMoments stores moments that no change brings, and counts of refusals. What cannot be stored is lost, and reported.
func (s *Service) storeMoments(ctx context.Context, noted []checkout.Noted, refused []checkout.Refusal) {
	ctx, cancel := detached(ctx, noteLimit)
	defer cancel()
	err := within(ctx, noteLimit, func(ctx context.Context) error { return s.cfg.Store.Note(ctx, noted, refused) })
	if err != nil {
		s.report(ctx, Failure{Operation: OperationJournal, Severity: Warning,
			Err: fmt.Errorf("note %d moments and %d refusals: %w", len(noted), len(refused), err)})
		return
	}
	for _, n := range noted {
		s.journal(ctx, n.About, []checkout.Moment{n.Moment})
	}
}

// notebook keeps what is noted off the path of requests until the scheduler stores it: pages that were opened, which may be lost,
// and creates that were refused before there was a checkout.
type notebook struct {
	mu      sync.Mutex
	noted   []checkout.Noted
	refused map[checkout.Refusal]int // by a refusal whose Times is 0
}

// page notes that a payer opened the setup page.
func (n *notebook) page(about checkout.About, m checkout.Moment) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.noted) < maxNotes {
		n.noted = append(n.noted, checkout.Noted{About: about, Moment: m})
	}
}

// refusal counts a create that was refused before there was a checkout.
func (n *notebook) refusal(r checkout.Refusal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.refused == nil {
		n.refused = make(map[checkout.Refusal]int)
	}
	if _, counted := n.refused[r]; counted || len(n.refused) < maxNotes {
		n.refused[r]++
	}
}

// storeNotes stores what was noted.
func (s *Service) storeNotes(ctx context.Context) {
	n := &s.notes
	n.mu.Lock()
	noted, counts := n.noted, n.refused
	n.noted, n.refused = nil, nil
	n.mu.Unlock()
	var refused []checkout.Refusal
	for r, times := range counts {
		r.Times = times
		refused = append(refused, r)
	}
	if len(noted) > 0 || len(refused) > 0 {
		s.storeMoments(ctx, noted, refused)
	}
}
