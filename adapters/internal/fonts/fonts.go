// Package fonts holds the fonts of scripts that DejaVu lacks, or lacks letters of. They are from Debian 12, of its packages
// fonts-droid-fallback 6.0.1r16 and fonts-noto-core 20201225; the licences stand beside them. The script subset made the subsets
// of Noto.
package fonts

import (
	"embed"
	"fmt"
)

// EastAsian is Droid Sans Fallback: the 20,902 Han characters of the first version of Unicode, the Korean syllables and the
// Japanese kana. Han characters have the form that is usual in China.
//
//go:embed DroidSansFallback.ttf
var EastAsian []byte

//go:embed NotoSans*-Regular.ttf
var noto embed.FS

// Scripts are the scripts that Noto has here, by their names in Unicode.
var Scripts = [...]string{"Arabic", "Bengali", "Devanagari", "Ethiopic", "Gujarati", "Gurmukhi", "Kannada", "Khmer", "Lao",
	"Malayalam", "Myanmar", "Sinhala", "Tamil", "Telugu", "Thai"}

// Noto returns the font of one of Scripts.
func Noto(script string) ([]byte, error) {
	font, err := noto.ReadFile("NotoSans" + script + "-Regular.ttf")
	if err != nil {
		return nil, fmt.Errorf("font of the script %s: %w", script, err)
	}
	return font, nil
}
