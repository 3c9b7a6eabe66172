// Package agreementpdf gives an operator the PDFs of agreements: the documents that were stored, and for an agreement
// without a document a copy that is marked as a copy.
package agreementpdf

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/evidencelog"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Source reads the PDFs of a store.
type Source struct {
	Redraw bool // a document that was stored and is lost is rendered again, as a copy

	store   ports.Admin
	zone    *time.Location // New Zealand's
	printer *pdf.Printer   // nil until the first copy
}

// New returns the source of a store's PDFs.
func New(store ports.Admin) (*Source, error) {
	zone, err := service.NewZealand()
	if err != nil {
		return nil, err
	}
	return &Source{store: store, zone: zone}, nil
}

// PDF is the PDF of an agreement.
type PDF struct {
	Bytes []byte
	Copy  string // the reason why it is a copy; "" for the document that was stored
}

// Read returns the PDF of the agreement with this number: the stored document, or a copy if no PDF was rendered at the
// confirm. A document that was stored and is lost, or differs from the evidence log, is refused, unless Redraw says that a
// copy will do. The error is ports.ErrNotFound if there is no such agreement.
func (s *Source) Read(ctx context.Context, number string) (PDF, error) {
	a, stored, err := evidencelog.ReadDocument(ctx, s.store, number)
	if err != nil {
		return PDF{}, err
	}
	if a.Student == (agreement.Student{}) { // a copy would lack what was erased
		return PDF{}, fmt.Errorf("the personal data of agreement %s was erased, as \"show\" says, and its PDF with it; a file that "+
			"somebody has kept is the one that was agreed if it has the SHA-256 on record", number)
	}
	entry, _, err := s.store.EvidenceEntry(ctx, evidence.AgreementID(number))
	if err != nil && !errors.Is(err, ports.ErrNotFound) {
		return PDF{}, fmt.Errorf("read its evidence: %w", err)
	}
	var loss string
	switch logged := evidence.DocumentHash(entry.Leaf); {
	case err != nil:
		loss = "the evidence log has no record of it"
	case stored == nil && logged == "":
		return s.copyOf(ctx, a, false, "no PDF was rendered at the confirm")
	case stored == nil:
		loss = fmt.Sprintf("its PDF, whose SHA-256 in the evidence log is %s, is not on record", logged)
	case sha256.Sum256(stored.Bytes) != stored.SHA256:
		loss = fmt.Sprintf("the PDF on record does not have the SHA-256 on record, %x", stored.SHA256)
	case logged != hex.EncodeToString(stored.SHA256[:]):
		loss = fmt.Sprintf("the PDF on record is not the one in the evidence log, whose SHA-256 is %s", logged)
	default:
		return PDF{Bytes: stored.Bytes}, nil
	}
	if s.Redraw {
		return s.copyOf(ctx, a, true, loss)
	}
	return PDF{}, errors.New(loss + "; --redraw renders it again, marked as a copy")
}

func (s *Source) copyOf(ctx context.Context, a agreement.Agreement, lost bool, why string) (PDF, error) {
	if s.printer == nil {
		var err error
		if s.printer, err = pdf.New(1); err != nil {
			return PDF{}, err
		}
	}
	data, err := s.printer.PrintCopy(ctx, a, agreement.Copy{DrawnAt: time.Now(), Lost: lost})
	return PDF{data, why}, err
}

// Since returns the numbers of the agreements that were accepted on a day in New Zealand or later, oldest checkout first,
// and passes each checkout that cannot be read to unreadable.
func (s *Source) Since(ctx context.Context, day money.Date, unreadable func(checkoutID string, err error) error) (numbers []string, err error) {
	err = s.store.Export(ctx, checkout.Visitor{
		Configuration: func(catalogue.Configuration) error { return nil },
		Key:           func(catalogue.Key) error { return nil },
		Unreadable:    unreadable,
		Checkout: func(r checkout.CheckoutRecord) error {
			if a := r.Agreement; a != nil && !money.DateOf(a.AcceptedAt.In(s.zone)).Before(day) {
				numbers = append(numbers, a.Number)
			}
			return nil
		},
	})
	return numbers, err
}
