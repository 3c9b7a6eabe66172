package hostedpages

import (
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
)

// document serves the PDF of the payer's agreement. Without a rendered document it leads to the agreement's page.
func (p *pages) document(w http.ResponseWriter, r *http.Request, c content, a agreement.Agreement) {
	document, err := p.service.Document(r.Context(), a)
	switch {
	case err != nil:
		p.site.Fail(w, r, err)
	case document == nil:
		p.site.Redirect(w, r, c.AgreementURL)
	default:
		p.site.File(w, a.Number+".pdf", "application/pdf", document.Bytes)
	}
}

// proof serves the proof of the payer's agreement. Before there is a proof it leads to the payer's page, which says so.
func (p *pages) proof(w http.ResponseWriter, r *http.Request, c content, a agreement.Agreement) {
	proof, err := p.service.Proof(r.Context(), a)
	switch {
	case err != nil:
		p.site.Fail(w, r, err)
	case proof == nil:
		p.site.Redirect(w, r, c.SetupURL)
	default:
		p.site.File(w, "agreement-"+a.Number+".proof.json", "application/json", proof.Text())
	}
}

// calendar serves the payments of the agreement as a calendar file.
func (p *pages) calendar(w http.ResponseWriter, r *http.Request, c content, a agreement.Agreement) {
	if c.Checkout.Withdrawn() { // there are no payments
		p.site.Redirect(w, r, c.SetupURL)
		return
	}
	p.site.File(w, a.Number+".ics", "text/calendar; charset=utf-8", []byte(calendarOf(a, c.Payments)))
}

// calendarOf returns a calendar file (RFC 5545) with an event for each payment on its day. The same agreement gives the same
// file, so that a calendar which reads it again has each payment once.
func calendarOf(a agreement.Agreement, payments []money.Payment) string {
	var b strings.Builder
	line := func(text string) { b.WriteString(folded(text) + "\r\n") }
	day := func(d money.Date) string { return strings.ReplaceAll(d.String(), "-", "") }
	line("BEGIN:VCALENDAR")
	line("VERSION:2.0")
	line("PRODID:-//Provider Checkout//Payment plan//EN")
	for _, payment := range payments {
		summary := "Direct debit of " + payment.Amount.Dollars() + " for " + a.Course.Name
		if a.Sandbox {
			summary = "[Sandbox] " + summary
		}
		line("BEGIN:VEVENT")
		line(fmt.Sprintf("UID:%s-%d@provider-checkout", a.Number, payment.Sequence))
		line("DTSTAMP:" + a.AcceptedAt.UTC().Format("20060102T150405Z"))
		line("DTSTART;VALUE=DATE:" + day(payment.Taken))
		line("DTEND;VALUE=DATE:" + day(payment.Taken.AddDays(1)))
		line("SUMMARY:" + escaped(summary))
		line("DESCRIPTION:" + escaped(fmt.Sprintf("Payment %d of %d to %s, agreement %s. Please have enough money in the account.",
			payment.Sequence, len(payments), a.Provider.Name, a.Number)))
		line("TRANSP:TRANSPARENT")
		line("END:VEVENT")
	}
	line("END:VCALENDAR")
	return b.String()
}

// escaped returns a text as the value of a property.
func escaped(text string) string {
	return strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\n", `\n`).Replace(text)
}

// maxOctets is the longest line of a calendar file, without its end.
const maxOctets = 75

// folded returns a line in pieces of at most maxOctets, between characters, each but the first after a space.
func folded(line string) string {
	var b strings.Builder
	for length := 0; line != ""; {
		_, size := utf8.DecodeRuneInString(line)
		if length+size > maxOctets {
			b.WriteString("\r\n ")
			length = 1
		}
		b.WriteString(line[:size])
		line, length = line[size:], length+size
	}
	return b.String()
}
