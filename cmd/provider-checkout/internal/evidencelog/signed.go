package evidencelog

import (
	"context"
	"errors"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

// Signed holds the sealed entries of a log, all from the first on, to the newest checkpoint.
type Signed struct {
	checkpoint evidence.Checkpoint
	fault      error // why there is no checkpoint to hold them to
	verifies   bool
	tree       evidence.Head
	root       evidence.Hash // of as many entries as the checkpoint has
	beyond     int           // entries that the checkpoint does not have
}

// Signed returns what holds the log to its checkpoint of now.
func (l Log) Signed(ctx context.Context) (*Signed, error) {
	s := &Signed{verifies: l.Keys.CanVerify()}
	s.root = s.tree.Root()
	if !s.verifies {
		return s, nil
	}
	_, s.checkpoint, s.fault = l.Newest(ctx)
	if s.fault != nil && !errors.Is(s.fault, errForeign) && !errors.Is(s.fault, errNoCheckpoint) {
		return nil, s.fault
	}
	return s, nil
}

// Add takes the next entry, at the position after that of the one before.
func (s *Signed) Add(e evidence.Entry) {
	if s.tree.Size >= s.checkpoint.Size {
		s.beyond++
		return
	}
	s.tree.Append(e.Leaf)
	if s.tree.Size == s.checkpoint.Size {
		s.root = s.tree.Root()
	}
}

// Verdict returns the verdict on the entries that were added.
func (s *Signed) Verdict() Verdict {
	at := s.checkpoint.At.Format(timeLayout)
	switch {
	case !s.verifies:
		return Nothing("no evidence key is given: whether the log is what was signed is not checked")
	case errors.Is(s.fault, errNoCheckpoint) && s.beyond == 0:
		return Nothing("%v", s.fault)
	case s.fault != nil:
		return Fail("%v", s.fault)
	case s.tree.Size < s.checkpoint.Size:
		return Fail("the log has %d entries and had %d at the checkpoint of %s", s.tree.Size, s.checkpoint.Size, at)
	case s.root != s.checkpoint.Root:
		return Fail("the first %d entries are not those of the checkpoint of %s: the log was changed", s.checkpoint.Size, at)
	case s.beyond > 0:
		return Nothing("the first %d entries are those of the checkpoint of %s; %d were sealed after it", s.checkpoint.Size, at, s.beyond)
	}
	return Pass("the first %d entries are those of the checkpoint of %s", s.checkpoint.Size, at)
}
