package gocardless_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// recording keeps the bodies of the flows that are made.
type recording struct{ flows []string }

func (r *recording) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Path == "/billing_request_flows" {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		r.flows = append(r.flows, string(body))
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	return http.DefaultTransport.RoundTrip(req)
}

// A parent may pay: the student's details are filled in, and what the payer makes of them counts.
func TestThePayerMayBeAnotherThanTheStudent(t *testing.T) {
	sent := &recording{}
	b := newBench(t, func(_ *gocardlesstest.Options, o *gocardless.Options) { o.Transport = sent })
	request := b.begin(t, "a")
	var flow struct {
		Flow map[string]any `json:"billing_request_flows"`
	}
	if len(sent.flows) != 1 || json.Unmarshal([]byte(sent.flows[0]), &flow) != nil {
		t.Fatalf("flows %q, want one", sent.flows)
	}
	for _, lock := range []string{"lock_customer_details", "lock_bank_account"} {
		if got, ok := flow.Flow[lock]; ok && got != false {
			t.Errorf("%s is %v: the payer could not give other details", lock, got)
		}
	}
	if filled, _ := json.Marshal(flow.Flow["prefilled_customer"]); string(filled) != `{"email":"maia@example.nz","family_name":"O'Brien","given_name":"Māia"}` {
		t.Errorf("filled in is %s, want the student's details", filled)
	}
	if _, err := b.sim.Complete(request.URL, gocardlesstest.Payer{GivenName: "Hana", FamilyName: "Ngata", Email: "hana@example.nz"}); err != nil {
		t.Fatal(err)
	}
	if got := b.observe(t, request.ID, checkout.Observation{}); got.AccountHolder != "Hana Ngata" {
		t.Errorf("the account holder is %q, want the payer, Hana Ngata", got.AccountHolder)
	}
	body := b.get(t, b.url+"/billing_requests/"+request.ID, "Authorization", "Bearer "+token, "GoCardless-Version", "2015-07-06")
	if !strings.Contains(body, `"given_name":"Hana"`) || strings.Contains(body, "Māia") {
		t.Errorf("the customer at GoCardless is not the payer:\n%s", body)
	}
}
