// Package pdf draws agreements as PDF: A4 pages, in a font that has the macrons and the
// ʻokina, every page bearing the agreement's number and its own.
package pdf

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"codeberg.org/go-fonts/dejavu/dejavusans"
	"codeberg.org/go-fonts/dejavu/dejavusansbold"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Printer draws agreements; a bounded number at once.
type Printer struct {
	regular, bold *face
	zone          *time.Location
	slots         chan struct{} // one taken by each drawing, for each holds its own copy of the fonts
}

var _ ports.Printer = (*Printer)(nil)

// New returns a printer that renders at most parallel agreements at once. Times are New Zealand's.
func New(parallel int) (*Printer, error) {
	if parallel < 1 {
		return nil, fmt.Errorf("pdf: parallel must be at least 1, not %d", parallel)
	}
	zone, err := service.NewZealand()
	if err != nil {
		return nil, fmt.Errorf("pdf: %w", err)
	}
	regular, err := newFace("", dejavusans.TTF, codes())
	if err != nil {
		return nil, err
	}
	ascii := codes() // what is bold is of our own words, and no name
	maps.DeleteFunc(ascii, func(r rune, _ byte) bool { return r > '~' })
	bold, err := newFace("B", dejavusansbold.TTF, ascii)
	if err != nil {
		return nil, err
	}
	return &Printer{regular: regular, bold: bold, zone: zone, slots: make(chan struct{}, parallel)}, nil
}

// Print implements ports.Printer. It waits for its turn until ctx ends. A character that the
// font cannot draw is shown as U+FFFD, and a note below says which it was. It returns an
// error if the agreement's wording is another than agreement.Version or if it was never
// accepted.
func (p *Printer) Print(ctx context.Context, a agreement.Agreement) ([]byte, error) {
	if err := p.enter(ctx); err != nil {
		return nil, fmt.Errorf("print agreement %s: %w", a.Number, err)
	}
	defer p.leave()
	pdf, err := p.draw(a)
	if err != nil {
		return nil, fmt.Errorf("print agreement %s: %w", a.Number, err)
	}
	return pdf, nil
}

// Shows returns a text as it stands in what the printer draws: a character that cannot be drawn is U+FFFD.
func (p *Printer) Shows(text string) string { return p.regular.clean(text, func(rune) {}) }

func (p *Printer) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case p.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for a turn: %w: %w", ports.ErrBusy, ctx.Err())
	}
}

func (p *Printer) leave() { <-p.slots }

// draw draws a. The library panics on some texts; none of them should reach it, and if one
// does the agreement stays undrawn and the process alive.
func (p *Printer) draw(a agreement.Agreement) (pdf []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			pdf, err = nil, fmt.Errorf("drawing panicked: %v", r)
		}
	}()
	if a.AcceptedAt.IsZero() {
		return nil, errors.New("it has no time of acceptance") // the library would date it now
	}
	sections, err := a.Text(p.zone)
	if err != nil {
		return nil, err
	}
	s := newSheet(p.regular, p.bold, a.AcceptedAt, a.Provider.Colour)
	s.name(a.Title())
	for i, section := range sections {
		s.section(section, i == 0)
	}
	s.footers(a.Foot())
	return s.bytes()
}
