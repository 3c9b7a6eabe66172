package pdf_test

import (
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

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
