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

// metadata is a document's description of itself, in two forms that must agree.
type metadata struct {
	title  string
	author string // the provider
	made   time.Time
}

// info returns the document's information dictionary.
func (m metadata) info() string {
	const form = "D:20060102150405Z"
	made := m.made.UTC().Format(form)
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
// PDF/A-2a and PDF/UA-1. PDF/A does not know the word for the latter, so that has its description.
func (m metadata) xmp() string {
	escape := func(text string) string {
		var b bytes.Buffer
		xml.EscapeText(&b, []byte(text)) // a buffer takes everything
		return b.String()
	}
	return fmt.Sprintf(`<?xpacket begin="`+"\uFEFF"+`" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:format>application/pdf</dc:format>
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">%s</rdf:li></rdf:Alt></dc:title>
<dc:creator><rdf:Seq><rdf:li>%s</rdf:li></rdf:Seq></dc:creator>
<dc:language><rdf:Bag><rdf:li>%s</rdf:li></rdf:Bag></dc:language>
</rdf:Description>
<rdf:Description rdf:about="" xmlns:xmp="http://ns.adobe.com/xap/1.0/"><xmp:CreateDate>%[4]s</xmp:CreateDate><xmp:ModifyDate>%[4]s</xmp:ModifyDate></rdf:Description>
<rdf:Description rdf:about="" xmlns:pdf="http://ns.adobe.com/pdf/1.3/"><pdf:Producer>%[5]s</pdf:Producer></rdf:Description>
<rdf:Description rdf:about="" xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/"><pdfaid:part>2</pdfaid:part><pdfaid:conformance>A</pdfaid:conformance></rdf:Description>
<rdf:Description rdf:about="" xmlns:pdfuaid="http://www.aiim.org/pdfua/ns/id/"><pdfuaid:part>1</pdfuaid:part></rdf:Description>
<rdf:Description rdf:about="" xmlns:pdfaExtension="http://www.aiim.org/pdfa/ns/extension/" xmlns:pdfaSchema="http://www.aiim.org/pdfa/ns/schema#" xmlns:pdfaProperty="http://www.aiim.org/pdfa/ns/property#">
<pdfaExtension:schemas><rdf:Bag><rdf:li rdf:parseType="Resource">
<pdfaSchema:schema>PDF/UA Universal Accessibility Schema</pdfaSchema:schema>
<pdfaSchema:namespaceURI>http://www.aiim.org/pdfua/ns/id/</pdfaSchema:namespaceURI>
<pdfaSchema:prefix>pdfuaid</pdfaSchema:prefix>
<pdfaSchema:property><rdf:Seq><rdf:li rdf:parseType="Resource">
<pdfaProperty:name>part</pdfaProperty:name><pdfaProperty:valueType>Integer</pdfaProperty:valueType>
<pdfaProperty:category>internal</pdfaProperty:category><pdfaProperty:description>Part of ISO 14289</pdfaProperty:description>
</rdf:li></rdf:Seq></pdfaSchema:property>
</rdf:li></rdf:Bag></pdfaExtension:schemas>
</rdf:Description>
</rdf:RDF></x:xmpmeta>
<?xpacket end="r"?>`, escape(m.title), escape(m.author), documentLanguage, m.made.UTC().Format(time.RFC3339), producer)
}
