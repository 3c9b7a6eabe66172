package full_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// cut lists the texts of the page that are outside of the page or of their box, below a button, or in code that scrolls. The
// code of every language is shown. A table may scroll on a screen.
const cut = `(printed => {
	const faults = [], wide = document.documentElement.clientWidth;
	document.querySelectorAll(".code > div").forEach(div => { div.style.display = "block" });
	for (const box of document.querySelectorAll(printed ? "pre, .table, .beside" : "pre")) {
		if (box.scrollWidth > box.clientWidth || printed && box.scrollHeight > box.clientHeight + 1) faults.push("scrolls: " + box.innerText);
	}
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
	while (walk.nextNode()) {
		const text = walk.currentNode, at = text.parentElement;
		if (!at.checkVisibility() || at.closest(".said, .skip") || !printed && at.closest(".table")) continue;
		range.selectNodeContents(text);
		const button = at.closest(".copied")?.querySelector("button"), over = button?.getBoundingClientRect();
		const box = at.closest("pre")?.getBoundingClientRect() ?? {left: 0, right: wide};
		for (const line of range.getClientRects()) {
			if (line.right > Math.min(box.right, wide) + 1 || line.left < box.left - 1) faults.push("cut: " + text.data);
			if (over?.width && at !== button && line.right > over.left && line.top < over.bottom && line.bottom > over.top)
				faults.push("covered: " + text.data);
		}
	}
	return [...new Set(faults)];
})`

// Nothing in the API's reference is cut: code wraps on screens of every width, and on paper.
func TestBrowserReferenceCutsNoText(t *testing.T) {
	s := sandbox.New(t, memory.New())
	browser := startBrowser(t)
	for _, width := range []int64{320, 360, 412, 600, 768, 1023, 1024, 1280, 1440, 1920} {
		p := newTab(t, browser, screen{fmt.Sprint("screen of ", width, " pixels"), width, 800, 1, false, "light", 0}, true)
		p.open(s.URL + "/docs")
		for _, fault := range evaluate[[]string](p, cut+"(false)") {
			p.t.Errorf("%s: %.200s", p.screen.name, fault)
		}
		p.isNarrow()
		p.must("print", chromedp.Do(p.ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
			return err
		})))
		for _, fault := range evaluate[[]string](p, cut+"(true)") {
			p.t.Errorf("%s, in print: %.200s", p.screen.name, fault)
		}
	}
}

// The reference is searched by keyboard on a desktop and on a phone. What is found is said, and leads to its place.
func TestBrowserReferenceIsSearched(t *testing.T) {
	axe := axeSource(t)
	s := sandbox.New(t, memory.New())
	browser := startBrowser(t)
	for _, on := range []screen{darkDesktop, phone} {
		p := newTab(t, browser, on, true)
		p.open(s.URL + "/docs")
		for _, tt := range []struct{ query, first, at string }{
			{"IDEMPOTENCY_CONFLICT", "IDEMPOTENCY_CONFLICT", "error-IDEMPOTENCY_CONFLICT"},
			{"idempotency conflict", "IDEMPOTENCY_CONFLICT", "error-IDEMPOTENCY_CONFLICT"},
			{"first_payment_date", "plan.first_payment_date", "field-plan.first_payment_date"},
			{"mandate_status get", "direct_debit.mandate_status", "getCheckout-direct_debit.mandate_status"},
			{"checkout.cancelled", "checkout.cancelled", "onCheckoutCancelled"},
			{"retry", "Retries, times and limits", "retries-times-and-limits"},
			{"check digits", "The payer's forms", "the-payers-forms"},
			{"constant time", "Checking a signature", "checking-a-signature"},
		} {
			p.slash()
			if got := p.focus(); got != "search" {
				t.Fatalf("%s: / leads to %q", on.name, got)
			}
			p.keys(tt.query)
			if got := await(func() string { return p.text("#found") }); !strings.HasSuffix(got, "result") && !strings.HasSuffix(got, "results") {
				t.Errorf("%s: %s: %q is said", on.name, tt.query, got)
			}
			if got, _, _ := strings.Cut(p.text("search li a"), "\n"); got != tt.first {
				t.Errorf("%s: %s finds %q first, want %s", on.name, tt.query, got, tt.first)
			}
			p.fits(s.URL)
			if tt.query == "retry" {
				p.accessible(axe)
			}
			p.keys(kb.Enter)
			if got := evaluate[string](p, "location.hash"); got != "#"+tt.at {
				t.Errorf("%s: %s leads to %s, want %s", on.name, tt.query, got, tt.at)
			}
			if top := evaluate[float64](p, `document.getElementById("`+tt.at+`").getBoundingClientRect().top`); top < 0 || top > 300 {
				t.Errorf("%s: %s leads to where its place is at %v", on.name, tt.query, top)
			}
		}
		p.slash()
		p.keys("retry")
		p.keys(kb.ArrowDown + kb.ArrowDown + kb.ArrowUp)
		if got := evaluate[string](p, "document.activeElement.hash"); got != "#retries-times-and-limits" {
			t.Errorf("%s: the arrows lead to %q", on.name, got)
		}
		p.keys(kb.Escape)
		if p.focus() != "search" || p.text("search li") != "" || !p.visible(`nav a[href="#errors"]`) {
			t.Errorf("%s: Escape does not bring the contents back", on.name)
		}
		p.keys("zzz")
		if got := p.text("#found"); got != "No results" {
			t.Errorf("%s: of nothing it says %q", on.name, got)
		}
		p.isContent()
	}
	p := newTab(t, browser, desktop, false)
	p.open(s.URL + "/docs")
	if p.visible("search") {
		t.Error("without a script there is a search")
	}
}

// slash presses the key /. Unlike keys it types nothing where the page takes the key for itself, as a keyboard does.
func (p *tab) slash() {
	p.t.Helper()
	p.must("press /", chromedp.Do(p.ctx, chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		for _, key := range []input.DispatchKeyEventParams{{Type: kb.KeyDown, Key: "/", Text: "/"}, {Type: kb.KeyUp, Key: "/"}} {
			if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, key); err != nil {
				return err
			}
		}
		return nil
	})))
}
