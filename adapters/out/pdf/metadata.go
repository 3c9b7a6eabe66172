package pdf

import (
	"bytes"
	_ "embed"
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

const (
	documentLanguage = "en-NZ" // of the documents
	producer         = "Provider Checkout"
)

// srgb is an ICC profile (version 4) of the colours that the documents are in: the primaries and the curve of IEC 61966-2-1, with
// the white D50. It is in the public domain (CC0).
//
//go:embed srgb.icc
var srgb []byte

// packet is the form of the metadata in XMP, with a verb for each value.
//
//go:embed metadata.xmp
var packet string

// metadata is a document's description of itself, in two forms that must agree.
type metadata struct {
	title  string
	author string // the provider
	made   time.Time
}

// info returns the document's information dictionary.
func (m metadata) info() string {
	made := m.made.UTC().Format(dateForm)
	return fmt.Sprintf("<</Title %s /Author %s /Producer %s /CreationDate (%s) /ModDate (%s)>>",
		textString(m.title), textString(m.author), textString(producer), made, made)
}

// textString returns a text as a string of PDF.
func textString(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) >= 0 {
		return fmt.Sprintf("<%X>", utf16Text(text))
	}
	return "(" + strings.NewReplacer(`\`, `\\`, "(", `\(`, ")", `\)`).Replace(text) + ")"
}

// xmp returns the document's metadata in XMP: the same as in info, the language, and the standards that the document keeps,
// PDF/A-3a and PDF/UA-1. PDF/A does not know the word for the latter, so that has its description.
func (m metadata) xmp() string {
	escape := func(text string) string {
		var b bytes.Buffer
		xml.EscapeText(&b, []byte(text)) // a buffer takes everything
		return b.String()
	}
	return fmt.Sprintf(strings.TrimSuffix(packet, "\n"), escape(m.title), escape(m.author), documentLanguage,
		m.made.UTC().Format(time.RFC3339), producer, "\uFEFF")
}
