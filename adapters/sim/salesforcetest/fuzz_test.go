package salesforcetest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
)

// ask calls a simulator without a server.
func ask(sim *salesforcetest.Simulator, token, method, path, media, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", media)
	w := httptest.NewRecorder()
	sim.ServeHTTP(w, r)
	return w
}

// signedIn returns a simulator with a student, and a token.
func signedIn(tb testing.TB) (*salesforcetest.Simulator, string) {
	sim := salesforcetest.New(salesforcetest.Options{ClientID: clientID, ClientSecret: clientSecret, DailyLimit: 1 << 30,
		Now: func() time.Time { return started }})
	tb.Cleanup(sim.Close)
	w := ask(sim, "", http.MethodPost, "/services/oauth2/token", "application/x-www-form-urlencoded", credentials(clientID, clientSecret).Encode())
	var token struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &token); err != nil {
		tb.Fatal(err)
	}
	if _, err := sim.Insert("Contact", map[string]any{"LastName": "Tau", "Provider_Checkout_Key__c": "k"}); err != nil {
		tb.Fatal(err)
	}
	return sim, token.Token
}

// FuzzQuery checks that every text is answered as a query or as a mistake, and that a result is no larger than the table.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"SELECT Id, LastName FROM Contact WHERE LastName = 'Tau' OR Account.Name = 'Kowhai' ORDER BY Name DESC, Id LIMIT 5",
		"SELECT COUNT() FROM Opportunity WHERE Amount != null", `SELECT Id FROM Contact WHERE LastName = '\'\\ā'`,
		"SELECT Id FROM ContentDocumentLink WHERE LinkedEntityId = '0035g0000004C92AAE'", "((((", "'", "SELECT COUNT(", `'\`,
	} {
		f.Add(seed)
	}
	sim, token := signedIn(f)
	f.Fuzz(func(t *testing.T, soql string) {
		w := ask(sim, token, http.MethodGet, data+"query?q="+url.QueryEscape(soql), "", "")
		var result struct {
			TotalSize *int
			Records   []any
		}
		switch {
		case !json.Valid(w.Body.Bytes()):
			t.Errorf("%q: no JSON: %s", soql, w.Body)
		case w.Code == http.StatusOK:
			if err := json.Unmarshal(w.Body.Bytes(), &result); err != nil || result.TotalSize == nil || *result.TotalSize > 1 {
				t.Errorf("%q: %v %s", soql, err, w.Body)
			}
		case w.Code != http.StatusBadRequest:
			t.Errorf("%q: %d %s", soql, w.Code, w.Body)
		}
	})
}

// FuzzWrite checks that every body is answered in the form of the API, and that there are the records of which the
// journal knows.
func FuzzWrite(f *testing.F) {
	for path, body := range map[string]string{
		"sobjects/Contact": contact("mere@example.nz"),
		"sobjects/Contact/Provider_Checkout_Key__c/k": `{"Account":{"Name":"x"},"AccountId":"001000000000000AAA"}`,
		"sobjects/Opportunity":                        `{"Name":"a","StageName":"b","CloseDate":"2027-01-01","Amount":1e999,"Number_Of_Instalments__c":"-0.5"}`,
		"sobjects/ContentVersion":                     file("%PDF", ""),
		"composite":                                   unit(opening()...),
	} {
		f.Add(path, body)
	}
	f.Fuzz(func(t *testing.T, path, body string) {
		sim, token := signedIn(t)
		address, err := url.Parse(data + path)
		if err != nil || address.Path == "" {
			t.Skip("no path")
		}
		for _, method := range []string{http.MethodPost, http.MethodPatch} {
			w := ask(sim, token, method, address.EscapedPath(), "application/json", body)
			if w.Code != http.StatusNoContent && !json.Valid(w.Body.Bytes()) || w.Code >= http.StatusInternalServerError {
				t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
		}
		known := map[string]int{}
		for _, e := range sim.Journal() {
			switch e.Action {
			case salesforcetest.Created:
				known[e.Type]++
			case salesforcetest.Deleted:
				known[e.Type]--
			}
		}
		there := sim.Statistics().Records
		for _, own := range []string{"Organization", "Contact"} { // one each from the beginning
			there[own]--
		}
		for object, n := range there {
			if n != known[object] {
				t.Errorf("%s: %d of %s, and the journal has %s", path, n, object, fmt.Sprint(known))
			}
		}
	})
}
