package catalogue_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
)

// picture returns bytes of a size that begin as a PNG does and go on as filler, as a data URL of a kind.
func picture(kind string, size int) string {
	data := "\x89PNG\r\n\x1a\n"
	return "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString([]byte(data+strings.Repeat("x", size-len(data))))
}

func TestPicture(t *testing.T) {
	for _, tt := range []struct {
		name, url string
		shown     bool
	}{
		{"a picture", picture("image/png", 100), true},
		{"the largest", picture("image/png", catalogue.MaxLogo), true},
		{"too large a one, which no check let through", picture("image/png", catalogue.MaxLogo+1), false},
		{"an address", "https://kowhai.example/logo.png", false},
		{"none", "", false},
	} {
		want := ""
		if tt.shown {
			want = tt.url
		}
		if got := (catalogue.Branding{LogoURL: tt.url}).Picture(); got != want {
			t.Errorf("%s: Picture = %.40q, want %.40q", tt.name, got, want)
		}
	}
}
