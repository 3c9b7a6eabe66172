package pdf_test

import (
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement"
)

// Wherever a page ends, the note of missing glyphs names the text that lacks them.
func TestPrintNamesTheTextThatItCannotDraw(t *testing.T) {
	for n := 1; n <= 60; n++ {
		a := plan(n)
		a.Provider.Name = "王 Institute"
		a.Terms.Blocks = []agreement.Block{{Title: "王 rights", Text: "None."}, {Title: "Hardship", Text: "Ask."}}
		text := squeeze(read(t, printed(t, a)).text())
		for _, wrong := range []string{"email:U+738B", "Firstpayment:U+738B", "Hardship:U+738B", "Amount:U+738B"} {
			if strings.Contains(text, wrong) {
				t.Fatalf("a plan of %d: the note says %q:\n%s", n, wrong, text)
			}
		}
		if !strings.Contains(text, "Educationprovider:U+738B") {
			t.Fatalf("a plan of %d: no note names the provider:\n%s", n, text)
		}
	}
}
