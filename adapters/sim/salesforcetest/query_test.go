package salesforcetest_test

import (
	"net/url"
	"reflect"
	"strings"
	"testing"
)

// queried is a bench with three providers and a contact of one of them.
func queried(t *testing.T, change ...func(*options)) *bench {
	b := newBench(t, change...)
	for _, body := range []string{`{"Name":"Kowhai","Phone":"1"}`, `{"Name":"rata_100%","Website":"https://rata.example"}`, `{"Name":"Totara's","Phone":"2"}`} {
		b.create("Account", body)
	}
	account := b.sim.Records("Account")[0]["Id"]
	b.create("Contact", `{"LastName":"Tau","AccountId":"`+account+`"}`)
	b.create("Contact", `{"LastName":"Ana"}`)
	b.create("Opportunity", `{"Name":"a","StageName":"x","CloseDate":"2027-02-01","Amount":100}`)
	b.create("Opportunity", `{"Name":"b","StageName":"x","CloseDate":"2027-03-01","Amount":20.50,"Ended_At__c":"2027-02-01T13:00:00+13:00"}`)
	b.create("Opportunity", `{"Name":"c","StageName":"x","CloseDate":"2027-04-01"}`)
	b.create("Provider_Integration__c", `{"Name":"on","Provider_Code__c":"A","Active__c":true}`)
	b.create("Provider_Integration__c", `{"Name":"off","Provider_Code__c":"B","Active__c":false}`)
	return b
}

func TestQueries(t *testing.T) {
	b := queried(t)
	account := b.sim.Records("Account")[0]["Id"]
	for _, tt := range []struct {
		soql string
		want []any // names
	}{
		{"SELECT Name FROM Account", []any{"Kowhai", "rata_100%", "Totara's"}},
		{"select name from account where name = 'KOWHAI'", []any{"Kowhai"}},
		{`SELECT Name FROM Account WHERE Name = 'totara\'s'`, []any{"Totara's"}},
		{"SELECT Name FROM Account WHERE Id = '" + account[:15] + "'", []any{"Kowhai"}},
		{"SELECT Name FROM Account WHERE Phone != null", []any{"Kowhai", "Totara's"}},
		{"SELECT Name FROM Account WHERE Phone != NULL OR Website != null", []any{"Kowhai", "rata_100%", "Totara's"}},
		{"SELECT Name FROM Account WHERE Phone = '2' OR Name = 'kowhai' or Phone='2'", []any{"Kowhai", "Totara's"}},
		{"SELECT Name FROM Account WHERE Website != null", []any{"rata_100%"}},
		{"SELECT Name FROM Account WHERE Website = null", []any{"Kowhai", "Totara's"}},
		{"SELECT Name FROM Account WHERE Phone = null and Website = null", nil},
		{"SELECT Name FROM Account WHERE Id = '" + account + "' AND Website = null", []any{"Kowhai"}},
		{"SELECT Name FROM Account WHERE Id = '" + account + "' AND Phone = null ORDER BY Name LIMIT 1", nil},
		{"SELECT Name FROM Contact WHERE Name = 'tau' AND Account.Name = 'kowhai' AND AccountId != null", []any{"Tau"}},
		{"SELECT Name FROM Opportunity WHERE Ended_At__c = 2027-02-01T00:00:00Z AND Name = 'b'", []any{"b"}},
		{"SELECT Name FROM Opportunity WHERE Ended_At__c = 2027-02-01T00:00:00.001Z", nil},
		{"SELECT Name FROM Account ORDER BY Name DESC LIMIT 2", []any{"Totara's", "rata_100%"}},
		{"SELECT Name FROM Account ORDER BY Phone, Name ASC", []any{"rata_100%", "Kowhai", "Totara's"}},
		{"SELECT Name FROM Account LIMIT 0", nil},
		{"SELECT Name FROM Contact WHERE Account.Name = 'kowhai'", []any{"Tau"}},
		{"SELECT Name FROM Contact WHERE AccountId = '" + account + "'", []any{"Tau"}},
		{"SELECT Name FROM Contact WHERE AccountId != null", []any{"Tau"}},
		{"SELECT Name FROM Contact WHERE Account.Id = '" + account + "' OR AccountId = '" + account + "'", []any{"Tau"}},
		{"SELECT Name FROM Contact WHERE Account.Id = '" + account + "' OR Account.Phone = '2'", []any{"Tau"}},
		{"SELECT Name FROM Opportunity ORDER BY Amount DESC", []any{"c", "a", "b"}},
		{"SELECT Name FROM Opportunity WHERE Amount != null ORDER BY CreatedDate, Id", []any{"a", "b"}},
		{"SELECT Name FROM Provider_Integration__c WHERE Provider_Code__c = 'a' OR Provider_Code__c = 'x'", []any{"on"}},
		{"SELECT Name FROM Provider_Integration__c WHERE Provider_Code__c = 'b' OR Name = 'on'", []any{"on", "off"}},
	} {
		if got := b.column("Name", tt.soql); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s\n = %v, want %v", tt.soql, got, tt.want)
		}
	}
}

func TestAQueryCounts(t *testing.T) {
	b := queried(t)
	if got := b.OK(200, "GET", "query?q=SELECT+COUNT()+FROM+Account", ""); got.At("totalSize") != 3.0 || len(got.At("records").([]any)) != 0 {
		t.Errorf("count = %s", got.Raw)
	}
}

func TestAQueryIsReadInPages(t *testing.T) {
	b := queried(t, func(o *options) { o.QueryPage = 2 })
	first := b.OK(200, "GET", "query?q=SELECT+Name+FROM+Account", "")
	next := first.Text("nextRecordsUrl")
	if first.At("done") != false || first.At("totalSize") != 3.0 || len(first.At("records").([]any)) != 2 || !strings.HasPrefix(next, data+"query/01g") {
		t.Fatalf("first page = %s", first.Raw)
	}
	b.create("Account", `{"Name":"later"}`)
	for range 2 { // it can be read again, as by a client that lost the answer
		last := b.OK(200, "GET", next, "")
		if last.At("done") != true || last.Text("records.0.Name") != "Totara's" || last.At("nextRecordsUrl") != nil {
			t.Errorf("last page = %s", last.Raw)
		}
	}
	for _, locator := range []string{"01g", "01g5g0000004C93AAE", strings.TrimPrefix(next, data+"query/") + "9"} {
		b.refused(400, "INVALID_QUERY_LOCATOR", "GET", "query/"+locator, "")
	}
}

// What Salesforce would answer to and the simulator does not is refused as aloud as what is no query.
func TestQueriesThatAreRefused(t *testing.T) {
	b := newBench(t)
	for soql, code := range map[string]string{
		"":                                                "MALFORMED_QUERY",
		"SELECT":                                          "MALFORMED_QUERY",
		"SELECT FROM Contact":                             "MALFORMED_QUERY",
		"SELECT Id":                                       "MALFORMED_QUERY",
		"SELECT Id FROM Contact WHERE":                    "MALFORMED_QUERY",
		"SELECT Id FROM Contact WHERE Id":                 "MALFORMED_QUERY",
		"SELECT Id FROM Contact WHERE Id = ":              "MALFORMED_QUERY",
		"SELECT Id FROM Contact WHERE Id = x":             "MALFORMED_QUERY",
		"SELECT Id FROM Contact LIMIT -1":                 "MALFORMED_QUERY",
		"SELECT Id FROM Contact LIMIT 1 x":                "MALFORMED_QUERY",
		"SELECT Id FROM Contact ORDER Name":               "MALFORMED_QUERY",
		"SELECT Id, FROM Contact":                         "MALFORMED_QUERY",
		"SELECT Id FROM Contact; DELETE":                  "MALFORMED_QUERY",
		"SELECT Id FROM Contact WHERE LastName = 'x":      "MALFORMED_QUERY",
		`SELECT Id FROM Contact WHERE LastName = '\x'`:    "MALFORMED_QUERY",
		"SELECT Id FROM Contact WHERE LastName = 1":       "MALFORMED_QUERY",
		"SELECT Id FROM Contact WHERE IsDeleted = 'true'": "MALFORMED_QUERY",
		"SELECT Id FROM Contact WHERE LastName = 'a' AND Email = 'b' OR Email = null": "MALFORMED_QUERY",
		"SELECT Id FROM Contact WHERE LastName = 2027-02-01T00:00:00Z":                "MALFORMED_QUERY",
		"SELECT Id FROM Opportunity WHERE Ended_At__c = 2027-02-01Z":                  "MALFORMED_QUERY",
		"SELECT Id FROM Contact WHERE Account.Phone = null":                           "MALFORMED_QUERY",
		"SELECT Id FROM Contact WHERE LastName LIKE 'a%'":                             "MALFORMED_QUERY",
		"SELECT Id FROM Contact WHERE LastName IN ('a')":                              "MALFORMED_QUERY",
		"SELECT Id FROM Contact WHERE NOT LastName = 'a'":                             "MALFORMED_QUERY",
		"SELECT Id FROM Contact WHERE (LastName = 'a')":                               "MALFORMED_QUERY",
		"SELECT Id FROM Contact ORDER BY LastName NULLS LAST":                         "MALFORMED_QUERY",
		"SELECT Id FROM Contact OFFSET 1":                                             "MALFORMED_QUERY",
		"SELECT Id FROM Opportunity WHERE Amount = '1'":                               "MALFORMED_QUERY",
		"SELECT Id FROM Opportunity WHERE CloseDate = '2027-02-01'":                   "MALFORMED_QUERY",
		"SELECT Id FROM Contact WHERE Id = 'x'":                                       "INVALID_QUERY_FILTER_OPERATOR",
		"SELECT Id FROM Contact WHERE Description = 'x'":                              "INVALID_FIELD",
		"SELECT Nothing FROM Contact":                                                 "INVALID_FIELD",
		"SELECT Id FROM Contact WHERE Nothing = 'x'":                                  "INVALID_FIELD",
		"SELECT Id FROM Contact ORDER BY Nothing":                                     "INVALID_FIELD",
		"SELECT Account.Name FROM Contact":                                            "INVALID_FIELD",
		"SELECT Id FROM Contact WHERE Account.Nothing = 'x'":                          "INVALID_FIELD",
		"SELECT Id FROM Contact WHERE Nothing.Name = 'x'":                             "INVALID_FIELD",
		"SELECT Id FROM Contact WHERE Account.Parent.Name = 'x'":                      "INVALID_FIELD",
		"SELECT Id FROM Nothing__c":                                                   "INVALID_TYPE",
		"SELECT Id FROM Contact" + strings.Repeat(" ", 100_000):                       "QUERY_TOO_COMPLICATED",
		strings.Repeat("x", 9000):                                                     "MALFORMED_QUERY",
	} {
		b.refused(400, code, "GET", "query?q="+url.QueryEscape(soql), "")
	}
}
