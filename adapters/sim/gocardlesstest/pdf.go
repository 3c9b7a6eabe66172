package gocardlesstest

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// servePDF serves the document behind the address of a mandate's PDF, while it can be used.
func (s *Simulator) servePDF(w http.ResponseWriter, r *http.Request) {
	var lines []string
	s.do(func(state *state, now time.Time) {
		made, ok := state.pdfs[strings.TrimPrefix(r.URL.Path, pdfPath)]
		if !ok || !now.Before(made.expires) {
			return
		}
		m := state.mandates[made.mandate]
		b := state.requests[m.request]
		lines = []string{"Direct Debit authority (simulator)", "Reference " + m.reference, "Account holder " + m.submission,
			"Account ending " + b.account.ending(), "Date " + m.created.Format("2 January 2006")}
	})
	if lines == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/pdf")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(printPDF(lines)) // a client that went away is no fault
}

// printPDF returns a PDF of one page with the lines, which are ASCII.
func printPDF(lines []string) []byte {
	escape := strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`)
	var content strings.Builder
	content.WriteString("BT /F1 14 Tf 60 760 Td 22 TL\n")
	for _, line := range lines {
		fmt.Fprintf(&content, "(%s) Tj T*\n", escape.Replace(line))
	}
	content.WriteString("ET")
	objects := []string{"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
		fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", content.Len(), content.String()),
		"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"}
	var b strings.Builder
	var at []int
	b.WriteString("%PDF-1.4\n")
	for i, object := range objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, object)
	}
	table := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, offset := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, table)
	return []byte(b.String())
}
