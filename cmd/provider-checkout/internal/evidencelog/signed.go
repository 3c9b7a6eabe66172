package evidencelog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

// audit holds the entries of a log, all of them in the order of Each, to the newest checkpoint, and to a checkpoint that
// was kept elsewhere.
type audit struct {
	newest   held
	fault    error // the reason why there is no newest checkpoint to hold them to
	verifies bool
	tree     evidence.Head
	beyond   int    // entries that the newest checkpoint does not have
	misnamed string // the first entry whose id is not that of its record

	orphan  string // the first genuine entry that follows on an entry that is missing
	missing string

	kept      bool // there is an outside checkpoint
	outside   held
	backdated string // the first entry that claims to be older than the outside checkpoint, which does not have it
}

// held is a checkpoint, and the root of as many entries of the log as it has.
type held struct {
	evidence.Checkpoint
	root evidence.Hash
}

// at returns the time of the checkpoint.
func (h held) at() string { return h.At.Format(timeLayout) }

// contradiction returns how a log of this size contradicts the checkpoint, or "".
func (h held) contradiction(size int64) string {
	switch {
	case size < h.Size:
		return fmt.Sprintf("the log has %d entries and had %d at the checkpoint of %s", size, h.Size, h.at())
	case h.root != h.Root:
		return fmt.Sprintf("the first %d entries are not those of the checkpoint of %s: the log was changed", h.Size, h.at())
	}
	return ""
}

// Forged is the format of the remark on a number of entries that are not genuine.
const Forged = "entries that were not recorded by a process with the operator's secret: %d"

// Audit calls visit with every entry, in the order of Each, and holds the log to its checkpoint of now, and to the one from elsewhere
// if there is one: a verdict each. An entry is genuine if it is sealed, or a process with the operator's secret recorded it; Audit
// counts the other entries.
func (l Log) Audit(ctx context.Context, visit func(e evidence.Entry, position int64, genuine bool) error) (verdicts []Verdict, forged int, err error) {
	a := audit{verifies: l.Keys.CanVerify(), kept: l.Outside != nil}
	a.newest.root, a.outside.root = a.tree.Root(), a.tree.Root()
	if a.kept {
		a.outside.Checkpoint = *l.Outside
	}
	if a.verifies {
		_, a.newest.Checkpoint, a.fault = l.Newest(ctx)
		if a.fault != nil && !errors.Is(a.fault, ErrForeign) && !errors.Is(a.fault, errNoCheckpoint) {
			return nil, 0, a.fault
		}
	}
	err = l.Each(ctx, func(e evidence.Entry, position int64) error {
		a.add(e, position)
		genuine := position != evidence.Unsealed || l.Attests(e)
		if !genuine {
			forged++
		} else if e.Orphan && a.orphan == "" {
			a.orphan, a.missing = e.ID, e.Previous
		}
		return visit(e, position, genuine)
	})
	verdicts = []Verdict{a.verdict()}
	if a.kept {
		verdicts = append(verdicts, a.outsideVerdict())
	}
	return verdicts, forged, err
}

// add takes the next entry.
func (a *audit) add(e evidence.Entry, position int64) {
	if a.kept && a.backdated == "" && evidence.Backdated(e, position, a.outside.Checkpoint) {
		a.backdated = e.ID
	}
	if position == evidence.Unsealed {
		return
	}
	if a.misnamed == "" && !named(e) {
		a.misnamed = e.ID
	}
	if a.tree.Size >= a.newest.Size {
		a.beyond++
		return
	}
	a.tree.Append(e.Leaf)
	for _, h := range []*held{&a.newest, &a.outside} {
		if a.tree.Size == h.Size {
			h.root = a.tree.Root()
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

func (a *audit) verdict() Verdict {
	switch {
	case a.misnamed != "":
		return Fail("the entry %q is the record of something else: its id was changed", a.misnamed)
	case a.orphan != "":
		return Fail("the entry %q is missing: %q was recorded after it", a.missing, a.orphan)
	case !a.verifies:
		return Nothing("no evidence key is given: whether the log is what was signed is not checked")
	case errors.Is(a.fault, errNoCheckpoint) && a.beyond == 0:
		return Nothing("%v", a.fault)
	case a.fault != nil:
		return Fail("%v", a.fault)
	}
	switch wrong := a.newest.contradiction(a.tree.Size); {
	case wrong != "":
		return Fail("%s", wrong)
	case a.beyond > 0:
		return Nothing("the first %d entries are those of the checkpoint of %s; %d were sealed after it", a.newest.Size, a.newest.at(), a.beyond)
	}
	return Pass("the first %d entries are those of the checkpoint of %s", a.newest.Size, a.newest.at())
}

func (a *audit) outsideVerdict() Verdict {
	switch wrong := a.outside.contradiction(a.tree.Size); {
	case wrong != "":
		return Fail("%s", wrong)
	case a.backdated != "":
		return Fail("the entry %q says that it was made before the checkpoint of %s, which does not have it", a.backdated, a.outside.at())
	}
	return Pass("the log still begins with the %d entries of the checkpoint of %s", a.outside.Size, a.outside.at())
}
