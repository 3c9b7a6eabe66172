package pdf_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/pdf"
	"github.com/provider-checkout/provider-checkout/money"
)

func TestTextReadsWhatIsDrawn(t *testing.T) {
	for _, given := range []string{"Māia", "ʻOkina Łódź ÀÿßÐþ", "Nguyễn Ωμέγα", "王 😀", `(A)\n) Tj {nb}`} {
		for _, n := range []int{1, 52, money.MaxInstalments} {
			t.Run(fmt.Sprintf("%s, %d instalments", given, n), func(t *testing.T) {
				a := plan(n)
				a.Student.FirstName, a.Course.Name = given, given
				drawn := printed(t, a)
				text, err := pdf.Text(drawn)
				if err != nil {
					t.Fatal(err)
				}
				var want strings.Builder
				for _, page := range read(t, drawn).pages {
					want.WriteString(strings.Join(page, "\n") + "\n\f")
				}
				if text != want.String() {
					t.Errorf("the text is\n%s\nwant\n%s", text, want.String())
				}
			})
		}
	}
}

// Other readers find the same words in the same order.
func TestOtherReadersReadWhatIsDrawn(t *testing.T) {
	reader, err := exec.LookPath("pdftotext")
	if err != nil {
		t.Skip("there is no pdftotext (poppler-utils) on this machine")
	}
	for _, n := range []int{4, 52, 260} {
		a := plan(n)
		drawn := printed(t, a)
		path := filepath.Join(t.TempDir(), "agreement.pdf")
		if err := os.WriteFile(path, drawn, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), reader, "-raw", path, "-").Output()
		if err != nil {
			t.Fatal(err)
		}
		own, err := pdf.Text(drawn)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := squeeze(string(out)), squeeze(own); got != want {
			t.Errorf("pdftotext reads\n%s\nwant\n%s", got, want)
		}
	}
}

func TestTextRefusesWhatItCannotRead(t *testing.T) {
	drawn := string(printed(t, plan(1)))
	tests := []struct{ name, data string }{
		{"nothing", ""},
		{"another kind of file", "%PDF-1.7\nnothing of ours"},
		{"a document that breaks off", drawn[:len(drawn)/2]},
		{"pages that cannot be unpacked", strings.Replace(drawn, "stream\nx", "stream\ny", 1)},
		{"a font that is not there", strings.Replace(drawn, "/Font <<\n/F", "/Font <<\n/G", 1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if text, err := pdf.Text([]byte(tt.data)); err == nil {
				t.Errorf("Text read\n%s", text)
			}
		})
	}
}

func FuzzText(f *testing.F) {
	drawn := printed(f, plan(1))
	f.Add(drawn)
	f.Add([]byte("/Font <<\n/F1 1 0 R\n\n1 0 obj\n/Subtype /Type0 endobj"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := pdf.Text(data)
		if err != nil && text != "" {
			t.Errorf("Text gave both %q and %v", text, err)
		}
	})
}
