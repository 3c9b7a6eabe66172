package pdf_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
	"golang.org/x/text/unicode/norm"
)

// poppler runs one of poppler's programs on a document, and returns what it prints.
func poppler(t *testing.T, program string, document []byte, options ...string) string {
	t.Helper()
	found, err := exec.LookPath(program)
	if err != nil {
		testlevel.Missing(t, err)
	}
	path := filepath.Join(t.TempDir(), "agreement.pdf")
	if err := os.WriteFile(path, document, 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), found, append(options, path)...)
	if program == "pdftotext" {
		command.Args = append(command.Args, "-")
	}
	var said strings.Builder
	command.Stderr = &said
	out, err := command.Output()
	if err != nil || said.Len() > 0 {
		t.Fatalf("%s: %v: %s", program, err, said.String())
	}
	return string(out)
}

// Other PDF readers find the same words in the same order.
func TestOtherReadersReadWhatIsRendered(t *testing.T) {
	for _, n := range []int{4, 52, 260} {
		rendered := printed(t, sample.Agreement(n))
		out := poppler(t, "pdftotext", rendered, "-raw")
		var own strings.Builder
		for _, page := range read(t, rendered).pages {
			own.WriteString(strings.Join(page, "\n") + "\n")
		}
		if got, want := squeeze(out), squeeze(own.String()); got != want {
			t.Errorf("pdftotext reads\n%s\nwant\n%s", got, want)
		}
	}
}

func TestOtherReadersSeeThatDocumentsAreTagged(t *testing.T) {
	out := poppler(t, "pdfinfo", printed(t, sample.Agreement(4)))
	for _, want := range []string{"Tagged: yes", "Metadata Stream: yes", "PDF version: 1.7", "Title: Payment Plan Agreement PPA-2027-000042",
		"Author: Kōwhai Institute", "Producer: Provider Checkout"} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			t.Errorf("pdfinfo does not say %q:\n%s", want, out)
		}
	}
}

// A reader that goes by the structure finds every word of the agreement once, in its order, and nothing else.
func TestOtherReadersReadEveryWordOnceByTheStructure(t *testing.T) {
	a := inAllScripts(t) // with everything else too, because pdfinfo takes its time
	var got strings.Builder
	for line := range strings.Lines(poppler(t, "pdfinfo", printed(t, a), "-struct-text")) {
		if quoted := strings.TrimSpace(line); strings.HasPrefix(quoted, `"`) {
			got.WriteString(strings.TrimSuffix(strings.TrimPrefix(quoted, `"`), `"`))
		}
	}
	if got, want := squeeze(invisible.Replace(got.String())), wordsWithHeaders(t, a); got != want {
		t.Errorf("the structure reads\n%s\nwant\n%s", got, want)
	}
}

// Names are found again by readers that go by the place of letters on the page.
func TestOtherReadersFindNames(t *testing.T) {
	plain := squeeze(norm.NFC.String(invisible.Replace(poppler(t, "pdftotext", printed(t, inAllScripts(t)), "-layout"))))
	for _, p := range people(t) {
		if want := squeeze(norm.NFC.String(invisible.Replace(p.Name))); strings.Count(plain, want) < 2 {
			t.Errorf("%s: %q is not found twice in\n%s", p.Script, p.Name, plain)
		}
	}
}

// veraPDF, on a machine that has it, takes the documents for what they say they are.
func TestOtherReadersFindTheStandardsKept(t *testing.T) {
	found, err := exec.LookPath("verapdf")
	if err != nil {
		t.Skip("there is no verapdf on this machine")
	}
	path := filepath.Join(t.TempDir(), "agreement.pdf")
	if err := os.WriteFile(path, printed(t, inAllScripts(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flavour := range []string{"3a", "ua1"} {
		out, err := exec.CommandContext(t.Context(), found, "--format", "text", "--flavour", flavour, path).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "PASS") {
			t.Errorf("verapdf --flavour %s: %v\n%s", flavour, err, out)
		}
	}
}
