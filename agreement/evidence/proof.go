package evidence

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/mod/sumdb/tlog"
)

const (
	proofFormat  = "provider-checkout evidence proof v1"
	maxProofText = 64 << 10 // bytes; twenty times the longest
	maxPosition  = 1e15     // below it every language has each whole number
)

var errNoProof = errors.New("it is no proof of the evidence log")

// Proof shows that an entry is in the log. Its text is all that is needed to check it, beside the public key.
type Proof struct {
	Leaf       []byte
	Position   int64
	Path       []tlog.Hash // from the leaf up
	Checkpoint []byte      // signed
}

// Prove returns the proof of the entry at a position under a checkpoint that one of the keys signed, if the proof holds.
func (k Keys) Prove(leaf []byte, position int64, signed []byte, nodes Nodes) (Proof, error) {
	c, err := k.Open(signed)
	if err != nil {
		return Proof{}, err
	}
	path, err := tlog.ProveRecord(c.Size, position, nodes)
	if err != nil {
		return Proof{}, fmt.Errorf("prove position %d of %d: %w", position, c.Size, err)
	}
	p := Proof{leaf, position, path, signed}
	_, err = p.Check(k)
	return p, err
}

// Text returns the proof as a JSON text.
func (p Proof) Text() []byte {
	w := proofWire{Format: proofFormat, Record: string(p.Leaf), Position: &p.Position, Path: []string{}, Checkpoint: string(p.Checkpoint)}
	for _, h := range p.Path {
		w.Path = append(w.Path, h.String())
	}
	return append(encode(w), '\n')
}

// ParseProof reads the text of a proof: the five members of proofWire, each once, and nothing else. It refuses a proof or a
// record that gives a name twice, of which a person might read the value that is not proven.
func ParseProof(text []byte) (p Proof, err error) {
	var w proofWire
	if len(text) > maxProofText || json.Unmarshal(text, &w, json.RejectUnknownMembers(true)) != nil || w.Format != proofFormat ||
		!isObject(w.Record) || w.Path == nil || w.Position == nil || *w.Position < 0 || *w.Position >= maxPosition {
		return p, errNoProof
	}
	for _, encoded := range w.Path {
		h, err := tlog.ParseHash(encoded)
		if err != nil || h.String() != encoded {
			return p, errors.New("a hash of the proof cannot be read")
		}
		p.Path = append(p.Path, h)
	}
	p.Leaf, p.Position, p.Checkpoint = []byte(w.Record), *w.Position, []byte(w.Checkpoint)
	return p, nil
}

// isObject reports whether a text is a JSON object that gives no name twice, also in any object within it.
func isObject(text string) bool {
	value := jsontext.Value(text)
	return value.IsValid() && value.Kind() == '{'
}

// Check returns the checkpoint under which the entry is proven, or why it is not.
func (p Proof) Check(keys Keys) (Checkpoint, error) {
	c, err := keys.Open(p.Checkpoint)
	if err != nil {
		return c, err
	}
	if p.Position < 0 || p.Position >= c.Size {
		return c, fmt.Errorf("position %d is not in a tree of %d", p.Position, c.Size)
	}
	if err := tlog.CheckRecord(p.Path, c.Size, c.Root, p.Position, tlog.RecordHash(p.Leaf)); err != nil {
		return c, errors.New("the record is not in the tree that was signed")
	}
	return c, nil
}

// CheckConsistent returns nil if a log, of which a later checkpoint was signed, still begins with what it held at an
// earlier one.
func CheckConsistent(earlier, later Checkpoint, nodes Nodes) error {
	switch {
	case earlier.Size > later.Size:
		return fmt.Errorf("the log has %d entries and had %d at the checkpoint of %s", later.Size, earlier.Size, instant(earlier.At))
	case earlier.Size == 0:
		return nil
	}
	path, err := tlog.ProveTree(later.Size, earlier.Size, nodes)
	if err != nil {
		return err
	}
	if tlog.CheckTree(path, later.Size, later.Root, earlier.Size, earlier.Root) != nil {
		return fmt.Errorf("the first %d entries are not those of the checkpoint of %s", earlier.Size, instant(earlier.At))
	}
	return nil
}

// Backdated reports whether an entry that a checkpoint does not have says that it was recorded when the tree was smaller than
// what the checkpoint is complete for. The order counts, and no clock.
func Backdated(e Entry, position int64, c Checkpoint) bool {
	if !(position == Unsealed || position >= c.Size) {
		return false
	}
	r, err := Read(e.Leaf)
	return err == nil && r.LogSize < c.Complete
}
