package gocardlesstest

import (
	"net/http"
	"time"

	"github.com/provider-checkout/provider-checkout/money/text"
)

func getMandate(s *state, c *call) (answer, *apiError) {
	m, ok := s.mandates[c.id]
	if !ok {
		return answer{}, notFound()
	}
	return answer{http.StatusOK, resourceMandates, m.toWire(), m.id}, nil
}

func cancelMandate(s *state, c *call) (answer, *apiError) {
	return s.actOnMandate(c, "cancelled", func(m *mandate) bool { return !m.dead() })
}

func reinstateMandate(s *state, c *call) (answer, *apiError) {
	return s.actOnMandate(c, "reinstated", func(m *mandate) bool {
		return m.status == mandateCancelled || m.status == mandateFailed || m.status == mandateExpired
	})
}

// actOnMandate moves a mandate by an action of the API, if it can.
func (s *state) actOnMandate(c *call, action string, can func(*mandate) bool) (answer, *apiError) {
	m, ok := s.mandates[c.id]
	if !ok {
		return answer{}, notFound()
	}
	f := c.form()
	metadata := f.metadata()
	f.closed()
	if err := f.err(); err != nil {
		return answer{}, err
	}
	if !can(m) {
		return answer{}, wrongState("mandate_not_"+action, "The mandate is "+m.status+" and cannot be "+action)
	}
	s.move(c.now, m, move{action: action, origin: byAPI, metadata: metadata})
	return answer{http.StatusOK, resourceMandates, m.toWire(), m.id}, nil
}

func listCreditors(s *state, c *call) (answer, *apiError) {
	q, err := readPage(c.query)
	if err != nil {
		return answer{}, err
	}
	wires := []creditorWire{}
	page, meta, err := paginate(s.creditors, func(c Creditor) string { return c.ID }, q)
	for _, c := range page {
		wires = append(wires, c.toWire(s.opened))
	}
	return answer{http.StatusOK, "creditors", list{wires, meta}, ""}, err
}

func getCreditor(s *state, c *call) (answer, *apiError) {
	found, ok := s.creditor(c.id)
	if !ok {
		return answer{}, notFound()
	}
	return answer{http.StatusOK, "creditors", found.toWire(s.opened), found.ID}, nil
}

// pdfLife is the time for which the address of a mandate's PDF can be used.
const pdfLife = 10 * time.Minute

// pdf is a document that was made of a mandate.
type pdf struct {
	mandate string
	expires time.Time
}

func createMandatePDF(s *state, c *call) (answer, *apiError) {
	f := c.form()
	links, _ := f.object("links")
	id := links.text("mandate", text.Max)
	links.skip("creditor")
	links.closed()
	f.skip("scheme", "account_holder_name", "account_number", "account_type", "address_line1", "address_line2", "address_line3",
		"bank_code", "bic", "branch_code", "city", "country_code", "iban", "mandate_reference", "phone_number", "postal_code",
		"region", "signature_date", "subscription_amount", "subscription_frequency", "danish_identity_number", "swedish_identity_number",
		"payer_ip_address")
	f.closed()
	if id == "" && len(*f.faults) == 0 {
		links.fault("mandate", "is required by this simulator, which prints mandates that exist")
	}
	if err := f.err(); err != nil {
		return answer{}, err
	}
	if _, ok := s.mandates[id]; !ok {
		return answer{}, notFound()
	}
	name := s.newID("PDF")
	made := pdf{id, c.now.Add(pdfLife)}
	s.pdfs[name] = made
	return answer{http.StatusCreated, "mandate_pdfs", mandatePDFWire{c.base + pdfPath + name, stamp(made.expires)}, id}, nil
}
