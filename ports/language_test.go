package ports_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// Comments and manuals name a thing by a noun. The test finds the definitions by paraphrase, and the pronouns that stand
// for a noun that was left out.

// paraphrases are the phrases that the test refuses. The first one counts only where a text begins.
var paraphrases = []*regexp.Regexp{
	regexp.MustCompile(`^(?:(?:The|An?)\s+)?[\w.’'/-]+(?:\s+[\w-]+){0,3}?\s+(?:is|are)\s+(?:what|who|whose|where|how|why)\b`),
	regexp.MustCompile(`\b(?:none|None\s+(?:is|are|was|were|has|have|may|can|must))\b(?:\s+of\s)?`),
	regexp.MustCompile(`(?i)\bthose(?:\s*[.,;:)]|\s*$|\s+(?:that|which|who|whose|of|with|in|at|to|from|for|are|is|were|was|on|by|and|or|before|after|where)\b)`),
	regexp.MustCompile(`(?i)\bones?\s+that\b`),
	regexp.MustCompile(`(?i)\bof\s+wh(?:ich|om)\s+there\b`),
}

func TestCommentsAndManualsNameThingsByNouns(t *testing.T) {
	err := fs.WalkDir(os.DirFS(".."), ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(file, ".git/") || strings.Contains(file, "node_modules/") {
			return err
		}
		for _, fault := range paraphrasesIn(t, file) {
			t.Error(fault + ": name the thing by a noun")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// paraphrasesIn returns file, line and words of each refused phrase in the comments of a Go file, or in a manual.
func paraphrasesIn(t *testing.T, file string) (faults []string) {
	t.Helper()
	look := func(line int, text string) {
		for _, phrase := range paraphrases {
			for _, at := range phrase.FindAllStringIndex(text, -1) {
				if words := strings.Join(strings.Fields(text[at[0]:at[1]]), " "); !strings.HasSuffix(words, " of") || strings.HasPrefix(words, "those") {
					faults = append(faults, fmt.Sprintf("%s:%d: %q", file, line+strings.Count(text[:at[0]], "\n"), words))
				}
			}
		}
	}
	source, err := os.ReadFile("../" + file)
	if err != nil {
		t.Fatal(err)
	}
	switch path.Ext(file) {
	case ".go":
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, file, source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range parsed.Comments {
			var text strings.Builder
			for _, comment := range group.List {
				text.WriteString(strings.TrimPrefix(strings.TrimPrefix(comment.Text, "//"), " ") + "\n")
			}
			look(files.Position(group.Pos()).Line, withoutQuotes(text.String()))
		}
	case ".md":
		for line, text := range strings.Split(withoutQuotes(string(source)), "\n") {
			for cell := range strings.SplitSeq(text, "|") {
				look(line+1, strings.TrimLeft(cell, " *#>-"))
			}
		}
	}
	return faults
}

var quoted = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`|\"[^\"\n]*\"|(?m:^\t.*$)")

// withoutQuotes returns a text in which code and quotations are left out, with all line breaks.
func withoutQuotes(text string) string {
	return quoted.ReplaceAllStringFunc(text, func(s string) string { return "…" + strings.Repeat("\n", strings.Count(s, "\n")) })
}
