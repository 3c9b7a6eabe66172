package agreement_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement"
)

// named are facts that know one part.
type named struct{ Name string }

func (named) Part(name string) (agreement.Section, bool) {
	return agreement.Section{Rows: []agreement.Row{{Label: "Fact", Value: "1"}}, Table: agreement.Table{Header: []string{"No."}}}, name == "facts"
}

func TestASourceIsReadLineByLine(t *testing.T) {
	row := func(label, value string) []agreement.Row { return []agreement.Row{{Label: label, Value: value}} }
	for _, tt := range []struct {
		name, source string
		want         []agreement.Section
	}{
		{"nothing", "", nil},
		{"a section of nothing", "# Empty\n\n? A: \n{{if not .Name}}Nobody{{end}}\n", nil},
		{"a paragraph", "# A\nHello {{.Name}}, - # ?", []agreement.Section{{Title: "A", Paragraphs: []string{"Hello Ana, - # ?"}}}},
		{"a row", "# A\n- Name: {{.Name}}: x", []agreement.Section{{Title: "A", Rows: row("Name", "Ana: x")}}},
		{"an empty row", "# A\n- Name: \n? Other: ", []agreement.Section{{Title: "A", Rows: row("Name", "")}}},
		{"a row where there is a value", "# A\n? Name: {{.Name}}", []agreement.Section{{Title: "A", Rows: row("Name", "Ana")}}},
		{"clauses", "# A | clauses\n- B: c", []agreement.Section{{Title: "A", Clauses: true, Rows: row("B", "c")}}},
		{"a summary", "# A | summary\n- B: c", []agreement.Section{{Title: "A", AtAGlance: true, Rows: row("B", "c")}}},
		{"a part", "# A\n+ b\n## b\nx\n- B: {{.Name}}", []agreement.Section{{Title: "A", Paragraphs: []string{"x"}, Rows: row("B", "Ana")}}},
		{"a part by choice", "# A\n+ {{if .Name}}b{{end}}\n## b\n- B: c", []agreement.Section{{Title: "A", Rows: row("B", "c")}}},
		{"no part", "# A\n- B: c\n+ {{if not .Name}}b{{end}}", []agreement.Section{{Title: "A", Rows: row("B", "c")}}},
		{"a part of the facts", "# A\n+ facts\n+ b\n## b\n", []agreement.Section{{Title: "A", Rows: row("Fact", "1"), Table: agreement.Table{Header: []string{"No."}}}}},
	} {
		p, err := agreement.ParseProse(tt.source)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got := p.Sections(named{"Ana"}); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s is read as %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestAMalformedSourceIsRefused(t *testing.T) {
	for source, want := range map[string]string{
		"a":                    `line 1: "a" is in no section`,
		"# A | claws\n":        `line 1: unknown mark "claws"`,
		"# A\n- a":             `line 2: the row "a" has no label`,
		"# A\n\n? a":           `line 3: the row "a" has no label`,
		"# A\n{{.Name":         "line 2: template: :1: unclosed action",
		"# A\n- B: {{nope}}":   `line 2: template: :1: function "nope" not defined`,
		"# A\n{{if .Name}}a\n": "line 2: template: :1: unexpected EOF",
		"## a\n## a":           `line 2: part "a" has no name of its own`,
		"## \n":                `line 1: part "" has no name of its own`,
	} {
		if _, err := agreement.ParseProse(source); err == nil || err.Error() != want {
			t.Errorf("%q is refused by %v, want %s", source, err, want)
		}
	}
	for source, want := range map[string]string{"# A\n+ nope": `there is no part "nope"`, "# A\n{{.Nope}}": "can't evaluate field Nope"} {
		p, err := agreement.ParseProse(source)
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("%q ends with %s, want %s", source, got, want)
				}
			}()
			p.Sections(named{})
		}()
	}
}
