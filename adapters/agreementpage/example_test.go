package agreementpage_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/provider-checkout/provider-checkout/adapters/agreementpage"
)

// An embedder that knows who asks shows the payer the agreement, which it read from the store.
func ExamplePages_Write() {
	pages, err := agreementpage.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	show := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", agreementpage.Policy()+"; frame-ancestors 'none'")
		w.Header().Set("Cache-Control", "no-store")
		if err := pages.Write(w, diploma(4)); err != nil {
			http.Error(w, "Something went wrong.", http.StatusInternalServerError)
		}
	}
	answer := httptest.NewRecorder()
	show(answer, httptest.NewRequest(http.MethodGet, "/agreement", nil))
	fmt.Println(answer.Code, answer.Header().Get("Content-Type"))
	// Output: 200 text/html; charset=utf-8
}
