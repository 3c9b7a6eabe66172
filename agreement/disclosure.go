package agreement

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/money"
)

// Disclosure is the content of the page that asks for a payer's consent: the plan, the operator's terms and the direct debit terms. It
// has no personal data, for its hash is kept where nothing is erased. From the agreement and its checkout it can be made again.
type Disclosure struct {
	DebitTerms DebitTerms
	Terms      Terms
	Course     string // its name
	Pricing    money.Pricing
	Payments   []money.Payment // of an enrolment that is confirmed on the day of the page
}

// Text returns the one text of a disclosure, the same bytes for the same disclosure: each label on a line with a colon, and below it
// its value, a line each after two spaces.
func (d Disclosure) Text() string {
	var b strings.Builder
	for _, r := range d.rows() {
		b.WriteString(r.Label + ":\n  " + strings.ReplaceAll(r.Value, "\n", "\n  ") + "\n")
	}
	return b.String()
}

func (d Disclosure) rows() []Row {
	rows := []Row{
		{"Education provider", d.DebitTerms.Provider},
		{"Course", d.Course},
		{"Total to pay", d.Pricing.Price.Dollars() + ", with no interest"},
	}
	for _, p := range d.Payments {
		value := p.Type.Label() + " of " + p.Amount.Dollars() + " on " + p.Taken.Long()
		if moved := p.Moved(); moved != "" {
			value += "\n" + moved
		}
		rows = append(rows, Row{fmt.Sprintf("Payment %d", p.Sequence), value})
	}
	if lender := d.Terms.Lender; lender != (Lender{}) {
		rows = append(rows, Row{"Lender", strings.Join([]string{lender.Name, lender.Address, lender.Registration, lender.Email}, "\n")})
	}
	rows = append(rows, d.Terms.Rights()...)
	for _, b := range d.Terms.Blocks {
		rows = append(rows, Row{b.Title, b.Text})
	}
	return append(rows, d.DebitTerms.Rows()...)
}

// SHA256 returns the SHA-256 of the text, in hexadecimal.
func (d Disclosure) SHA256() string {
	sum := sha256.Sum256([]byte(d.Text()))
	return hex.EncodeToString(sum[:])
}

// Name returns the name under which a page records the text that it has shown: that of the direct debit terms, and the SHA-256 of the whole text.
func (d Disclosure) Name() string { return d.DebitTerms.Name() + "/" + d.SHA256() }

// Disclosed is the evidence of the Disclosure that a payer was shown before the consent. The zero Disclosed means that it is not known.
type Disclosed struct {
	SHA256 string // of Disclosure.Text, in hexadecimal
	Page   string // the path of the page that showed it, without its token; "" if it is not known
}
