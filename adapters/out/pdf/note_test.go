package pdf_test

import (
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// Wherever a page ends, what stands for a character is explained once, where it first stands.
func TestPrintExplainsOnceWhatItCannotShow(t *testing.T) {
	for n := 1; n <= 60; n += 7 {
		a := sample.Agreement(n)
		a.Provider.Name = "🎉 Institute"
		a.Terms.Blocks = []agreement.Block{{Title: "🎉 rights", Text: "None."}, {Title: "Hardship", Text: "Ask."}}
		text := squeeze(read(t, printed(t, a)).text())
		note := squeeze("What stands as [U+…] in this document is a character that it cannot show, by its Unicode number.")
		before, _, found := strings.Cut(text, note)
		if !found || strings.Count(text, note) != 1 || !strings.HasSuffix(before, "NZDT") {
			t.Fatalf("a plan of %d: the opening does not end with the one note:\n%s", n, text)
		}
	}
}
