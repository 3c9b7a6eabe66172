package full_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/provider-checkout/provider-checkout/adapters/kit/nodetest"
)

// The tests named TestBrowser… use the pages as a payer does, in a real browser: Debian's Chromium. axe-core, from npm, checks
// the accessibility of every page. With -artifacts the tests keep screenshots of every page.

// screen describes a display on which pages are shown.
type screen struct {
	name          string
	width, height int64 // in CSS pixels
	scale         float64
	phone         bool
	scheme        string // light or dark
	text          int64  // the browser's font size in CSS pixels; 0 for the usual 16
}

var (
	smallPhone    = screen{"small phone, light", 320, 568, 1, true, "light", 0}
	largeText     = screen{"phone with large text, light", 360, 780, 1, true, "light", 32}
	darkPhone     = screen{"phone, dark", 390, 844, 2, true, "dark", 0}
	lightPhone    = screen{"phone, light", 390, 844, 2, true, "light", 0}
	desktop       = screen{"desktop, light", 1280, 800, 1, false, "light", 0}
	darkDesktop   = screen{"desktop, dark", 1280, 800, 1, false, "dark", 0}
	zoomedDesktop = screen{"desktop at 200 percent, light", 640, 400, 2, false, "light", 0}
)

// browsers bounds how many browsers run at a time.
var browsers = make(chan struct{}, 2)

// startBrowser starts a browser with a profile of its own, which ends with the test.
func startBrowser(t *testing.T, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	t.Parallel()
	browsers <- struct{}{}
	t.Cleanup(func() { <-browsers })
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("no browser: %v", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		// Going back shows pages from memory, no-store or not, as on payers' machines.
		chromedp.Flag("enable-features", "BackForwardCache,CacheControlNoStoreEnterBackForwardCache:level/restore-unless-cookie-change"))
	options = append(options, more...)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 15*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx
}

// tab is a page in the browser, on one screen.
type tab struct {
	t      *testing.T
	ctx    context.Context
	screen screen
	script bool

	mu       sync.Mutex
	origins  map[string]bool // of all pages so far
	requests []string        // addresses
	faults   []string        // the browser's complaints
}

// newTab opens an empty tab.
func newTab(t *testing.T, browser context.Context, on screen, script bool) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	p := &tab{t: t, ctx: ctx, screen: on, script: script, origins: make(map[string]bool)}
	var emulate []chromedp.EmulateViewportOption
	emulate = append(emulate, chromedp.EmulateScale(on.scale), chromedp.EmulatePortrait)
	if on.phone {
		emulate = append(emulate, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	p.must("open a tab", chromedp.Do(ctx,
		chromedp.EmulateViewport(on.width, on.height, emulate...),
		chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: on.scheme}}})
			if err != nil || script {
				return err
			}
			_, err = cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
			return err
		})))
	p.must("listen", chromedp.Listen(ctx, p.hear))
	p.setText()
	return p
}

// setText sets the browser's font size to that of the screen.
func (p *tab) setText() {
	p.t.Helper()
	if p.screen.text == 0 {
		return
	}
	p.must("set the font size", chromedp.Do(p.ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, page.SetFontSizes, page.SetFontSizesParams{
			FontSizes: &page.FontSizes{Standard: p.screen.text, Fixed: p.screen.text}})
		return err
	})))
}

// begin makes the tab report to another test, and clears what it recorded.
func (p *tab) begin(t *testing.T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.t, p.requests, p.faults = t, nil, nil
}

// hear records the page's requests and the browser's complaints. A page with a status like 404 is no fault. For a page's
// icon the browser asks by itself, sometimes long after the page.
func (p *tab) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		at, err := url.Parse(e.Request.URL)
		if err != nil {
			p.faults = append(p.faults, err.Error())
			return
		}
		origin := at.Scheme + "://" + at.Host
		if e.Type == network.ResourceTypeDocument {
			p.origins[origin] = true
		}
		if icon := path.Base(at.Path); icon != "favicon.ico" && icon != "icon.svg" || !p.origins[origin] {
			p.requests = append(p.requests, e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		p.faults = append(p.faults, e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		if e.Entry.Source != log.EntrySourceNetwork {
			p.faults = append(p.faults, e.Entry.Text)
		}
	}
}

func (p *tab) must(what string, err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatalf("%s: %s: %v", p.screen.name, what, err)
	}
}

// open goes to an address and returns the status of the page.
func (p *tab) open(address string) int64 {
	p.t.Helper()
	return p.leads("open the page", chromedp.Navigate(address))
}

// click clicks on the element that a CSS selector finds, which leads to another page, and returns that page's status.
func (p *tab) click(selector string) int64 {
	p.t.Helper()
	return p.leads("click "+selector, chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// leads runs steps that lead to another page, and returns that page's status.
func (p *tab) leads(what string, steps ...chromedp.Action[chromedp.Void]) int64 {
	p.t.Helper()
	r, err := chromedp.RunResponse(p.ctx, steps...)
	p.must(what, err)
	return r.Status
}

// keys types text, or presses keys, at the focus.
func (p *tab) keys(text string) {
	p.t.Helper()
	p.must("type", chromedp.Do(p.ctx, chromedp.KeyEvent(text)))
}

// fill replaces the value of a field by typing, and leaves the field.
func (p *tab) fill(selector, text string) {
	p.t.Helper()
	field := chromedp.CSS(selector)
	p.must("fill in "+selector, chromedp.Do(p.ctx,
		chromedp.Clear(field), chromedp.SendKeys(field, text), chromedp.Blur(field)))
}

// evaluate returns the value of an expression in the page.
func evaluate[T any](p *tab, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	p.must("evaluate "+expression, err)
	return v
}

// text returns the visible text of the first element that a CSS selector finds; "" without such an element.
func (p *tab) text(selector string) string {
	p.t.Helper()
	return evaluate[string](p, "document.querySelector('"+selector+"')?.innerText ?? ''")
}

// shows checks the page's main heading.
func (p *tab) shows(heading string) {
	p.t.Helper()
	if got := p.text("h1"); got != heading {
		p.t.Fatalf("%s: the page is %q, want %q", p.screen.name, got, heading)
	}
}

// fits checks that nothing is wider than the screen, that no date or number is broken over lines unless the text is large,
// that the browser had no complaints and that everything came from this server.
func (p *tab) fits(origin string) {
	p.t.Helper()
	p.isNarrow()
	if size := evaluate[string](p, "getComputedStyle(document.documentElement).fontSize"); p.screen.text != 0 && size != fmt.Sprintf("%dpx", p.screen.text) {
		p.t.Errorf("%s: the text is of %s", p.screen.name, size)
	}
	const broken = `[...document.querySelectorAll(".whole")].filter(e => e.offsetHeight > 2 * parseFloat(getComputedStyle(e).fontSize)).map(e => e.innerText)`
	if p.screen.text == 0 {
		for _, text := range evaluate[[]string](p, broken) {
			p.t.Errorf("%s: %q is broken over lines", p.screen.name, text)
		}
	}
	const dark = `getComputedStyle(document.body).backgroundColor.match(/\d+/g).every(part => part < 64)`
	if got := evaluate[bool](p, dark); got != (p.screen.scheme == "dark") {
		p.t.Errorf("%s: the page is dark: %v", p.screen.name, got)
	}
	p.isContent()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, address := range p.requests {
		if !strings.HasPrefix(address, origin+"/") && !strings.HasPrefix(address, "data:") { // which makes no request
			p.t.Errorf("%s: the page asked for %s", p.screen.name, address)
		}
	}
}

// isNarrow checks that the page is no wider than the screen.
func (p *tab) isNarrow() {
	p.t.Helper()
	if wide := evaluate[int64](p, "document.documentElement.scrollWidth"); wide > p.screen.width {
		p.t.Errorf("%s: the page %q is %d pixels wide, on a screen of %d", p.screen.name, p.text("h1"), wide, p.screen.width)
	}
}

// isContent checks that the browser had no complaints.
func (p *tab) isContent() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, fault := range p.faults {
		p.t.Errorf("%s: the browser complains: %s", p.screen.name, fault)
	}
}

// picture saves a screenshot of the whole page among the artifacts of the test, if they are kept.
func (p *tab) picture(name string) {
	p.t.Helper()
	if flag.Lookup("test.artifacts").Value.String() != "true" {
		return
	}
	png, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
	p.must("take a picture", err)
	p.setText() // which a picture of the whole page takes back
	file := strings.NewReplacer(" ", "-", ",", "").Replace(name+"--"+p.screen.name) + ".png"
	p.must("write a picture", os.WriteFile(filepath.Join(p.t.ArtifactDir(), file), png, 0o644))
}

// violation is a fault that axe-core finds on a page.
type violation struct {
	ID, Help string
	Nodes    []string
}

// axeSource returns the text of axe-core.
func axeSource(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(nodetest.Install(t, "testdata/axe"), "node_modules/axe-core/axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

// accessible checks the page by every rule of axe-core, including the one for target size (WCAG 2.2).
func (p *tab) accessible(axe string) {
	p.t.Helper()
	evaluate[int](p, axe+"\n;0")
	found := evaluate[[]violation](p, `axe.run(document, {rules: {"target-size": {enabled: true}}}).then(result =>
		result.violations.map(v => ({ID: v.id, Help: v.help, Nodes: v.nodes.map(n => n.html)})))`)
	for _, v := range found {
		p.t.Errorf("%s: %s (%s): %s", p.screen.name, v.Help, v.ID, cmp.Or(strings.Join(v.Nodes, " "), "the page"))
	}
}
