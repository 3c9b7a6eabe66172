package hostedpages_test

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/adapters/internal/colour"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
)

func TestNothingInlineAndNothingFromElsewhere(t *testing.T) {
	p, create := kowhai(), order()
	p.Branding.DisplayName = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`
	p.Branding.PrimaryColour = `#000;}*{}`
	p.SuccessURL, p.CancelURL = "javascript:alert(1)", "javascript:alert(1)"
	create.FirstName = checkout.Some(`<b onclick=alert(1)>{{.}}`)
	create.CourseName = checkout.Some(`</title><style>*{}</style>`)
	b := newBench(t, setting{provider: p, create: create})
	pages := []answer{b.get(b.setupPath()), b.get(b.legalPath()), b.get("/api/dd-setup")}
	b.setUp()
	pages = append(pages, b.get(b.setupPath()))

	tag := regexp.MustCompile(`<[a-z][^>]*>`)
	inline := regexp.MustCompile(`^<(style|img|iframe|b|base)\b|\s(on[a-z]+|style)=|^<script>|(src|href)="javascript`)
	elsewhere := regexp.MustCompile(`(src|action)="[^/]|^<link[^>]*href="[^/]|(src|action|href)="//`)
	for _, page := range pages {
		for _, found := range tag.FindAllString(page.body, -1) {
			if inline.MatchString(found) || elsewhere.MatchString(found) {
				t.Errorf("the page holds %s:\n%s", found, page.body)
			}
		}
		page.lacks(t, "colour-")
	}
}

func TestPagesAreCompressedWhereTheBrowserAcceptsIt(t *testing.T) {
	b := newBench(t, setting{})
	for _, path := range []string{b.setupPath(), b.legalPath(), b.start(), "/api/dd-setup/assets/style.css"} {
		for accept, want := range map[string]string{"gzip": "gzip", "gzip, br": "gzip", "gzip;q=0": "", "br": "", "": ""} {
			got := b.do(http.MethodGet, path, "", func(r *http.Request) { r.Header.Set("Accept-Encoding", accept) })
			encoding, vary := got.header.Get("Content-Encoding"), got.header.Get("Vary")
			if got.status != http.StatusOK || encoding != want || vary != "Accept-Encoding" {
				t.Errorf("%s, Accept-Encoding %q: %d, Content-Encoding %q, Vary %q; want 200, %q and Accept-Encoding",
					path, accept, got.status, encoding, vary, want)
			}
		}
	}
}

func TestAssets(t *testing.T) {
	b := newBench(t, setting{})
	b.setUp()
	page := b.get(b.setupPath())
	linked := regexp.MustCompile(`(?:src|href)="(/api/dd-setup/assets/[^"]+)"`).FindAllStringSubmatch(page.body, -1)
	if len(linked) != 4 {
		t.Fatalf("the page links %v, want an icon, two stylesheets and a script", linked)
	}
	for _, link := range linked {
		got := b.get(link[1]).is(t, http.StatusOK)
		if cache := got.header.Get("Cache-Control"); cache != "public, max-age=31536000, immutable" {
			t.Errorf("%s: Cache-Control = %q", link[1], cache)
		}
		want := "text/css; charset=utf-8"
		switch {
		case strings.Contains(link[1], ".js"):
			want = "text/javascript; charset=utf-8"
		case strings.Contains(link[1], ".svg"):
			want = "image/svg+xml"
		}
		if kind := got.header.Get("Content-Type"); kind != want {
			t.Errorf("%s: Content-Type = %q, want %q", link[1], kind, want)
		}
	}
	if cache := b.get("/api/dd-setup/assets/style.css?v=other").header.Get("Cache-Control"); cache != "public, max-age=3600" {
		t.Errorf("another version's stylesheet: Cache-Control = %q", cache)
	}
}

func TestEveryBrandColourIsReadable(t *testing.T) {
	b := newBench(t, setting{})
	pattern := regexp.MustCompile(`^:root \{ --brand: (#[0-9a-f]{6}); --on-brand: (#[0-9a-f]{6}); --brand-text: (#[0-9a-f]{6}); --brand-text-dark: (#[0-9a-f]{6}); \}\n$`)
	rapid.Check(t, func(rt *rapid.T) {
		brand := rapid.StringMatching(`[0-9a-f]{6}`).Draw(rt, "colour")
		sheet := b.get("/api/dd-setup/assets/colour-" + brand + ".css")
		found := pattern.FindStringSubmatch(sheet.body)
		if sheet.status != http.StatusOK || found == nil || found[1] != "#"+brand {
			rt.Fatalf("stylesheet of %s: %d %q", brand, sheet.status, sheet.body)
		}
		for _, tt := range []struct {
			text, paper string
			want        float64
		}{
			{found[2], found[1], 4.5}, {found[3], "#ffffff", 4.5}, {found[3], "#f4f5f6", 4.5},
			{found[4], "#14171a", 7}, {found[4], "#22272b", 7},
		} {
			text, _ := colour.Parse(tt.text)
			paper, _ := colour.Parse(tt.paper)
			if c := colour.Contrast(text, paper); c < tt.want {
				rt.Errorf("text %s on %s has a contrast of %.2f, want %.1f", text, paper, c, tt.want)
			}
		}
	})
}

// dot is a PNG of one pixel.
const dot = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func TestLogoIsShownWithoutAThirdPartyRequest(t *testing.T) {
	p := kowhai()
	for _, tt := range []struct {
		name, url string
		shown     bool
	}{
		{"a picture", dot, true},
		{"an address", "https://cdn.kowhai.example/logo.png", false},
		{"text that is no picture, which a check would have refused", "data:image/png;base64,PHNjcmlwdD4=", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p.Branding.LogoURL = tt.url
			b := newBench(t, setting{provider: p})
			page := b.get(b.setupPath()).is(t, http.StatusOK)
			shown := strings.Contains(html.UnescapeString(page.body), `<img class="badge" src="`+tt.url+`" alt="">`)
			allowed := strings.Contains(page.header.Get("Content-Security-Policy"), "img-src 'self' data:;")
			initial := strings.Contains(page.body, `<span class="badge" aria-hidden="true">K</span>`)
			if shown != tt.shown || allowed != tt.shown || initial == tt.shown {
				t.Errorf("shown: %v, allowed: %v, the initial: %v, want %v, %[4]v and its opposite:\n%s", shown, allowed, initial, tt.shown, page.body)
			}
		})
	}
}

// A name that is written from right to left may reorder the words around it, unless it is isolated.
func TestNamesFromRightToLeftAreIsolated(t *testing.T) {
	p, create := kowhai(), order()
	p.Branding.DisplayName, p.Branding.SupportEmail = "מכללת רימון", ""
	create.FirstName, create.LastName = checkout.Some("נועה"), checkout.Some("כהן")
	create.CourseName = checkout.Some("دبلوم إدارة الأعمال")
	b := newBench(t, setting{provider: p, create: create, terms: agreement.Terms{
		Lender: agreement.Lender{Name: "בנק הדואר", Address: "רחוב יפו 23", Registration: "רשם 7"},
		Blocks: ofPutea().Blocks,
	}})
	pages := map[string]answer{"open page": b.get(b.setupPath()), "legal page": b.get(b.legalPath())}
	bankPage := b.start()
	pages["processor's form"] = b.get(bankPage)
	pages["processor's form with mistakes"] = b.do("POST", bankPage, "")
	b.complete(bankPage)
	pages["done page"] = b.get(b.setupPath())
	pages["legal page of a setup that is done"] = b.get(b.legalPath())
	b.poll()
	b.confirm(create.First)
	pages["confirmed page"] = b.get(b.setupPath())

	other := newBench(t, setting{provider: p, create: create})
	other.now = other.now.Add(8 * 24 * time.Hour)
	pages["expired page"] = other.get(other.setupPath())
	p.Active = false
	other.configure(p)
	pages["page of a provider that is not enabled"] = other.get(other.setupPath())

	for name, page := range pages {
		_, body, _ := strings.Cut(page.body, "<body")
		if !rightToLeft.MatchString(body) {
			t.Errorf("%s names no one:\n%s", name, body)
		}
		for _, text := range isolatedOrTag.Split(body, -1) {
			if rightToLeft.MatchString(text) {
				t.Errorf("%s: %q holds a name that is not isolated", name, text)
			}
		}
	}
}

// isolatedOrTag is a name that is isolated, a badge, which is a box of its own, or a tag.
var isolatedOrTag = regexp.MustCompile(`<bdi[^>]*>[^<]*</bdi>|<span class="badge" aria-hidden="true">[^<]*</span>|<[^>]*>`)

var rightToLeft = regexp.MustCompile(`[\p{Hebrew}\p{Arabic}]`)
