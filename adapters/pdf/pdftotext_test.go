package pdf_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Other PDF readers find the same words in the same order.
func TestOtherReadersReadWhatIsRendered(t *testing.T) {
	reader, err := exec.LookPath("pdftotext")
	if err != nil {
		t.Skip("there is no pdftotext (poppler-utils) on this machine")
	}
	for _, n := range []int{4, 52, 260} {
		rendered := printed(t, plan(n))
		path := filepath.Join(t.TempDir(), "agreement.pdf")
		if err := os.WriteFile(path, rendered, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), reader, "-raw", path, "-").Output()
		if err != nil {
			t.Fatal(err)
		}
		var own strings.Builder
		for _, page := range read(t, rendered).pages {
			own.WriteString(strings.Join(page, "\n") + "\n")
		}
		if got, want := squeeze(string(out)), squeeze(own.String()); got != want {
			t.Errorf("pdftotext reads\n%s\nwant\n%s", got, want)
		}
	}
}
