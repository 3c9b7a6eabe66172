package evidence

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// A witness is another party that cosigns checkpoints (C2SP's tlog-witness and tlog-cosignature), but never checkpoints of two
// histories: whoever asks for its cosignature is not shown another log than other people are. A cosignature is one more
// signature line below a checkpoint, which readers without the witness's key ignore.

var (
	// ErrSubmission: a submission cannot be read, or its checkpoint is smaller than the size that it names.
	ErrSubmission = errors.New("it is no submission of a checkpoint")
	// ErrStale: a submission names another size than that of the checkpoint that the witness cosigned last.
	ErrStale = errors.New("the witness has cosigned a checkpoint of another size")
	// ErrNotConsistent: nothing proves that the log goes on from the checkpoint that the witness cosigned last.
	ErrNotConsistent = errors.New("nothing proves that the log goes on from the checkpoint that was cosigned last")
	// ErrCosignature: no line of a witness's answer is its cosignature of the checkpoint.
	ErrCosignature = errors.New("the answer has no cosignature of the checkpoint")
)

// Submission asks a witness to cosign a checkpoint.
type Submission struct {
	Known      int64       // the size of the checkpoint that the witness cosigned last; 0 before the first
	Proof      []tlog.Hash // that the log goes on from there
	Checkpoint []byte      // signed
}

// Submit returns the submission of a signed checkpoint to a witness that knows the log up to a size, which is not larger.
func Submit(signed []byte, c Checkpoint, known int64, nodes Nodes) (s Submission, err error) {
	s = Submission{Known: known, Checkpoint: signed}
	if known > 0 {
		s.Proof, err = tlog.ProveTree(c.Size, known, nodes)
	}
	return s, err
}

// Text returns the submission as the body of a request.
func (s Submission) Text() []byte {
	text := fmt.Appendf(nil, "old %d\n", s.Known)
	for _, h := range s.Proof {
		text = fmt.Appendf(text, "%s\n", h)
	}
	return append(append(text, '\n'), s.Checkpoint...)
}

// ParseSubmission reads the body of a request, or returns ErrSubmission.
func ParseSubmission(text []byte) (s Submission, err error) {
	const maxProof = 63 // lines, as of tlog-witness
	head, signed, _ := bytes.Cut(text, []byte("\n\n"))
	lines := strings.Split(string(head), "\n")
	s.Checkpoint = signed
	s.Known, err = strconv.ParseInt(strings.TrimPrefix(lines[0], "old "), 10, 64)
	for _, line := range lines[1:] {
		h, wrong := tlog.ParseHash(line)
		s.Proof, err = append(s.Proof, h), errors.Join(err, wrong)
	}
	if err != nil || s.Known < 0 || len(s.Proof) > maxProof || !bytes.Equal(s.Text(), text) {
		return s, ErrSubmission
	}
	return s, nil
}

// Check returns nil if a witness may cosign the submission's checkpoint, which says next. known is the checkpoint that it
// cosigned last; zero before the first.
func (s Submission) Check(known, next Checkpoint) error {
	switch {
	case s.Known > next.Size:
		return ErrSubmission
	case s.Known != known.Size:
		return ErrStale
	case known.Size == 0 && len(s.Proof) == 0 && (next.Size > 0 || next.Root == emptyRoot):
		return nil
	case known.Size > 0 && tlog.CheckTree(s.Proof, next.Size, next.Root, known.Size, known.Root) == nil:
		return nil
	}
	return ErrNotConsistent
}

// Names reports whether a key has the name of a log, with which its checkpoints begin.
func (k Keys) Names(log string) bool {
	return slices.ContainsFunc(k.verifiers, func(v note.Verifier) bool { return v.Name() == log })
}

// Cosign returns a checkpoint that one of the keys signed with that signature and the cosignatures of the witnesses, and the last
// line of it alone. Lines of others, which anybody can add, are left out.
func (k Keys) Cosign(signed []byte, witnesses ...note.Signer) (cosigned, line []byte, err error) {
	opened, err := note.Open(signed, note.VerifierList(k.verifiers...))
	if err != nil {
		return nil, nil, ErrCheckpoint
	}
	opened.UnverifiedSigs = nil
	if cosigned, err = note.Sign(opened, witnesses...); err != nil {
		return nil, nil, fmt.Errorf("cosign a checkpoint: %w", err)
	}
	return cosigned, cosigned[bytes.LastIndexByte(cosigned[:len(cosigned)-1], '\n')+1:], nil
}

// Cosigned reports whether a witness has cosigned a checkpoint.
func Cosigned(signed []byte, witness note.Verifier) bool {
	opened, err := note.Open(signed, note.VerifierList(witness))
	return err == nil && exact(opened)
}

// AddCosignature returns a signed checkpoint with the line that is the cosignature of a witness, or ErrCosignature.
func AddCosignature(signed, lines []byte, witness note.Verifier) ([]byte, error) {
	if Cosigned(signed, witness) {
		return signed, nil
	}
	for line := range bytes.Lines(lines) {
		if cosigned := slices.Concat(signed, line); Cosigned(cosigned, witness) {
			return cosigned, nil
		}
	}
	return nil, ErrCosignature
}
