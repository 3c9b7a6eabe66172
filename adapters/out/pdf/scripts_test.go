package pdf_test

import (
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/testdata"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// person is a case of testdata/names.json.
type person struct{ Script, Given, Family, Name string }

func people(t testing.TB) []person {
	t.Helper()
	var v struct {
		Description string
		Cases       []person
	}
	testdata.Read(t, "names.json", &v)
	return v.Cases
}

// A name in any script is drawn with its own letters, and is read back as it is written.
func TestPrintDrawsLawfulNames(t *testing.T) {
	for _, p := range people(t) {
		a := sample.Agreement(1)
		a.Student.FirstName, a.Student.LastName, a.DirectDebit.AccountHolder = p.Given, p.Family, p.Name
		document := printed(t, a)
		if got, want := read(t, document).words(), words(t, a); got != want || strings.Count(got, squeeze(invisible.Replace(p.Name))) < 3 {
			t.Errorf("%s: the document of %s reads\n%s\nwant\n%s", p.Script, p.Name, got, want)
		}
		for _, fault := range conformance(t, parse(t, document)) {
			t.Errorf("%s: %s: %s", p.Script, p.Name, fault)
		}
	}
}
