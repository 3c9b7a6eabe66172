package full_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// A payer of the demonstration saves the agreement and its proof, and checks both: on the server's page, and offline on that page as a
// file.
func TestBrowserThePayerChecksTheProof(t *testing.T) {
	axe := axeSource(t)
	b := startBrowser(t)
	website := openFirst(t, startDemo(t))
	payer := newTab(t, b, desktop, true)
	folder := t.TempDir()
	payer.savesTo(folder)
	number := payer.enrols(website, func(string) {})
	payer.click("#agreement-link")
	payer.shows(sandbox.ConfirmedTitle)
	address := evaluate[string](payer, "location.href")
	const proofLink = `a[href*="agreement.proof.json"]`
	for payer.text(proofLink) == "" { // it is sealed within seconds
		if got := payer.text("main"); !strings.Contains(got, "The proof of your agreement") {
			t.Fatalf("the payer's page says nothing of the proof:\n%s", got)
		}
		payer.open(address)
	}
	payer.accessible(axe)
	pdf := payer.saves(`a[href*="agreement.pdf"]`, number+".pdf")
	proof := payer.saves(proofLink, "agreement-"+number+".proof.json")
	payer.click(`a[href*="dd-setup/agreement?"]`)
	receipt := evaluate[string](payer, `[...document.querySelectorAll("p")].map(p => p.innerText).find(text => text.startsWith("provider-checkout-receipt-v1"))`)
	origin := evaluate[string](payer, "location.origin")
	payer.open(origin + "/verify")
	kept := payer.saves("#keep a", "check-agreement.html")
	payer.isContent()

	damagedPDF := damagedAt(t, pdf, "%PDF-")
	damagedProof := damagedAt(t, proof, "course_price_cents")
	damagedKey := damagedAt(t, proof, "\\ntime 20")
	for _, on := range []screen{smallPhone, darkPhone, largeText, darkDesktop} {
		for _, at := range []string{origin + "/verify", "file://" + kept} {
			t.Run(on.name+", "+at[:4], func(t *testing.T) {
				p := newTab(t, b, on, true)
				p.must("open the page", chromedp.Do(p.ctx, chromedp.Navigate(at)))
				p.shows("Check an agreement")
				p.accessible(axe)
				p.picture("verify")
				if p.visible("#keep") == strings.HasPrefix(at, "file:") || p.visible("#unable") {
					t.Error("the page offers itself as a file, or says that it cannot check")
				}
				p.verifies(proof, pdf, "This is proven", "Yes: The PDF is the document of this agreement, byte for byte.", number, "a test, no money moves", "Whose agreement it is")
				p.accessible(axe)
				p.picture("verify proven")
				p.pastes("#receipt", receipt)
				p.verifies(proof, pdf, "This is proven", "Yes: The receipt of ")
				p.pastes("#receipt", strings.Replace(receipt, "PPA-", "PPB-", 1))
				p.verifies(proof, pdf, "Something does not fit", "No: The receipt was changed after it was signed.")
				p.pastes("#receipt", "")
				p.verifies(proof, damagedPDF, "Something does not fit", "No: The PDF is not the document of this agreement, or it was changed.")
				p.verifies(damagedProof, pdf, "Nothing is proven", "No: The record is not in the log that was signed")
				p.verifies(damagedKey, pdf, "Nothing is proven", "No: The signature of the checkpoint in the proof does not fit")
				p.accessible(axe)
				p.verifies(pdf, proof, "Nothing is proven", "No: This is not the proof of an agreement")
				p.fits(at[:strings.LastIndex(at, "/")])
				if len(p.requests) != 1 {
					t.Errorf("the page asked for %q", p.requests)
				}
				if sent := evaluate[bool](p, `fetch("https://example.nz").then(() => true, () => false)`); sent || len(p.requests) != 1 {
					t.Errorf("a script of the page could send something: %v, %q", sent, p.requests)
				}
			})
		}
	}
}

// A browser that cannot check the signature says so, and proves nothing.
func TestBrowserWithoutEd25519SaysSo(t *testing.T) {
	s := sandbox.New(t, memory.New())
	b := startBrowser(t)
	for _, without := range []string{"crypto.subtle.importKey = () => Promise.reject(new DOMException('x', 'NotSupportedError'))",
		"Object.defineProperty(crypto, 'subtle', { value: undefined })"} {
		p := newTab(t, b, phone, true)
		p.must("spoil the browser", chromedp.Do(p.ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: without})
			return err
		})))
		p.open(s.URL + "/verify")
		if got := await(func() string { return p.text("#unable") }); !strings.Contains(got, "cannot check the signature") {
			t.Errorf("the page says %q", got)
		}
		if got := p.text("#about-key"); !strings.Contains(got, "has no key") {
			t.Errorf("without a key the page says %q", got)
		}
		file := filepath.Join(t.TempDir(), "proof.json")
		if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		p.must("choose", chromedp.Do(p.ctx, chromedp.SetUploadFiles(chromedp.CSS("#proof"), []string{file})))
		p.pastes("#key", "a+00000000+key")
		p.press("#form button")
		if p.focus() != "unable" || p.text("#verdict") != "" {
			t.Errorf("the focus is on %q, the verdict %q", p.focus(), p.text("#verdict"))
		}
		p.fits(s.URL)
	}
}

// savesTo has the browser save downloads in a folder.
func (p *tab) savesTo(folder string) {
	p.t.Helper()
	p.must("allow downloads", chromedp.Do(p.ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
			Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: folder})
		return err
	})))
	p.folder = folder
}

// saves clicks a link to a file, and returns where the browser saved it.
func (p *tab) saves(selector, name string) (path string) {
	p.t.Helper()
	p.press(selector)
	path = filepath.Join(p.folder, name)
	if await(func() string { data, _ := os.ReadFile(path); return string(data) }) == "" {
		p.t.Fatalf("the browser did not save %s", name)
	}
	return path
}

// pastes puts a text of one line into a field, in the place of what is there.
func (p *tab) pastes(selector, text string) {
	p.t.Helper()
	evaluate[bool](p, fmt.Sprintf(`document.querySelector(%q).value = %q, document.querySelector(%[1]q).dispatchEvent(new Event("input", { bubbles: true }))`, selector, text))
}

// damagedAt returns a copy of a file in which the byte after a text is another one.
func damagedAt(t *testing.T, path, text string) string {
	t.Helper()
	data := readFile(t, path)
	i := bytes.Index(data, []byte(text))
	if i < 0 {
		t.Fatalf("%s has no %q", path, text)
	}
	at := i + len(text)
	for ; data[at] < '0' || data[at] > '9'; at++ {
	}
	data[at] ^= 1
	copied := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(copied, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return copied
}

// verifies chooses the files, presses the button with the keyboard, and reads the verdict.
func (p *tab) verifies(proof, pdf, title string, says ...string) {
	p.t.Helper()
	p.must("choose the files", chromedp.Do(p.ctx, chromedp.SetUploadFiles(chromedp.CSS("#proof"), []string{proof}),
		chromedp.SetUploadFiles(chromedp.CSS("#pdf"), []string{pdf})))
	if got := p.text("#verdict"); got != "" {
		p.t.Errorf("%s: a verdict on other files stays: %q", p.screen.name, got)
	}
	p.must("press", chromedp.Do(p.ctx, chromedp.Focus(chromedp.CSS("#key")), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter)))
	if got := await(func() string { return p.text("#verdict h2") }); got != title {
		p.t.Errorf("%s: the verdict is %q, want %q:\n%s", p.screen.name, got, title, p.text("#verdict"))
	}
	if got := p.focus(); got != "verdict" {
		p.t.Errorf("%s: the focus is on %q, want the verdict", p.screen.name, got)
	}
	for _, want := range says {
		if got := p.text("#verdict"); !strings.Contains(got, want) {
			p.t.Errorf("%s: the verdict does not say %q:\n%s", p.screen.name, want, got)
		}
	}
}
