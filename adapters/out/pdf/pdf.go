// Package pdf renders agreements as PDF: A4 pages, in a font that has the macrons and the
// ʻokina, with the agreement's number and the page's on every page. The facts of the agreement are attached as JSON (agreement.Facts), and
// the whole is signed.
package pdf

import (
	"context"
	"errors"
	"fmt"
	"time"

	"codeberg.org/go-fonts/dejavu/dejavusansbold"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Printer renders agreements, a bounded number at once. It is safe for concurrent use.
type Printer struct {
	regular, bold *face
	zone          *time.Location
	presses       chan *press // each rendering takes one and puts it back
	signer        *Signer
}

var _ ports.Printer = (*Printer)(nil)

// New returns a printer that renders at most parallel agreements at once, and has them signed. Times are New Zealand's.
func New(parallel int, signer *Signer) (*Printer, error) {
	if parallel < 1 {
		return nil, fmt.Errorf("pdf: parallel must be at least 1, not %d", parallel)
	}
	zone, err := service.NewZealand()
	if err != nil {
		return nil, fmt.Errorf("pdf: %w", err)
	}
	others := newSources()
	regular := &face{newCommon("F1", others[0], commonLetters), others}
	bold := &face{newCommon("F2", newSource(dejavusansbold.TTF), ""), others} // for our own words, and no names
	p := &Printer{regular: regular, bold: bold, zone: zone, presses: make(chan *press, parallel), signer: signer}
	for range parallel {
		p.release(newPress(others))
	}
	return p, nil
}

// Print implements ports.Printer. It waits for its turn until ctx ends. A character that the
// font lacks is shown by its number, such as [U+1F600], with a note of what that is. It returns an
// error if the version of the agreement's wording is not known, or if it was never
// accepted.
func (p *Printer) Print(ctx context.Context, a agreement.Agreement) ([]byte, error) {
	press, err := p.acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("print agreement %s: %w", a.Number, err)
	}
	pdf, err := p.render(a, press)
	p.release(press)
	if err == nil {
		err = p.signer.certify(ctx, pdf)
	}
	if err != nil {
		return nil, fmt.Errorf("print agreement %s: %w", a.Number, err)
	}
	return pdf, nil
}

// SignedBy implements ports.Printer.
func (p *Printer) SignedBy() string {
	if own := p.signer.Certificate(); own != nil {
		return Fingerprint(own)
	}
	return ""
}

func (p *Printer) acquire(ctx context.Context) (*press, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case press := <-p.presses:
		return press, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a turn: %w: %w", ports.ErrBusy, ctx.Err())
	}
}

func (p *Printer) release(press *press) { p.presses <- press }

// render renders a. The shaper panics on some texts. None of them should reach it; if one
// does, that is an error, and the process goes on.
func (p *Printer) render(a agreement.Agreement, press *press) (pdf []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			pdf, err = nil, fmt.Errorf("rendering panicked: %v", r)
		}
	}()
	if a.AcceptedAt.IsZero() {
		return nil, errors.New("it has no time of acceptance") // by which it is dated
	}
	sections, err := a.Text(p.zone)
	if err != nil {
		return nil, err
	}
	c := newCanvas(p.regular, p.bold, press.shaper, a)
	for i, section := range sections {
		c.drawSection(section, i == 0)
	}
	c.drawFooters(a.Foot())
	return press.document(c, a, a.Facts(), p.signer.room()), nil
}
