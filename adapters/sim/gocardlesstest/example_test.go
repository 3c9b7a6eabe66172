package gocardlesstest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
)

// A client that repeats a create whose answer was lost learns that, and nothing is created twice.
func Example() {
	sim := gocardlesstest.New(gocardlesstest.Options{Token: "token"})
	defer sim.Close()
	server := httptest.NewServer(sim)
	defer server.Close()

	post := func(path, body string) string { // what a client does
		r, _ := http.NewRequest(http.MethodPost, server.URL+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer token")
		r.Header.Set("GoCardless-Version", gocardlesstest.Version)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "CHK1")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return err.Error()
		}
		defer answer.Body.Close()
		return answer.Status
	}
	create := `{"billing_requests":{"mandate_request":{"currency":"NZD"},"metadata":{"checkout_id":"CHK1"}}}`
	sim.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultErrorAfter, Times: 1})
	fmt.Println(post("/billing_requests", create))
	fmt.Println(post("/billing_requests", create))
	fmt.Println(sim.Statistics().RequestsByMetadata["checkout_id=CHK1"])
	// Output:
	// 500 Internal Server Error
	// 409 Conflict
	// 1
}
