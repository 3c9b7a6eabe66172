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
	"log/slog"
	"net/http"
	"net/url"
	"slices"
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
	longestPause = 30 * time.Second // after failures; it is doubled with each
	timeout      = 10 * time.Second // of a submission
	maxAnswer    = 16 << 10
)

// List is a list of witnesses.
type List struct{ all []*witness }

type witness struct {
	*torchwood.CosignatureVerifier
	url  string
	size int64 // of the log that it cosigned last, as far as is known
}

// Parse reads a list: on each line the public key of a witness, as C2SP's signed-note writes it, and its URL. What follows a # is
// a comment.
func Parse(text []byte) (*List, error) {
	var l List
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		key, err := torchwood.NewCosignatureVerifier(words[0])
		if err != nil {
			return nil, fmt.Errorf("%q is no public key of a witness: %w", words[0], err)
		}
		u, err := url.Parse(words[len(words)-1])
		if err != nil || len(words) != 2 || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !outbound.Loopback(u.Hostname())) {
			return nil, fmt.Errorf("the witness %s needs a URL after its key: https, or http to this machine", key.Name())
		}
		if slices.ContainsFunc(l.all, func(w *witness) bool { return w.Name() == key.Name() }) {
			return nil, fmt.Errorf("there are two witnesses of the name %s", key.Name())
		}
		l.all = append(l.all, &witness{CosignatureVerifier: key, url: u.JoinPath("add-checkpoint").String()})
	}
	return &l, nil
}

// Witnesses has the witnesses of a list cosign every checkpoint of a log.
type Witnesses struct {
	*List
	Store     ports.Evidence
	Keys      evidence.Keys                         // of the log
	Newest    func(context.Context) ([]byte, error) // checkpoint, which may be seconds old
	Log       *slog.Logger                          // of a witness that fails, once for the same reason, and cosigns again
	Transport http.RoundTripper                     // nil: bounded connections
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
	failure, cosigned := "", []byte(nil)
	for pause := lookEvery; outbound.Pause(ctx, pause); {
		signed, err := all.Newest(ctx)
		if err == nil && cosigned != nil && bytes.Equal(signed, cosigned) {
			continue // nothing is new
		}
		c, unsigned := all.Keys.Open(signed)
		if err != nil || unsigned != nil {
			continue // the store, or the sealer, which report it
		}
		err = all.ask(ctx, w, signed, c)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if pause = min(2*pause, longestPause); failure != err.Error() {
				failure = err.Error()
				all.Log.ErrorContext(ctx, "a witness does not cosign", "witness", w.Name(), "error", err)
			}
		default:
			if pause = lookEvery; failure != "" {
				failure = ""
				all.Log.InfoContext(ctx, "a witness cosigns again", "witness", w.Name())
			}
			if evidence.Cosigned(signed, w) {
				cosigned = signed
			}
		}
	}
}

// ask has a witness cosign the newest checkpoint, unless it has, and adds its cosignature to that in the store.
func (all Witnesses) ask(ctx context.Context, w *witness, signed []byte, c evidence.Checkpoint) error {
	if evidence.Cosigned(signed, w) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if w.size > c.Size {
		w.size = 0 // the witness says what it has
	}
	status, answer, err := all.submit(ctx, w, signed, c)
	if size, wrong := strconv.ParseUint(strings.TrimSpace(string(answer)), 10, 63); status == http.StatusConflict && wrong == nil {
		if w.size = int64(size); w.size > c.Size {
			return all.reaches(ctx, w.size)
		}
		status, answer, err = all.submit(ctx, w, signed, c)
	}
	switch {
	case err != nil:
		return err
	case status == http.StatusUnprocessableEntity:
		return errors.New("it says that the log does not go on from what it cosigned: the store was restored or changed")
	case status != http.StatusOK: // 403: the key is not known, 404: nor is the log
		return fmt.Errorf("it answered %d", status)
	}
	if _, err := evidence.AddCosignature(signed, answer, w); err != nil {
		return err
	}
	w.size = c.Size
	err = all.Store.SealEvidence(ctx, 0, func(head evidence.Head, _ []evidence.Entry) (s evidence.Sealing, err error) {
		head.Checkpoint, err = evidence.AddCosignature(head.Checkpoint, answer, w)
		return evidence.Sealing{Head: head}, err
	})
	if errors.Is(err, evidence.ErrCosignature) || errors.Is(err, ports.ErrBusy) { // there is a newer one, or will be
		return nil
	}
	return err
}

// reaches returns an error if the log is smaller than the log that a witness has cosigned. A checkpoint that is smaller may just be old:
// another process may have sealed and asked meanwhile.
func (all Witnesses) reaches(ctx context.Context, size int64) error {
	head, err := all.Store.EvidenceHead(ctx)
	if err == nil && head.Size < size {
		return fmt.Errorf("it has cosigned a log of %d entries, and this one has %d: the store was restored or changed", size, head.Size)
	}
	return err
}

// submit returns a witness's answer to the submission of a checkpoint.
func (all Witnesses) submit(ctx context.Context, w *witness, signed []byte, c evidence.Checkpoint) (status int, answer []byte, err error) {
	nodes := func(positions []int64) ([][]evidence.Hash, error) { return all.Store.EvidenceNodes(ctx, positions) }
	s, err := evidence.Submit(signed, c, w.size, nodes)
	if err != nil {
		return 0, nil, fmt.Errorf("prove that the log goes on from %d entries: %w", w.size, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(s.Text()))
	if err != nil {
		return 0, nil, err
	}
	resp, err := all.Transport.RoundTrip(req) // which follows no redirect
	if err != nil {
		return 0, nil, outbound.Cause(ctx, err)
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, answer, err
}

// EachSeen calls visit with the name of each witness, and a function that returns when the newest checkpoint was last seen with
// its cosignature, in Unix seconds; 0 before.
func (all Witnesses) EachSeen(visit func(witness string, seen func() float64)) {
	for _, w := range all.all {
		var seen atomic.Int64
		visit(w.Name(), func() float64 {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			if newest, err := all.Newest(ctx); err == nil && evidence.Cosigned(newest, w) {
				seen.Store(time.Now().Unix())
			}
			return float64(seen.Load())
		})
	}
}
