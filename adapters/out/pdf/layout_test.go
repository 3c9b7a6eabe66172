package pdf_test

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// Wherever the payments end, no page but the last is half empty, and the last one is more than the record.
func TestPagesAreFilled(t *testing.T) {
	for n := 1; n <= 80; n += testlevel.Of(3, 1) {
		a := sample.Agreement(n)
		a.DirectDebit.Consent = agreement.Consent{Terms: "2026-11-29/2/0123456789abcdef", At: a.AcceptedAt}
		isFilled(t, a, n)
		a.Terms.Cancellation = agreement.Cancellation{WorkingDays: 5, How: "Write to help@lender.example.\n\nThe lender pays back the rest."}
		a.Terms.Hardship, a.Terms.Disputes = "help@lender.example", agreement.DisputeScheme{Name: "A Dispute Scheme", Contact: "https://disputes.example"}
		a.Terms.DefaultFees = agreement.FeeList{Stated: true}
		a.Terms.Authority = agreement.Authority{AuthorisationCode: "0000000", Statement: "particulars LENDER, code PLAN", Initiator: "Pūtea Limited"}
		isFilled(t, a, n)
	}
}

// isFilled fails if the document of an agreement on n payments has a page that is nearly empty.
func isFilled(t *testing.T, a agreement.Agreement, n int) {
	t.Helper()
	rendered := printed(t, a)
	pages := contents(t, rendered)
	for i, content := range pages[:len(pages)-1] {
		if lowest := lowestText(content); lowest > 842/2 {
			t.Errorf("%d payments: page %d of %d ends %.0f points above its foot", n, i+1, len(pages), lowest-60)
		}
	}
	if lowest := lowestText(pages[len(pages)-1]); len(pages) > 1 && lowest > 842*3/4 {
		t.Errorf("%d payments: the last of %d pages is nearly empty, it ends at %.0f points", n, len(pages), lowest)
	}
	last := read(t, rendered).pages[len(pages)-1]
	if record := slices.IndexFunc(last, func(line string) bool { return strings.HasSuffix(line, ". For the record") }); record < 3 {
		t.Errorf("%d payments: the last page is %q, want a part of the section before the record with it", n, last)
	}
}

var place = regexp.MustCompile(` ([\d.]+) Td `)

// lowestText returns the place of the lowest text of a page above its foot, in points.
func lowestText(content []byte) float64 {
	lowest := 842.0
	for _, m := range place.FindAllSubmatch(content, -1) {
		if y, _ := strconv.ParseFloat(string(m[1]), 64); y > 50 {
			lowest = min(lowest, y)
		}
	}
	return lowest
}

func TestDocumentsStaySmall(t *testing.T) {
	for _, p := range people(t) {
		a := listed(52)
		a.Student.FirstName, a.DirectDebit.AccountHolder = p.Name, p.Name
		if size := len(printed(t, a)); size > 80_000 {
			t.Errorf("an agreement on 52 payments with %s has %d bytes, want at most 80,000", p.Name, size)
		}
	}
}

// Paragraphs and lists of a term are what they are for readers that go by the structure.
func TestListsAreLists(t *testing.T) {
	f := parse(t, printed(t, listed(1)))
	c := &checker{file: f, t: t}
	var numberings []string
	c.walk(func(e ref, path []name) {
		if len(path) > 4 && path[len(path)-1] == "L" { // within another
			numberings = append(numberings, string(f.dict(f.dict(e)["A"])["ListNumbering"].(name)))
		}
	})
	if got := strings.Join(numberings, " "); got != "LowerAlpha Disc" {
		t.Errorf("the lists of the terms are numbered %q, want letters and bullets", got)
	}
}
