package gocardlesstest

import (
	_ "embed"
	"net/http"
	"time"

	"github.com/provider-checkout/provider-checkout/money/text"
)

func getMandate(s *state, c *call) (answer, *apiError) {
	m, ok := s.mandates[c.id]
	if !ok {
		return answer{}, notFound()
	}
	return answer{id: m.id, body: m.toWire()}, nil
}

func cancelMandate(s *state, c *call) (answer, *apiError) {
	m, ok := s.mandates[c.id]
	if !ok {
		return answer{}, notFound()
	}
	f := c.form()
	f.metadata()
	if err := f.err(); err != nil {
		return answer{}, err
	}
	if m.dead() {
		return answer{}, wrongState("mandate_not_cancelled", "The mandate is "+m.status+" and cannot be cancelled")
	}
	s.move(c.now, m, move{action: "cancelled"})
	return answer{id: m.id, body: m.toWire()}, nil
}

func listCreditors(s *state, c *call) (answer, *apiError) {
	all := []object{}
	for _, creditor := range s.creditors {
		all = append(all, creditor.toWire(s.opened))
	}
	return answer{body: all, meta: metaOf("", "", defaultLimit)}, nil
}

// pdfLife is the time for which the address of a mandate's PDF can be used.
const pdfLife = 10 * time.Minute

func createMandatePDF(s *state, c *call) (answer, *apiError) {
	f := c.form()
	links, _ := f.object("links")
	id := links.required("mandate", text.Max)
	links.close()
	if err := f.err(); err != nil {
		return answer{}, err
	}
	if _, ok := s.mandates[id]; !ok {
		return answer{}, notFound()
	}
	name, expires := s.newID("PDF"), c.now.Add(pdfLife)
	s.pdfs[name] = expires
	return answer{id: id, body: object{"url": c.base + pdfPath + name, "expires_at": stamp(expires)}}, nil
}

// document is the same for all mandates.
//
//go:embed mandate.pdf
var document []byte

// servePDF serves the document behind the address of a mandate's PDF, while it can be used.
func (s *Simulator) servePDF(w http.ResponseWriter, r *http.Request) {
	known := false
	s.do(func(state *state, now time.Time) { known = now.Before(state.pdfs[r.PathValue("name")]) })
	if !known {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/pdf")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(document) // a client that went away is no fault
}
