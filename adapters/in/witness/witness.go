// Package witness is a small witness of evidence logs, by C2SP's tlog-witness, that any party can run, such as a provider. It
// cosigns a checkpoint if the log goes on from the checkpoint that it cosigned last, once the new one is on the disk. Where a log
// does not, it keeps both checkpoints: each has the log's own signature.
package witness

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/mod/sumdb/note"

	"github.com/provider-checkout/provider-checkout/adapters/store/privatefile"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

const (
	maxBody = 64 << 10

	// The endings of a log's files in the folder; before them is the SHA-256 of its name.
	newest   = ".checkpoint" // cosigned last
	forked   = ".fork"       // two checkpoints of one size with different roots, the first that came: the log was changed
	unproven = ".unproven"   // two checkpoints, the newest that came: nothing proved that the log goes on from one to the other
)

var errUnknown = errors.New("this log is not known here")

// Options configure a witness.
type Options struct {
	Logs   evidence.Keys // public; former ones too
	Signer note.Signer   // of its cosignatures
	Folder string
	Write  func(path string, data []byte) error // of a file, which is on the disk then, or as it was before
	Log    *slog.Logger
}

// Witness answers logs, and shows what it has cosigned and kept.
type Witness struct {
	*http.ServeMux
	o      Options
	mu     sync.Mutex // of the files
	folder *os.File   // locked
}

// New returns a witness, which has its folder to itself until the process ends.
func New(o Options) (*Witness, error) {
	folder, err := os.Open(o.Folder)
	if err == nil {
		err = privatefile.Lock(folder)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the folder %s: %w", o.Folder, err)
	}
	h := &Witness{ServeMux: http.NewServeMux(), o: o, folder: folder}
	h.HandleFunc("POST /add-checkpoint", h.add)
	for _, ending := range []string{newest, forked, unproven} {
		h.HandleFunc("GET /{log}/"+ending[1:], func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Cache-Control", "no-store")
			http.ServeFile(w, r, filepath.Join(o.Folder, filepath.Base(r.PathValue("log"))+ending))
		})
	}
	return h, nil
}

// add answers a submission.
func (h *Witness) add(w http.ResponseWriter, r *http.Request) {
	line, known, err := h.cosign(http.MaxBytesReader(w, r.Body, maxBody))
	for refusal, status := range map[error]int{evidence.ErrSubmission: http.StatusBadRequest, errUnknown: http.StatusNotFound,
		evidence.ErrCheckpoint: http.StatusForbidden, evidence.ErrNotConsistent: http.StatusUnprocessableEntity} {
		if errors.Is(err, refusal) {
			http.Error(w, err.Error(), status)
			return
		}
	}
	switch {
	case err == nil:
		_, _ = w.Write(line)
	case errors.Is(err, evidence.ErrStale):
		w.Header().Set("Content-Type", "text/x.tlog.size")
		w.WriteHeader(http.StatusConflict)
		fmt.Fprintln(w, known)
	default:
		h.o.Log.Error("cosign", "error", err)
		http.Error(w, "it cannot be kept", http.StatusInternalServerError)
	}
}

// cosign returns the line of its cosignature of a submission's checkpoint. With evidence.ErrStale it returns the size that it
// cosigned last.
func (h *Witness) cosign(body io.Reader) (line []byte, known int64, err error) {
	text, err := io.ReadAll(body)
	if err != nil {
		return nil, 0, evidence.ErrSubmission
	}
	s, err := evidence.ParseSubmission(text)
	if err != nil {
		return nil, 0, err
	}
	origin, _, _ := strings.Cut(string(s.Checkpoint), "\n")
	if !h.o.Logs.Names(origin) {
		return nil, 0, errUnknown
	}
	next, err := h.o.Logs.Open(s.Checkpoint)
	if err == nil {
		s.Checkpoint, _, err = h.o.Logs.Cosign(s.Checkpoint) // by no signer: the lines of others are dropped
	}
	if err != nil {
		return nil, 0, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	path := filepath.Join(h.o.Folder, fmt.Sprintf("%x", sha256.Sum256([]byte(origin))))
	var last evidence.Checkpoint
	kept, err := os.ReadFile(path + newest)
	if err == nil {
		last, err = h.o.Logs.Open(kept)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, fmt.Errorf("read the checkpoint that was cosigned last: %v", err) // %v: it is not the caller's
	}
	switch err = s.Check(last, next); {
	case err == nil:
		var cosigned []byte
		if cosigned, line, err = h.o.Logs.Cosign(s.Checkpoint, h.o.Signer); err == nil {
			err = h.o.Write(path+newest, cosigned)
		}
	case kept != nil && next.Size == last.Size && next.Root != last.Root:
		h.keep(path+forked, kept, s.Checkpoint, next)
	case kept != nil && (errors.Is(err, evidence.ErrNotConsistent) || next.Size < last.Size && next.At.After(last.At)):
		h.keep(path+unproven, kept, s.Checkpoint, next)
	}
	return line, last.Size, err
}

// keep keeps two checkpoints as evidence, and logs both, unless it has a fork, or beside the same checkpoint another that is as new:
// strangers can send it old ones for ever.
func (h *Witness) keep(path string, last, signed []byte, next evidence.Checkpoint) {
	had, err := os.ReadFile(path)
	if former, same := bytes.CutPrefix(had, append(bytes.Clone(last), '\n')); err == nil {
		c, _ := h.o.Logs.Open(former)
		if filepath.Ext(path) == forked || same && !next.At.After(c.At) {
			return
		}
	}
	err = h.o.Write(path, slices.Concat(last, []byte("\n"), signed))
	h.o.Log.Error("the log does not go on from what was cosigned", "cosigned", string(last), "refused", string(signed), "file", path, "error", err)
}
