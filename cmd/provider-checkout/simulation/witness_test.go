package simulation_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"

	"filippo.io/torchwood"

	"github.com/provider-checkout/provider-checkout/adapters/out/witnesses"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// In some worlds the real adapter has a witness cosign the checkpoints, over its protocol. However much goes wrong, and whichever
// process asks, the witness never has a reason to refuse, and is never said to have another log.

// witness is an honest witness, which forgets nothing.
type witness struct {
	*model
	signer *torchwood.CosignatureSigner
	mu     sync.Mutex
	known  evidence.Checkpoint // cosigned last; zero before
	signed []byte
}

// newWitness returns the witness of a world.
func newWitness(m *model) *witness {
	seed := [ed25519.SeedSize]byte{2}
	signer, err := torchwood.NewCosignatureSigner("witness.example", ed25519.NewKeyFromSeed(seed[:]))
	if err != nil {
		panic(err) // of the constants above
	}
	return &witness{model: m, signer: signer}
}

// cosign returns the task of a process that asks the witness.
func (v *witness) cosign(p *process) service.Task {
	list, err := witnesses.Parse(fmt.Appendln(nil, v.signer.Verifier(), "http://localhost:3"))
	if err != nil {
		panic(err) // of the constants above
	}
	all := witnesses.Witnesses{List: list, Store: store{v.store, p}, Keys: v.keys, Transport: wire{p, "witness", v},
		Newest: func(ctx context.Context) ([]byte, error) { return p.Checkpoint(ctx) },
		Log:    slog.New(slog.NewTextHandler(accusation{v.model}, nil))}
	return service.Task{Kind: checkout.JobCosign, Run: all.Run}
}

// accusation is a log that may not say that the log was changed.
type accusation struct{ *model }

func (a accusation) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("restored or changed")) {
		a.lock.Lock()
		defer a.lock.Unlock()
		if a.lost.told = true; a.lost.at.IsZero() {
			a.fault("a process reports of the witness: %s", line)
		}
	}
	return len(line), nil
}

// ServeHTTP cosigns a checkpoint if the log goes on to it from the checkpoint that was cosigned last. It judges that the log always does.
func (v *witness) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	text, err := io.ReadAll(r.Body)
	var s evidence.Submission
	if err == nil {
		s, err = evidence.ParseSubmission(text)
	}
	next, unsigned := v.keys.Open(s.Checkpoint)
	if err = cmp.Or(err, unsigned); err == nil {
		err = s.Check(v.known, next)
	}
	switch {
	case errors.Is(err, evidence.ErrStale):
		v.saw("the witness had cosigned another size")
		w.WriteHeader(http.StatusConflict)
		fmt.Fprintln(w, v.known.Size)
		return
	case err != nil:
		v.lock.Lock()
		defer v.lock.Unlock()
		if w.WriteHeader(http.StatusUnprocessableEntity); v.isLost(v.known) {
			return
		}
		v.fault("the witness refuses %q after %+v: %v", text, v.known, err)
		return
	}
	_, line, err := v.keys.Cosign(s.Checkpoint, v.signer)
	if err != nil {
		panic(err) // of a checkpoint that was opened
	}
	v.saw("a checkpoint was cosigned")
	v.known, v.signed = next, s.Checkpoint
	_, _ = w.Write(line)
}
