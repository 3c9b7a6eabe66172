package evidencelog

import (
	"context"
	"errors"
	"strings"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

// Signed holds the entries of a log, all of them in the order of Each, to the newest checkpoint, and to a checkpoint that
// was kept elsewhere.
type Signed struct {
	newest   held
	fault    error // why there is no newest checkpoint to hold them to
	verifies bool
	tree     evidence.Head
	beyond   int    // entries that the newest checkpoint does not have
	misnamed string // the first entry whose id is not that of its record

	kept      bool // there is an outside checkpoint
	outside   held
	backdated string // the first entry that claims to be older than the outside checkpoint, which does not have it
}

// held is a checkpoint, and what was found of as many entries as it has.
type held struct {
	evidence.Checkpoint
	root evidence.Hash
}

// Signed returns what holds the log to its checkpoint of now, and to the one from elsewhere if there is one.
func (l Log) Signed(ctx context.Context) (*Signed, error) {
	s := &Signed{verifies: l.Keys.CanVerify(), kept: l.Outside != nil}
	s.newest.root, s.outside.root = s.tree.Root(), s.tree.Root()
	if !s.verifies {
		return s, nil
	}
	if s.kept {
		s.outside.Checkpoint = *l.Outside
	}
	_, s.newest.Checkpoint, s.fault = l.Newest(ctx)
	if s.fault != nil && !errors.Is(s.fault, ErrForeign) && !errors.Is(s.fault, errNoCheckpoint) {
		return nil, s.fault
	}
	return s, nil
}

// Add takes the next entry.
func (s *Signed) Add(e evidence.Entry, position int64) {
	if s.kept && s.backdated == "" && evidence.Backdated(e, position, s.outside.Checkpoint) {
		s.backdated = e.ID
	}
	if position == evidence.Unsealed {
		return
	}
	if s.misnamed == "" && !named(e) {
		s.misnamed = e.ID
	}
	if s.tree.Size >= s.newest.Size {
		s.beyond++
		return
	}
	s.tree.Append(e.Leaf)
	for _, h := range []*held{&s.newest, &s.outside} {
		if s.tree.Size == h.Size {
			h.root = s.tree.Root()
		}
	}
}

// named reports whether an entry that says which agreement it records has the id of that one's record, and no other entry has
// such an id: the tree has no ids.
func named(e evidence.Entry) bool {
	record, err := evidence.Read(e.Leaf)
	if err == nil && record.Kind == evidence.KindAgreement {
		return e.ID == evidence.AgreementID(record.Agreement)
	}
	return !strings.HasPrefix(e.ID, evidence.AgreementPrefix)
}

// Verdicts returns the verdict on the entries that were added, and one by the outside checkpoint if there is one.
func (s *Signed) Verdicts() []Verdict {
	if !s.kept {
		return []Verdict{s.verdict()}
	}
	return []Verdict{s.verdict(), s.outsideVerdict()}
}

func (s *Signed) verdict() Verdict {
	at := s.newest.At.Format(timeLayout)
	switch {
	case s.misnamed != "":
		return Fail("the entry %q is the record of something else: its id was changed", s.misnamed)
	case !s.verifies:
		return Nothing("no evidence key is given: whether the log is what was signed is not checked")
	case errors.Is(s.fault, errNoCheckpoint) && s.beyond == 0:
		return Nothing("%v", s.fault)
	case s.fault != nil:
		return Fail("%v", s.fault)
	case s.tree.Size < s.newest.Size:
		return Fail("the log has %d entries and had %d at the checkpoint of %s", s.tree.Size, s.newest.Size, at)
	case s.newest.root != s.newest.Root:
		return Fail("the first %d entries are not those of the checkpoint of %s: the log was changed", s.newest.Size, at)
	case s.beyond > 0:
		return Nothing("the first %d entries are those of the checkpoint of %s; %d were sealed after it", s.newest.Size, at, s.beyond)
	}
	return Pass("the first %d entries are those of the checkpoint of %s", s.newest.Size, at)
}

func (s *Signed) outsideVerdict() Verdict {
	at := s.outside.At.Format(timeLayout)
	switch {
	case s.tree.Size < s.outside.Size:
		return Fail("the log has %d entries and had %d at the checkpoint of %s", s.tree.Size, s.outside.Size, at)
	case s.outside.root != s.outside.Root:
		return Fail("the first %d entries are not those of the checkpoint of %s: the log was changed", s.outside.Size, at)
	case s.backdated != "":
		return Fail("the entry %q says that it was made before the checkpoint of %s, which does not have it", s.backdated, at)
	}
	return Pass("the log still begins with the %d entries of the checkpoint of %s", s.outside.Size, at)
}
