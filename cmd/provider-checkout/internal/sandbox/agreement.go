package sandbox

import (
	"bytes"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// DocumentText returns the text of an agreement's PDF without white space. The stored PDF must have the bytes that the
// agreement on record renders to; the tests of package pdf hold that such a PDF shows the agreement's whole text.
func DocumentText(t testing.TB, store ports.Store, number string) string {
	t.Helper()
	of, err := store.FindCheckout(t.Context(), checkout.Reference{AgreementNumber: number})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := store.Document(t.Context(), of.ID)
	if err != nil {
		t.Fatal(err)
	}
	a, err := store.Agreement(t.Context(), of.ID)
	if err != nil {
		t.Fatal(err)
	}
	printer, err := printer()
	if err != nil {
		t.Fatal(err)
	}
	if rendered, err := printer.Print(t.Context(), a); err != nil || !bytes.Equal(rendered, doc.Bytes) {
		t.Fatalf("the PDF of %s, %d bytes, is not that of the agreement on record, %d bytes, %v", number, len(doc.Bytes), len(rendered), err)
	}
	zone, err := service.NewZealand()
	if err != nil {
		t.Fatal(err)
	}
	sections, err := a.Text(zone)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, s := range sections {
		text.WriteString(s.Heading() + strings.Join(s.Paragraphs, ""))
		for i, row := range s.Rows {
			text.WriteString(s.Label(i) + row.Value)
		}
		for _, cells := range append(s.Table.Rows, s.Table.Foot) {
			text.WriteString(strings.Join(cells, ""))
		}
	}
	return WithoutSpace(text.String())
}

// WithoutSpace removes all white space from a text.
func WithoutSpace(text string) string { return strings.Join(strings.Fields(text), "") }
