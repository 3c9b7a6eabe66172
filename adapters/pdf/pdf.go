// Package pdf draws agreements as PDF.
package pdf

import (
	"context"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Printer draws agreements; a bounded number at once.
type Printer struct{}

var _ ports.Printer = (*Printer)(nil)

// New returns a printer that draws at most parallel agreements at once.
func New(parallel int) *Printer { panic("todo") }

// Print implements ports.Printer.
func (p *Printer) Print(ctx context.Context, a agreement.Agreement) ([]byte, error) { panic("todo") }
