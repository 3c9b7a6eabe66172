package agreement_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

func TestOneSectionIsTheSummary(t *testing.T) {
	for _, s := range text(t, diploma()) {
		if want := s.Title == "At a glance"; s.AtAGlance != want {
			t.Errorf("section %q is the summary: %v, want %v", s.Title, s.AtAGlance, want)
		}
	}
}

// A reader cites a section by its number and a term by a number of its own, whatever sections there are.
func TestSectionsAreNumbered(t *testing.T) {
	for name, a := range map[string]agreement.Agreement{"with terms": diploma(), "without": withoutTerms()} {
		n, cited := 0, ""
		for i, s := range text(t, a) {
			if i == 0 || s.AtAGlance {
				if s.Heading() != s.Title {
					t.Errorf("%s: the heading of %q is %q", name, s.Title, s.Heading())
				}
				continue
			}
			n++
			if want := fmt.Sprintf("%d. %s", n, s.Title); s.Heading() != want {
				t.Errorf("%s: the heading is %q, want %q", name, s.Heading(), want)
			}
			if s.Title == "Direct debit terms" {
				cited = s.Label(2)
			}
			if s.Title == "Names and contacts" && s.Label(0) != "Education provider" {
				t.Errorf("%s: a fact is labelled %q", name, s.Label(0))
			}
		}
		if cited != "6.3 Who can use the account" {
			t.Errorf("%s: the third of the direct debit terms is %q, want 6.3 Who can use the account", name, cited)
		}
	}
}

func withoutTerms() agreement.Agreement {
	a := diploma()
	a.Terms = agreement.Terms{}
	return a
}

func text(t *testing.T, a agreement.Agreement) []agreement.Section {
	t.Helper()
	sections, err := a.Text(sample.NewZealand(t))
	if err != nil {
		t.Fatal(err)
	}
	return sections
}

func section(t testing.TB, sections []agreement.Section, title string) agreement.Section {
	t.Helper()
	for _, s := range sections {
		if s.Title == title {
			return s
		}
	}
	t.Fatalf("there is no section %q", title)
	return agreement.Section{}
}

// plain writes sections line by line.
func plain(sections []agreement.Section) string {
	var b strings.Builder
	for i, s := range sections {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString("# " + s.Title + "\n")
		for _, p := range s.Paragraphs {
			b.WriteString(p + "\n")
		}
		for _, r := range s.Rows {
			b.WriteString(r.Label + ": " + r.Value + "\n")
		}
		if s.Table.IsZero() {
			continue
		}
		b.WriteString(strings.Join(s.Table.Header, " | ") + "\n")
		for i, cells := range append(s.Table.Rows, s.Table.Foot) {
			b.WriteString(strings.Join(cells, " | ") + "\n")
			if note := s.Table.Note(i); note != "" {
				b.WriteString("    " + note + "\n")
			}
		}
	}
	return b.String()
}
