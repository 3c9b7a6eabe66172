package salesforcetest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
)

// A client that repeats an upsert whose answer was lost makes one record.
func Example() {
	sim := salesforcetest.New(salesforcetest.Options{ClientID: "client", ClientSecret: "secret"})
	defer sim.Close()
	server := httptest.NewServer(sim)
	defer server.Close()

	answer, err := http.PostForm(server.URL+"/services/oauth2/token",
		url.Values{"grant_type": {"client_credentials"}, "client_id": {"client"}, "client_secret": {"secret"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	token := map[string]string{}
	if err := json.NewDecoder(answer.Body).Decode(&token); err != nil {
		fmt.Println(err)
		return
	}
	upsert := func() string { // what a client does
		r, _ := http.NewRequest(http.MethodPatch, token["instance_url"]+"/services/data/v61.0/sobjects/Contact/Provider_Checkout_Key__c/9f3a",
			strings.NewReader(`{"FirstName":"Mere","LastName":"Tau"}`))
		r.Header.Set("Authorization", "Bearer "+token["access_token"])
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return err.Error()
		}
		defer answer.Body.Close()
		return answer.Status
	}
	sim.Arm(salesforcetest.Fault{Kind: salesforcetest.FaultErrorAfter, Times: 1})
	fmt.Println(upsert())
	fmt.Println(upsert())
	for _, entry := range sim.Journal() {
		fmt.Println(entry.Action, entry.Type, entry.Key)
	}
	// Output:
	// 500 Internal Server Error
	// 200 OK
	// created Contact 9f3a
	// updated Contact 9f3a
}
