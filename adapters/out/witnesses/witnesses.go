// Package witnesses has other parties cosign the checkpoints of the evidence log, by C2SP's tlog-witness. Each witness is asked
// within seconds after a checkpoint, and its cosignature is added to the checkpoint in the store. A witness that is away holds up
// nothing: it is asked again, less and less often.
package witnesses

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"filippo.io/torchwood"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	lookEvery    = time.Second
	longestPause = 10 * time.Minute // after failures; it is doubled with each
	timeout      = 10 * time.Second // of a submission
	maxAnswer    = 16 << 10
)

// List is a list of witnesses.
type List struct{ all []*witness }

// Any reports whether there is a witness.
func (l List) Any() bool { return len(l.all) > 0 }

type witness struct {
	*torchwood.CosignatureVerifier
	url  string
	size int64        // of the log that it cosigned last, as far as is known
	seen atomic.Int64 // when the newest checkpoint was last seen with its cosignature, in Unix seconds
}

// Parse reads a list: on each line the public key of a witness, as C2SP's signed-note writes it, and its URL. What follows a # is
// a comment.
func Parse(text []byte) (l List, err error) {
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		words := append(strings.Fields(line), "", "")
		if words[0] == "" {
			continue
		}
		key, err := torchwood.NewCosignatureVerifier(words[0])
		if err != nil {
			return l, fmt.Errorf("%q is no public key of a witness: %w", words[0], err)
		}
		u, err := url.Parse(words[1])
		if err != nil || u.Host == "" || len(words) > 4 ||
			u.Scheme != "https" && (u.Scheme != "http" || !outbound.Loopback(u.Hostname())) {
			return l, fmt.Errorf("%q must be the key of a witness and its URL, which is https, or http to this machine", strings.TrimSpace(line))
		}
		for _, w := range l.all {
			if w.Name() == key.Name() {
				return l, fmt.Errorf("there are two witnesses of the name %q", w.Name())
			}
		}
		l.all = append(l.all, &witness{CosignatureVerifier: key, url: u.JoinPath("add-checkpoint").String()})
	}
	return l, nil
}

// Witnesses has the witnesses of a list cosign every checkpoint of a log.
type Witnesses struct {
	List
	Store  ports.Evidence
	Keys   evidence.Keys                         // of the log
	Newest func(context.Context) ([]byte, error) // checkpoint, which may be seconds old
	// Report is called when a witness fails, once for the same reason, and with a nil error when it cosigns again.
	Report    func(ctx context.Context, witness string, err error)
	Transport http.RoundTripper // nil: bounded connections
}

// Run asks the witnesses until ctx ends. One process at a time does (service.Task).
func (all Witnesses) Run(ctx context.Context, _ string) (cursor string, pause time.Duration, err error) {
	if all.Transport == nil {
		all.Transport = outbound.NewTransport(timeout / 2)
	}
	var following sync.WaitGroup
	for _, w := range all.all {
		following.Go(func() { all.follow(ctx, w) })
	}
	following.Wait()
	return "", 0, nil
}

// follow asks a witness about every checkpoint until ctx ends.
func (all Witnesses) follow(ctx context.Context, w *witness) {
	reported := ""
	for pause := lookEvery; outbound.Pause(ctx, pause); {
		signed, err := all.Newest(ctx)
		c, unsigned := all.Keys.Open(signed)
		if err != nil || unsigned != nil {
			continue // the store, or the sealer, which report it
		}
		failure := ""
		if err = all.ask(ctx, w, signed, c); err != nil {
			failure, pause = err.Error(), min(2*pause, longestPause)
		} else {
			pause = lookEvery
		}
		if failure != reported && ctx.Err() == nil {
			all.Report(ctx, w.Name(), err)
			reported = failure
		}
	}
}

// ask has a witness cosign the newest checkpoint, unless it has, and adds its cosignature to that in the store.
func (all Witnesses) ask(ctx context.Context, w *witness, signed []byte, c evidence.Checkpoint) error {
	if w.hasCosigned(signed) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if w.size > c.Size {
		w.size = 0 // the witness says what it has
	}
	lines, err := all.submit(ctx, w, signed, c)
	if stale, ok := errors.AsType[staleError](err); ok {
		if w.size = int64(stale); w.size > c.Size {
			return fmt.Errorf("it has cosigned a log of %d entries, and this one has %d: the store was restored or changed", stale, c.Size)
		}
		lines, err = all.submit(ctx, w, signed, c)
	}
	if err != nil {
		return err
	}
	if _, err := evidence.AddCosignature(signed, lines, w); err != nil {
		return err
	}
	w.size = c.Size
	err = all.Store.SealEvidence(ctx, 0, func(head evidence.Head, _ []evidence.Entry) (s evidence.Sealing, err error) {
		head.Checkpoint, err = evidence.AddCosignature(head.Checkpoint, lines, w)
		return evidence.Sealing{Head: head}, err
	})
	if errors.Is(err, evidence.ErrCosignature) || errors.Is(err, ports.ErrBusy) { // there is a newer one, or will be
		return nil
	}
	return err
}

// staleError is the size that a witness names in the place of the size that it was told.
type staleError int64

func (e staleError) Error() string { return fmt.Sprintf("it names the size %d each time", int64(e)) }

// refusals says what an answer means.
var refusals = map[int]string{
	http.StatusForbidden: ": it does not know the key of this log", http.StatusNotFound: ": it does not know this log",
	http.StatusUnprocessableEntity: ": the log does not go on from what it cosigned, so the store was restored or changed"}

// submit returns the signature lines of a witness's answer.
func (all Witnesses) submit(ctx context.Context, w *witness, signed []byte, c evidence.Checkpoint) ([]byte, error) {
	nodes := func(positions []int64) ([][]evidence.Hash, error) { return all.Store.EvidenceNodes(ctx, positions) }
	s, err := evidence.Submit(signed, c, w.size, nodes)
	if err != nil {
		return nil, fmt.Errorf("prove that the log goes on from %d entries: %w", w.size, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(s.Text()))
	if err != nil {
		return nil, err
	}
	resp, err := all.Transport.RoundTrip(req) // which follows no redirect
	if err != nil {
		return nil, outbound.Cause(ctx, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	size, notSize := strconv.ParseUint(strings.TrimSuffix(string(answer), "\n"), 10, 63)
	switch {
	case err != nil:
		return nil, outbound.Cause(ctx, err)
	case resp.StatusCode == http.StatusConflict && notSize == nil:
		return nil, staleError(size)
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answered %d%s", resp.StatusCode, refusals[resp.StatusCode])
	}
	return answer, nil
}

// hasCosigned reports whether the witness has cosigned the newest checkpoint, and notes that it was seen.
func (w *witness) hasCosigned(newest []byte) bool {
	cosigned := evidence.Cosigned(newest, w)
	if cosigned {
		w.seen.Store(time.Now().Unix())
	}
	return cosigned
}

// EachSeen calls visit with the name of each witness, and a function that returns when the newest checkpoint was last seen with
// its cosignature, in Unix seconds; 0 before.
func (all Witnesses) EachSeen(visit func(witness string, seen func() float64)) {
	for _, w := range all.all {
		visit(w.Name(), func() float64 {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if newest, err := all.Newest(ctx); err == nil {
				w.hasCosigned(newest)
			}
			return float64(w.seen.Load())
		})
	}
}
