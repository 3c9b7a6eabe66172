package pdf_test

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

func TestDocumentsStaySmall(t *testing.T) {
	for _, p := range people(t) {
		a := sample.Agreement(52)
		a.Student.FirstName, a.DirectDebit.AccountHolder = p.Name, p.Name
		if size := len(printed(t, a)); size > 80_000 {
			t.Errorf("an agreement on 52 payments with %s has %d bytes, want at most 80,000", p.Name, size)
		}
	}
}
