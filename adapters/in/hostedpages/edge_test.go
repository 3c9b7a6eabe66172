package hostedpages_test

import (
	"math"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/checkout"
)

func TestHeaders(t *testing.T) {
	b := newBench(t, kowhai(), order(), 0)
	framed := "https://enrol.kowhai.example https://www.kowhai.example"
	alone := kowhai()
	alone.EnrolmentOrigins = nil
	for _, tt := range []struct {
		name   string
		got    answer
		frames string
	}{
		{"open page", b.get(b.setupPath()), framed},
		{"legal page", b.get(b.legalPath()), framed},
		{"unknown token", b.get("/api/dd-setup?token=x"), "'none'"},
		{"wrong method", b.do(http.MethodPut, b.setupPath(), ""), "'none'"},
		{"provider without origins", func() answer { b.configure(alone); return b.get(b.setupPath()) }(), "'none'"},
	} {
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; " +
				"form-action 'self'; base-uri 'none'; frame-ancestors " + tt.frames,
			"Cache-Control":                "no-store",
			"Content-Type":                 "text/html; charset=utf-8",
			"Referrer-Policy":              "no-referrer",
			"X-Content-Type-Options":       "nosniff",
			"X-Robots-Tag":                 "noindex, nofollow",
			"Permissions-Policy":           "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Cross-Origin-Opener-Policy":   "",
			"Set-Cookie":                   "",
			"X-Frame-Options":              "",
		} {
			if got := tt.got.header.Get(name); got != want {
				t.Errorf("%s: %s = %q, want %q", tt.name, name, got, want)
			}
		}
		if !strings.HasPrefix(tt.got.header.Get("X-Request-Id"), "req_") {
			t.Errorf("%s: X-Request-Id = %q", tt.name, tt.got.header.Get("X-Request-Id"))
		}
	}
}

func TestNothingInlineAndNothingFromElsewhere(t *testing.T) {
	p, create := kowhai(), order()
	p.Branding.DisplayName = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`
	p.Branding.PrimaryColour = `#000;}*{}`
	p.SuccessURL, p.CancelURL = "javascript:alert(1)", "javascript:alert(1)"
	create.FirstName = checkout.Some(`<b onclick=alert(1)>{{.}}`)
	create.CourseName = checkout.Some(`</title><style>*{}</style>`)
	b := newBench(t, p, create, 0)
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
	b := newBench(t, kowhai(), order(), 0)
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

func TestWrongMethod(t *testing.T) {
	b := newBench(t, kowhai(), order(), 0)
	for _, tt := range []struct{ method, path, allow string }{
		{http.MethodPut, "/api/dd-setup", "GET, HEAD, POST"},
		{http.MethodDelete, "/api/dd-setup", "GET, HEAD, POST"},
		{http.MethodOptions, "/api/dd-setup", "GET, HEAD, POST"},
		{http.MethodPost, "/api/dd-setup/legal", "GET, HEAD"},
		{http.MethodPost, "/api/dd-setup/assets/style.css", "GET, HEAD"},
		{http.MethodPost, "/api/dd-setup/assets/colour-1f6f54.css", "GET, HEAD"},
	} {
		got := b.do(tt.method, tt.path, "")
		got.is(t, http.StatusMethodNotAllowed)
		if allow := got.header.Get("Allow"); allow != tt.allow {
			t.Errorf("%s %s: Allow = %q, want %q", tt.method, tt.path, allow, tt.allow)
		}
	}
}

func TestRateLimit(t *testing.T) {
	from := func(address string) func(*http.Request) {
		return func(r *http.Request) { r.RemoteAddr = address + ":4000" }
	}
	form := func(token string) string { return url.Values{"token": {token}}.Encode() }

	t.Run("of one token, from wherever it is used", func(t *testing.T) {
		b := newBench(t, kowhai(), order(), 1)
		b.do(http.MethodGet, b.setupPath(), "", from("192.0.2.1")).is(t, http.StatusOK)
		b.do(http.MethodGet, b.legalPath(), "", from("192.0.2.2")).is(t, http.StatusOK)
		got := b.do(http.MethodPost, "/api/dd-setup", form(b.token), from("192.0.2.3"))
		got.is(t, http.StatusTooManyRequests)
		if wait := got.header.Get("Retry-After"); wait != "1" {
			t.Errorf("Retry-After = %q, want 1", wait)
		}
		if c := b.stored(); c.Setup.Try != 0 {
			t.Errorf("setup = %+v, want none begun", c.Setup)
		}
		b.now = b.now.Add(time.Second)
		b.do(http.MethodPost, "/api/dd-setup", form(b.token), from("192.0.2.3")).is(t, http.StatusSeeOther)
	})
	t.Run("of one address, whatever it tries", func(t *testing.T) {
		b := newBench(t, kowhai(), order(), 1)
		b.do(http.MethodGet, "/api/dd-setup?token=a", "", from("192.0.2.1")).is(t, http.StatusNotFound)
		b.do(http.MethodGet, "/api/dd-setup", "", from("192.0.2.1")).is(t, http.StatusNotFound)
		last := b.do(http.MethodGet, "/api/dd-setup?token=b", "", from("192.0.2.1"))
		last.is(t, http.StatusTooManyRequests)
		last.wants(t, "Try again")
		b.do(http.MethodGet, b.setupPath(), "", from("192.0.2.2")).is(t, http.StatusOK)
	})
}

func TestAssets(t *testing.T) {
	b := newBench(t, kowhai(), order(), 0)
	b.setUp()
	page := b.get(b.setupPath())
	linked := regexp.MustCompile(`(?:src|href)="(/api/dd-setup/assets/[^"]+)"`).FindAllStringSubmatch(page.body, -1)
	if len(linked) != 4 {
		t.Fatalf("the page links %v, want an icon, two stylesheets and a script", linked)
	}
	for _, link := range linked {
		got := b.get(link[1])
		got.is(t, http.StatusOK)
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

func TestScriptTellsOnlyTheListedOrigins(t *testing.T) {
	b := newBench(t, kowhai(), order(), 0)
	script := b.get("/api/dd-setup/assets/setup.js")
	script.wants(t, `source: "provider-checkout"`, `type: "setup_changed"`, "postMessage(message, origin)", "data-notify")
	script.lacks(t, `"*"`, "'*'", "token", "location", "submit", "fetch")
	if n := strings.Count(script.body, "postMessage("); n != 1 {
		t.Errorf("the script posts in %d places, want 1", n)
	}
}

func TestEveryBrandColourIsReadable(t *testing.T) {
	b := newBench(t, kowhai(), order(), 0)
	pattern := regexp.MustCompile(`^:root \{ --brand: (#[0-9a-f]{6}); --on-brand: (#[0-9a-f]{6}); --brand-text: (#[0-9a-f]{6}); --brand-text-dark: (#[0-9a-f]{6}); \}\n$`)
	rapid.Check(t, func(rt *rapid.T) {
		colour := rapid.StringMatching(`[0-9a-f]{6}`).Draw(rt, "colour")
		sheet := b.get("/api/dd-setup/assets/colour-" + colour + ".css")
		found := pattern.FindStringSubmatch(sheet.body)
		if sheet.status != http.StatusOK || found == nil || found[1] != "#"+colour {
			rt.Fatalf("stylesheet of %s: %d %q", colour, sheet.status, sheet.body)
		}
		if c := contrast(found[2], found[1]); c < 4.5 {
			rt.Errorf("text %s on %s has a contrast of %.2f, want 4.5", found[2], found[1], c)
		}
		for _, tt := range []struct {
			text, paper string
			want        float64
		}{{found[3], "#ffffff", 4.5}, {found[3], "#f4f5f6", 4.5}, {found[4], "#14171a", 7}, {found[4], "#22272b", 7}} {
			if c := contrast(tt.text, tt.paper); c < tt.want {
				rt.Errorf("text %s on %s has a contrast of %.2f, want %.1f", tt.text, tt.paper, c, tt.want)
			}
		}
	})
}

// contrast is the contrast ratio of WCAG 2.2.
func contrast(a, b string) float64 {
	la, lb := luminance(a), luminance(b)
	return (math.Max(la, lb) + 0.05) / (math.Min(la, lb) + 0.05)
}

func luminance(colour string) (sum float64) {
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		n, _ := strconv.ParseUint(colour[1+2*i:3+2*i], 16, 8)
		if v := float64(n) / 255; v <= 0.04045 {
			sum += weight * v / 12.92
		} else {
			sum += weight * math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return sum
}
