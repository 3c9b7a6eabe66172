package catalogue

import (
	"encoding/base64"
	"strings"
)

// MaxLogo is the largest logo that a configuration may contain, in bytes: a page with everything on it must
// stay small on a phone.
const MaxLogo = 8 << 10

// pictures are the allowed media types of a logo, each with its first bytes. None of them can contain a script.
var pictures = map[string]string{
	"image/png":  "\x89PNG\r\n\x1a\n",
	"image/jpeg": "\xff\xd8\xff",
}

// Picture returns the logo as a data URL, which a page can show without a request to another server, if the
// configuration contains it; "" if the branding has no logo, or only its address.
func (b Branding) Picture() string {
	if !isPicture(b.LogoURL) || pictureFault(b.LogoURL) != "" {
		return ""
	}
	return b.LogoURL
}

func isPicture(url string) bool { return strings.HasPrefix(url, "data:") }

// pictureFault returns what is wrong with a picture as a data URL, or "".
func pictureFault(url string) string {
	kind, data, _ := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
	begins, known := pictures[kind]
	if !known {
		return "must be https://…, or data:image/png;base64,… or data:image/jpeg;base64,…"
	}
	bytes, err := base64.StdEncoding.Strict().DecodeString(data)
	switch {
	case err != nil:
		return "must hold the picture in base64"
	case !strings.HasPrefix(string(bytes), begins):
		return "must hold a picture of the kind that it names"
	case len(bytes) > MaxLogo:
		return "must hold a picture of at most 8 KB"
	}
	return ""
}
