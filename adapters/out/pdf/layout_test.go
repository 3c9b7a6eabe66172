package pdf_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// Wherever the payments end, no page but the last is half empty, and the last one is more than the record.
func TestPagesAreFilled(t *testing.T) {
	for n := 1; n <= 80; n += 3 {
		a := sample.Agreement(n)
		a.DirectDebit.Consent = agreement.Consent{Terms: "2026-11-24/2/0123456789abcdef", At: a.AcceptedAt}
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
		if record := slices.Index(last, "8. For the record"); record < 3 {
			t.Errorf("%d payments: the last page is %q, want a part of the section before the record with it", n, last)
		}
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

// A plan of one payment in the ordinary case, with the terms of the demonstration, is two pages.
func TestOnePaymentIsTwoPages(t *testing.T) {
	terms, err := os.ReadFile("../../../cmd/provider-checkout/demo-terms.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Terms []agreement.Block
	}
	if err := json.Unmarshal(terms, &file); err != nil {
		t.Fatal(err)
	}
	a := sample.Agreement(1)
	a.Pricing = money.Pricing{Price: 120_00, Principal: 120_00}
	a.Plan.Instalments = money.Instalments{Number: 1, Regular: 120_00, Final: 120_00}
	a.Schedule = money.Schedule(0, a.Plan)
	a.Terms.Blocks = file.Terms
	a.Terms.Authority.AuthorisationCode, a.Terms.Authority.Statement = "0123456", "particulars KOWHAI, code PLAN"
	a.DirectDebit.Consent = agreement.Consent{Terms: "2026-11-24/2/0123456789abcdef", At: a.AcceptedAt}
	if got := read(t, printed(t, a)).count; got != 2 {
		t.Errorf("the agreement on one payment has %d pages, want 2", got)
	}
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
