package pdf_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// checker looks for what PDF/UA-1 and PDF/A-3a do not allow. A fault begins with the failure condition of the Matterhorn
// Protocol 1.1 that it is, or with the clause of ISO 19005-2.
type checker struct {
	*file
	t      *testing.T
	faults []string
}

// conformance returns every fault of a document.
func conformance(t *testing.T, f *file) []string {
	t.Helper()
	c := &checker{file: f, t: t}
	c.form()
	c.metadata()
	c.content()
	c.tree()
	c.fonts()
	slices.Sort(c.faults)
	return slices.Compact(c.faults)
}

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// must reports a fault unless ok.
func (c *checker) must(ok bool, format string, args ...any) {
	if !ok {
		c.fault(format, args...)
	}
}

// form checks the file as a whole, and that it is said to be tagged.
func (c *checker) form() {
	c.must(bytes.HasPrefix(c.data, []byte("%PDF-1.7\n%")) && len(c.data) > 14 && !slices.ContainsFunc(c.data[10:14], func(b byte) bool { return b < 128 }),
		"6.1.2 header")
	id := c.array(c.trailer["ID"])
	c.must(len(id) == 2 && len(id[0].(text)) == 16, "6.1.3 ID")
	c.must(c.trailer["Encrypt"] == nil, "6.1.3 encrypted")
	root := c.root()
	c.must(c.dict(root["MarkInfo"])["Marked"] == true, "06-… not marked as tagged")
	c.must(c.dict(root["MarkInfo"])["Suspects"] != true, "02-… suspects")
	c.must(c.dict(root["ViewerPreferences"])["DisplayDocTitle"] == true, "07-001 DisplayDocTitle")
	lang, _ := root["Lang"].(text)
	c.must(string(lang) == "en-NZ", "11-006 language")
	intents := c.array(root["OutputIntents"])
	if c.must(len(intents) == 1, "6.2.3 output intent"); len(intents) == 1 {
		intent := c.dict(intents[0])
		profile, _ := intent["DestOutputProfile"].(ref)
		icc := c.streams[profile]
		c.must(intent["S"] == name("GTS_PDFA1") && c.dict(profile)["N"] == 3.0 && len(icc) > 128 && string(icc[36:40]) == "acsp" &&
			string(icc[12:20]) == "mntrRGB ", "6.2.3 profile")
	}
	for number, o := range c.objects {
		if d, ok := o.(dict); ok {
			for _, key := range []string{"AA", "JS", "JavaScript", "XFA"} {
				c.must(d[key] == nil, "6.5 object %d has %s", number, key)
			}
			c.must(d["Filter"] == nil || d["Filter"] == name("FlateDecode") || d["Type"] == name("Sig"), "6.1.7 object %d has a filter %v", number, d["Filter"])
		}
	}
}

// metadata checks XMP, and that it is what the information dictionary says.
func (c *checker) metadata() {
	number, _ := c.root()["Metadata"].(ref)
	xmp := string(c.streams[number])
	if c.must(xmp != "", "06-001 metadata"); xmp == "" {
		return
	}
	info := c.dict(c.trailer["Info"])
	element := func(pattern string) string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(xmp)
		if m == nil {
			return ""
		}
		return strings.NewReplacer("&amp;", "&", "&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'").Replace(m[1])
	}
	c.must(element(`<pdfuaid:part>(.*)</pdfuaid:part>`) == "1", "06-002 PDF/UA identifier")
	c.must(element(`<pdfaid:part>(.*)</pdfaid:part>`) == "3" && element(`<pdfaid:conformance>(.*)</pdfaid:conformance>`) == "A", "6.6.4 PDF/A identifier")
	c.must(strings.Contains(xmp, "<pdfaSchema:namespaceURI>http://www.aiim.org/pdfua/ns/id/<"), "6.6.2 extension schema")
	c.must(element(`(?s)<dc:title>.*?<rdf:li[^>]*>(.*?)</rdf:li>`) != "", "06-003 dc:title")
	c.must(element(`(?s)<dc:title>.*?<rdf:li[^>]*>(.*?)</rdf:li>`) == said(info["Title"]), "6.6.3 title differs")
	c.must(element(`(?s)<dc:creator>.*?<rdf:li>(.*?)</rdf:li>`) == said(info["Author"]), "6.6.3 author differs")
	c.must(element(`<pdf:Producer>(.*)</pdf:Producer>`) == said(info["Producer"]), "6.6.3 producer differs")
	for xmpKey, key := range map[string]string{"CreateDate": "CreationDate", "ModifyDate": "ModDate"} {
		date := strings.NewReplacer("-", "", ":", "", "T", "").Replace(element(`<xmp:` + xmpKey + `>(.*)</xmp:` + xmpKey + `>`))
		c.must(date != "" && "D:"+date == said(info[key]), "6.6.3 %s differs", xmpKey)
	}
}

// said reads a text string.
func said(v any) string {
	raw, _ := v.(text)
	if !bytes.HasPrefix(raw, []byte{0xFE, 0xFF}) {
		return string(raw)
	}
	return double(raw[2:])
}

// content checks that everything on a page is marked, and each piece is in the tree as the parent tree says.
func (c *checker) content() {
	structure := c.dict(c.root()["StructTreeRoot"])
	parents := map[float64]array{}
	nums := c.array(c.dict(structure["ParentTree"])["Nums"])
	for i := 0; i+1 < len(nums); i += 2 {
		parents[nums[i].(float64)] = c.array(nums[i+1])
	}
	claimed := c.claimed()
	for _, page := range c.pages() {
		key, ok := c.dict(page)["StructParents"].(float64)
		c.must(ok, "01-… page %d has no StructParents", page)
		c.must(c.dict(page)["Tabs"] == name("S"), "28-008 page %d has no tab order", page)
		depth, marked, pieces := 0, false, 0
		for _, op := range c.operations(c.t, page) {
			switch op.operator {
			case "BDC", "BMC":
				c.must(depth == 0, "01-… pieces are nested on page %d", page)
				depth++
				marked = true
				if op.operands[0] == name("Artifact") {
					continue
				}
				id, has := c.dict(op.operands[1])["MCID"].(float64)
				if !has {
					marked = false
					continue
				}
				pieces++
				owners := claimed[[2]any{page, id}]
				c.must(len(owners) == 1, "01-… piece %v of page %d is in the tree %d times", id, page, len(owners))
				list := parents[key]
				c.must(int(id) < len(list) && len(owners) > 0 && list[int(id)] == owners[0], "01-… the parent tree has another element for piece %v of page %d", id, page)
			case "EMC":
				depth--
				marked = false
			case "Tj", "TJ", "f", "F", "S", "s", "B", "b", "Do", "sh":
				c.must(marked, "01-005 %s on page %d is neither content nor artifact", op.operator, page)
			}
		}
		c.must(depth == 0, "01-… a piece of page %d has no end", page)
		c.must(pieces == len(parents[key]), "01-… the parent tree has %d pieces of page %d, which has %d", len(parents[key]), page, pieces)
		c.must(pieces > 0, "01-… page %d has no text", page)
	}
}

// claimed returns the elements of each piece of content, by its page and identifier.
func (c *checker) claimed() map[[2]any][]any {
	claimed := map[[2]any][]any{}
	c.walk(func(e ref, _ []name) {
		for _, kid := range c.array(c.dict(e)["K"]) {
			switch k := kid.(type) {
			case float64:
				at := [2]any{c.dict(e)["Pg"], k}
				claimed[at] = append(claimed[at], e)
			case dict:
				at := [2]any{k["Pg"], k["MCID"]}
				claimed[at] = append(claimed[at], e)
			}
		}
	})
	return claimed
}

// walk calls visit for every element with the types of those above it and its own, in the order in which they are read.
func (c *checker) walk(visit func(e ref, path []name)) {
	var down func(e ref, path []name)
	down = func(e ref, path []name) {
		kind, _ := c.dict(e)["S"].(name)
		path = append(slices.Clone(path), kind)
		visit(e, path)
		for _, kid := range c.array(c.dict(e)["K"]) {
			if k, ok := kid.(ref); ok {
				c.must(c.dict(k)["P"] == e, "09-… element %d names another parent", k)
				down(k, path)
			}
		}
	}
	if top, ok := c.dict(c.root()["StructTreeRoot"])["K"].(ref); ok {
		c.must(c.dict(top)["P"] == c.root()["StructTreeRoot"], "09-… the document names another root")
		down(top, nil)
	}
}

// tree checks that the elements stand where they may, headings, lists and tables.
func (c *checker) tree() {
	within := map[name][]name{
		"Document": {""}, "H1": {"Document"}, "H2": {"Document"}, "P": {"Document", "LBody"}, "L": {"Document", "LBody"}, "LI": {"L"}, "Lbl": {"LI"},
		"LBody": {"LI"}, "Table": {"Document"}, "THead": {"Table"}, "TBody": {"Table"}, "TFoot": {"Table"}, "TR": {"THead", "TBody", "TFoot"},
		"TH": {"TR"}, "TD": {"TR"}, "Span": {"H1", "H2", "P", "Lbl", "LBody", "TH", "TD"},
	}
	level, headings := 0, 0
	columns := 0.0
	c.walk(func(e ref, path []name) {
		kind, parent := path[len(path)-1], name("")
		if len(path) > 1 {
			parent = path[len(path)-2]
		}
		allowed, known := within[kind]
		c.must(known, "02-001 %s is no standard type", kind)
		c.must(slices.Contains(allowed, parent), "09-… %s within %s", kind, parent)
		attributes := c.dict(c.dict(e)["A"])
		kids := c.array(c.dict(e)["K"])
		switch kind {
		case "H1", "H2":
			next := int(kind[1] - '0')
			c.must(next <= level+1, "14-… heading %s after level %d", kind, level)
			level = next
			headings++
			c.must(kind != "H1" || headings == 1, "14-… a second H1")
		case "L":
			c.must(attributes["O"] == name("List") && attributes["ListNumbering"] != nil, "16-… a list without ListNumbering")
			c.must(len(kids) > 0, "09-… an empty list")
		case "LI":
			c.must(len(kids) == 2, "09-… an item of %d parts", len(kids))
		case "Table":
			columns = 0
		case "TR":
			width := 0.0
			for _, cell := range kids {
				span, ok := c.dict(c.dict(c.dict(cell)["A"]))["ColSpan"].(float64)
				if !ok {
					span = 1
				}
				width += span
			}
			c.must(columns == 0 || columns == width, "15-… a row of %v columns in a table of %v", width, columns)
			columns = width
		case "Span":
		case "TH":
			c.must(attributes["O"] == name("Table") && (attributes["Scope"] == name("Row") || attributes["Scope"] == name("Column")), "15-003 TH without Scope")
			if slices.Contains(path, "THead") {
				c.must(attributes["Scope"] == name("Column"), "15-003 a header of a column with another scope")
			}
		}
	})
	c.must(headings > 3, "14-001 headings")
}

// fonts checks that every font is embedded and has the text of each code that is used, and no sign for a glyph that is missing
// is drawn.
func (c *checker) fonts() {
	used := map[name]map[int]bool{}
	for _, page := range c.pages() {
		var current name
		for _, op := range c.operations(c.t, page) {
			switch op.operator {
			case "Tf":
				current = op.operands[0].(name)
				if used[current] == nil {
					used[current] = map[int]bool{}
				}
			case "Tj":
				for raw := op.operands[0].(text); len(raw) > 1; raw = raw[2:] {
					used[current][int(raw[0])<<8|int(raw[1])] = true
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(used)) {
		c.fontOf(key, c.font(c.pages()[0], key), used[key])
	}
}

func (c *checker) fontOf(key name, f dict, codes map[int]bool) {
	base := c.dict(c.array(f["DescendantFonts"])[0])
	c.must(f["Encoding"] == name("Identity-H") && base["CIDToGIDMap"] == name("Identity"), "31-… %s: encoding", key)
	c.must(f["BaseFont"] == base["BaseFont"] && regexp.MustCompile(`^[A-Z]{6}\+`).MatchString(string(base["BaseFont"].(name))), "6.2.11.2 %s: name", key)
	stored, _ := c.dict(base["FontDescriptor"])["FontFile2"].(ref)
	if c.must(len(c.streams[stored]) > 0, "31-001 %s is not embedded", key); len(c.streams[stored]) == 0 {
		return
	}
	mapped, widths := c.unicodes(f), c.array(c.array(base["W"])[1])
	advances, glyphs := advances(c.streams[stored])
	for code := range codes {
		text := mapped[code]
		c.must(text != "" && !strings.ContainsAny(text, "\x00\uFEFF\uFFFE\uFFFD"), "10-001 %s: code %d has no text", key, code)
		c.must(code != 0, "31-030 %s draws the sign for a glyph that is missing", key)
		if c.must(code < glyphs && code < len(widths), "31-030 %s has no glyph %d", key, code); code < min(glyphs, len(widths)) {
			want, got := advances(code), widths[code].(float64)
			c.must(got-want < 1 && want-got < 1, "31-… %s: code %d is %v wide, the font has %v", key, code, got, want)
		}
	}
}

// advances returns the width of each glyph of a font in thousandths of its size, and the number of its glyphs.
func advances(font []byte) (of func(glyph int) float64, glyphs int) {
	tables := map[string][]byte{}
	for i := range int(binary.BigEndian.Uint16(font[4:])) {
		record := font[12+16*i:][:16]
		tables[string(record[:4])] = font[binary.BigEndian.Uint32(record[8:]):]
	}
	units := float64(binary.BigEndian.Uint16(tables["head"][18:]))
	return func(glyph int) float64 {
		return float64(binary.BigEndian.Uint16(tables["hmtx"][4*glyph:])) * 1000 / units
	}, int(binary.BigEndian.Uint16(tables["hhea"][34:]))
}

// withParagraphs is an agreement with a term of several paragraphs.
func withParagraphs(n int) agreement.Agreement {
	a := sample.Agreement(n)
	a.Terms.Blocks = append(a.Terms.Blocks, agreement.Block{Title: "Hardship",
		Text: "You can ask for a change if you are ill or lose your work.\nAsk us."})
	return a
}

// inAllScripts is an agreement with all names of testdata/names.json, and payments on two pages.
func inAllScripts(t testing.TB) agreement.Agreement {
	t.Helper()
	a := withParagraphs(24)
	for _, p := range people(t) {
		a.Terms.Blocks = append(a.Terms.Blocks, agreement.Block{Title: p.Script, Text: p.Name + " (1) & " + p.Name})
	}
	a.Terms.Authority.Calendar = money.BusinessDays
	return a
}

func TestDocumentsKeepTheStandards(t *testing.T) {
	for what, document := range map[string][]byte{
		"one payment": printed(t, withParagraphs(1)), "52 payments": printed(t, withParagraphs(52)), "names": printed(t, inAllScripts(t)),
	} {
		for _, fault := range conformance(t, parse(t, document)) {
			t.Errorf("%s: %s", what, fault)
		}
	}
}

// Each check notices the fault that it is for.
func TestConformanceFindsFaults(t *testing.T) {
	element := func(f *file, kind name) dict {
		for _, o := range f.objects {
			if d, ok := o.(dict); ok && d["S"] == kind {
				return d
			}
		}
		panic(kind)
	}
	contents := func(f *file, old, next string) {
		page := f.dict(f.pages()[0])["Contents"].(ref)
		f.streams[page] = []byte(strings.Replace(string(f.streams[page]), old, next, 1))
	}
	metadata := func(old, next string) func(*file) {
		return func(f *file) {
			at := f.root()["Metadata"].(ref)
			f.streams[at] = []byte(strings.Replace(string(f.streams[at]), old, next, 1))
		}
	}
	font := func(f *file, key string) dict { return f.font(f.pages()[0], name(key)) }
	descendant := func(f *file, key string) dict { return f.dict(f.array(font(f, key)["DescendantFonts"])[0]) }
	a := sample.Agreement(1)
	a.Student.FirstName = "Nguyễn"
	document := printed(t, a)
	for want, change := range map[string]func(*file){
		"6.1.2 header":             func(f *file) { f.data = append([]byte("%PDF-1.3\n"), f.data[9:]...) },
		"6.1.3 ID":                 func(f *file) { delete(f.trailer, "ID") },
		"06-… not marked":          func(f *file) { delete(f.root(), "MarkInfo") },
		"07-001":                   func(f *file) { delete(f.root(), "ViewerPreferences") },
		"11-006":                   func(f *file) { delete(f.root(), "Lang") },
		"6.2.3 output intent":      func(f *file) { delete(f.root(), "OutputIntents") },
		"6.2.3 profile":            func(f *file) { f.dict(f.array(f.root()["OutputIntents"])[0])["S"] = name("GTS_PDFX") },
		"06-001":                   func(f *file) { delete(f.root(), "Metadata") },
		"06-002":                   metadata("pdfuaid:part>1", "pdfuaid:part>2"),
		"06-003":                   metadata("<dc:title>", "<dc:other>"),
		"6.6.2":                    metadata("http://www.aiim.org/pdfua/ns/id/<", "<"),
		"6.6.3 title differs":      metadata("Payment Plan", "Payment plan"),
		"6.6.3 author differs":     func(f *file) { f.dict(f.trailer["Info"])["Author"] = text("other") },
		"6.6.3 ModifyDate differs": metadata("<xmp:ModifyDate>2027", "<xmp:ModifyDate>2028"),
		"6.6.4":                    metadata("conformance>A", "conformance>B"),
		"01-005":                   func(f *file) { contents(f, "/Artifact BMC", "/Other <</X 1>> BDC") },
		"01-… pieces are nested":   func(f *file) { contents(f, "EMC", "") },
		"01-… piece 0 of page":     func(f *file) { element(f, "H1")["K"] = array{} },
		"01-… the parent tree has": func(f *file) { f.dict(f.dict(f.root()["StructTreeRoot"])["ParentTree"])["Nums"] = array{} },
		"28-008":                   func(f *file) { delete(f.dict(f.pages()[0]), "Tabs") },
		"02-001":                   func(f *file) { element(f, "H1")["S"] = name("Heading") },
		"09-… LI within":           func(f *file) { element(f, "L")["S"] = name("P") },
		"14-… heading":             func(f *file) { element(f, "H1")["S"] = name("H2") },
		"15-003":                   func(f *file) { delete(element(f, "TH"), "A") },
		"15-… a row of":            func(f *file) { row := element(f, "TR"); row["K"] = f.array(row["K"])[1:] },
		"16-… a list":              func(f *file) { delete(element(f, "L"), "A") },
		"31-001":                   func(f *file) { delete(f.dict(descendant(f, "F1")["FontDescriptor"]), "FontFile2") },
		"10-001":                   func(f *file) { delete(font(f, "F1"), "ToUnicode") },
		"31-… F1: encoding":        func(f *file) { delete(font(f, "F1"), "Encoding") },
		"31-… F1: code": func(f *file) {
			descendant(f, "F1")["W"] = array{0.0, append(array{0.0}, f.array(f.array(descendant(f, "F1")["W"])[1])...)}
		},
		"31-030 F3 draws": func(f *file) { contents(f, "<0001>", "<0000>") },
	} {
		t.Run(want, func(t *testing.T) {
			f := parse(t, document)
			change(f)
			faults := conformance(t, f)
			for _, fault := range faults {
				if strings.HasPrefix(fault, want) {
					return
				}
			}
			t.Errorf("the faults are %q, none begins with %q", faults, want)
		})
	}
}
