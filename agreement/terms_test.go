package agreement_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement"
)

// terms are an operator's.
func terms() agreement.Terms {
	return agreement.Terms{
		Lender: agreement.Lender{Name: "Pūtea Limited", Address: "1 Lambton Quay, Wellington 6011", Registration: "FSP000001"},
		Blocks: []agreement.Block{
			{Title: "Right to cancel", Text: "The payer can cancel the plan within 5 working days of this agreement."},
			{Title: "Hardship", Text: "A payer who cannot pay can ask the lender for a change of the plan."},
		},
	}
}

func TestTermsCheck(t *testing.T) {
	block := func(title, text string) func(*agreement.Terms) {
		return func(terms *agreement.Terms) { terms.Blocks[1] = agreement.Block{Title: title, Text: text} }
	}
	blocks := func(n int) func(*agreement.Terms) {
		return func(terms *agreement.Terms) {
			terms.Blocks = slices.Repeat([]agreement.Block{{Title: "title", Text: "text"}}, n)
		}
	}
	tests := []struct {
		name   string
		change func(*agreement.Terms)
		want   string // "" for none
	}{
		{"whole terms are right", func(*agreement.Terms) {}, ""},
		{"so are none", func(t *agreement.Terms) { *t = agreement.Terms{} }, ""},
		{"and blocks without a lender", func(t *agreement.Terms) { t.Lender = agreement.Lender{} }, ""},
		{"a lender may have no registration", func(t *agreement.Terms) { t.Lender.Registration = "" }, ""},
		{"a lender has a name", func(t *agreement.Terms) { t.Lender.Name = "" }, "lender.name must be given"},
		{"and an address", func(t *agreement.Terms) { t.Lender.Address = "" }, "lender.address must be given"},
		{"a registration is a line", func(t *agreement.Terms) { t.Lender.Registration = strings.Repeat("ā", 256) },
			"lender.registration must have at most 255 characters"},
		{"an address is one too", func(t *agreement.Terms) { t.Lender.Address = "1 Lambton Quay\nWellington" },
			"lender.address must not contain control characters"},
		{"a block has a title", block("", "text"), "terms[1].title must be given"},
		{"and a text", block("title", ""), "terms[1].text must be given"},
		{"every fault is reported", block("", ""), "terms[1].title must be given\nterms[1].text must be given"},
		{"a title of 255 characters", block(strings.Repeat("ā", 255), "text"), ""},
		{"a title is a line", block(strings.Repeat("ā", 256), "text"), "terms[1].title must have at most 255 characters"},
		{"a text of 5000 characters", block("title", strings.Repeat("ā", 5000)), ""},
		{"a text ends", block("title", strings.Repeat("ā", 5001)), "terms[1].text must have at most 5000 characters"},
		{"a line break is no text", block("title", "a\nb"), "terms[1].text must not contain control characters"},
		{"text is UTF-8", block("title\xff", "text"), "terms[1].title must be valid UTF-8"},
		{"text that changes its direction", block("title\u202e", "text"),
			"terms[1].title must not contain U+202E, which changes the direction of the text"},
		{"40 blocks", blocks(40), ""},
		{"blocks end", blocks(41), "terms must be at most 40"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			given, got := terms(), ""
			tt.change(&given)
			if err := given.Check(); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("Check() = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestOnlyEmptyTermsAreZero(t *testing.T) {
	for _, tt := range []struct {
		terms agreement.Terms
		want  bool
	}{
		{agreement.Terms{}, true},
		{agreement.Terms{Blocks: []agreement.Block{}}, true},
		{agreement.Terms{Lender: agreement.Lender{Name: "Pūtea Limited"}}, false},
		{agreement.Terms{Blocks: []agreement.Block{{Title: "Hardship"}}}, false},
	} {
		if got := tt.terms.IsZero(); got != tt.want {
			t.Errorf("IsZero of %+v = %v, want %v", tt.terms, got, tt.want)
		}
	}
}
