// Package fonts holds the fonts of scripts that DejaVu lacks, or lacks letters of. They are as Debian 12 distributes them, in
// its packages fonts-droid-fallback 6.0.1r16 and fonts-noto-core 20201225; the licences stand beside them.
package fonts

import _ "embed"

var (
	//go:embed NotoSansArabic-Regular.ttf
	Arabic []byte
	//go:embed NotoSansDevanagari-Regular.ttf
	Devanagari []byte
	//go:embed NotoSansThai-Regular.ttf
	Thai []byte
	// EastAsian is Droid Sans Fallback: the 20,902 Han characters of the first version of Unicode, the Korean syllables and the
	// Japanese kana. Han characters have the form that is usual in China.
	//go:embed DroidSansFallback.ttf
	EastAsian []byte
)
