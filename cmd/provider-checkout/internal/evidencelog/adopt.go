package evidencelog

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Adopter records the agreements that a version without an evidence log concluded.
type Adopter struct {
	Store   ports.Admin
	Keyring checkout.Keyring
	Now     func() time.Time
	Rand    io.Reader
}

// Adopt records every agreement that the log does not have, and returns their numbers. Their records say when that was
// done.
func (a Adopter) Adopt(ctx context.Context) (adopted []string, err error) {
	numbers, err := a.numbers(ctx)
	if err != nil {
		return nil, err
	}
	for _, number := range numbers {
		switch _, _, err := a.Store.EvidenceEntry(ctx, evidence.AgreementID(number)); {
		case err == nil:
			continue
		case !errors.Is(err, ports.ErrNotFound):
			return adopted, err
		}
		if err := a.adopt(ctx, number); err != nil {
			return adopted, fmt.Errorf("adopt agreement %s: %w", number, err)
		}
		adopted = append(adopted, number)
	}
	return adopted, nil
}

// numbers returns the numbers of all agreements, oldest checkout first.
func (a Adopter) numbers(ctx context.Context) (numbers []string, err error) {
	err = a.Store.Export(ctx, ports.Visitor{
		Configuration: func(catalogue.Configuration) error { return nil },
		Key:           func(catalogue.Key) error { return nil },
		Unreadable:    func(id string, err error) error { return fmt.Errorf("checkout %s cannot be read: %w", id, err) },
		Checkout: func(r ports.CheckoutRecord) error {
			if r.Agreement != nil && !r.Checkout.Erased() {
				numbers = append(numbers, r.Agreement.Number)
			}
			return nil
		},
	})
	return numbers, err
}

func (a Adopter) adopt(ctx context.Context, number string) error {
	r, err := Read(ctx, a.Store, number)
	if err != nil {
		return err
	}
	if r.Document != nil && sha256.Sum256(r.Document.Bytes) != r.Document.SHA256 {
		return errors.New("its PDF does not have the SHA-256 on record")
	}
	c := r.conclusion()
	c.At = a.Now().UTC().Truncate(time.Millisecond)
	if _, err := io.ReadFull(a.Rand, c.Salt[:]); err != nil {
		return err
	}
	return a.Store.RecordEvidence(ctx, a.Keyring.Attest(evidence.OfAgreement(r.Agreement, c)))
}
