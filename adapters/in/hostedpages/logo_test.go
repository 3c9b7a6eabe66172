package hostedpages_test

import (
	"html"
	"net/http"
	"strings"
	"testing"
)

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
