package agreementpage_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/provider-checkout/provider-checkout/adapters/in/agreementpage"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// An embedder that knows who asks shows the payer the agreement, which the store's method Agreement returns by its number.
func ExamplePages_Write() {
	pages, err := agreementpage.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	var store interface { // every store of this module
		Agreement(ctx context.Context, number string) (agreement.Agreement, error)
	} = oneAgreement{}
	show := func(w http.ResponseWriter, r *http.Request) {
		agreed, err := store.Agreement(r.Context(), r.PathValue("number"))
		if err != nil { // ports.ErrNotFound for an unknown number
			http.Error(w, "There is no such agreement.", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", agreementpage.Policy()+"; frame-ancestors 'none'")
		w.Header().Set("Cache-Control", "no-store")
		if err := pages.Write(w, agreed); err != nil {
			http.Error(w, "Something went wrong.", http.StatusInternalServerError)
		}
	}
	answer := httptest.NewRecorder()
	show(answer, httptest.NewRequest(http.MethodGet, "/agreement", nil))
	fmt.Println(answer.Code, answer.Header().Get("Content-Type"))
	// Output: 200 text/html; charset=utf-8
}

// oneAgreement stands for a store.
type oneAgreement struct{}

func (oneAgreement) Agreement(context.Context, string) (agreement.Agreement, error) {
	return sample.Agreement(4), nil
}
