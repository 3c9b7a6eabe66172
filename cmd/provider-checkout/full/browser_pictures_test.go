package full_test

import (
	"bufio"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// pictured is the phone of the README's picture of the setup page.
var pictured = screen{name: "picture", width: 390, height: 1025, scale: 1, phone: true, scheme: "light"}

var pictures = flag.Bool("pictures", false, "take the README's pictures again")

// TestBrowserPictures takes the README's pictures of the running program again: of the setup page, and with pdftoppm of the
// agreement's first page.
func TestBrowserPictures(t *testing.T) {
	if !*pictures {
		t.Skip("the README's pictures are taken again with -pictures")
	}
	browser := startBrowser(t)
	program := built(t)
	cmd := program.Command("demo", "--addr", "127.0.0.1:0")
	cmd.Env = []string{"TMPDIR=" + t.TempDir()}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	proc.Start(t, cmd)
	guide := proc.ReadUntil(bufio.NewScanner(out), "# The events")
	website := openFirst(t, guide)

	p := newTab(t, browser, pictured, true)
	p.open(website)
	p.click(onward)
	p.shows(sandbox.OpenTitle)
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	p.must("take a picture", err)
	writePicture(t, "../docs/pictures/setup-page.png", png)

	number := p.enrols(website, func(string) {})
	store := regexp.MustCompile(`--store (sqlite:\S+)`).FindStringSubmatch(guide)
	if store == nil {
		t.Fatalf("the guide names no store:\n%s", guide)
	}
	document := filepath.Join(t.TempDir(), "agreement.pdf")
	program.Run(t, "agreements", "pdf", number, "--store", store[1], "--out", document)
	page, err := exec.Command("pdftoppm", "-png", "-r", "72", "-f", "1", "-l", "1", document).Output()
	if err != nil {
		t.Fatalf("pdftoppm: %v", err)
	}
	writePicture(t, "../docs/pictures/agreement.png", page)
}

func writePicture(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}
