package salesforce_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// newTransported returns a CRM that is answered by a function, but for a token.
func newTransported(t testing.TB, answer func(*http.Request) (status int, body string)) *salesforce.CRM {
	t.Helper()
	return over(t, func(r *http.Request) *http.Response {
		status, body := answer(r)
		return answered(status, "", body)
	})
}

// over is newTransported for whole answers.
func over(t testing.TB, api func(*http.Request) *http.Response, change ...func(*salesforce.Options)) *salesforce.CRM {
	t.Helper()
	transport := roundTripper(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/token") {
			return answered(http.StatusOK, "", `{"access_token":"t","instance_url":"https://kowhai.example"}`), nil
		}
		return api(r), nil
	})
	o := salesforce.Options{Environment: catalogue.Sandbox, URL: "https://kowhai.example", ClientID: clientID,
		ClientSecret: clientSecret, Transport: transport}
	for _, f := range change {
		f(&o)
	}
	c, err := salesforce.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var idPattern = regexp.MustCompile(`^[A-Za-z0-9]{15}([A-Za-z0-9]{3})?$`)

// Whatever an answer holds, what comes of it is an error, or ids that have the form of ids.
func FuzzAnswer(f *testing.F) {
	const agreements = `"records":[{"Id":"a01000000000001AAA","Agreement_Number__c":"PPA-2027-000000001A5","Opportunity__c":"006000000000001AAA",
		"PDF_Content_Document_Id__c":"069000000000001AAA","Accepted_At__c":"2027-01-15T03:12:05.000+0000","First_Payment_Date__c":"2027-02-01"}]`
	const four = `{"compositeResponse":[
		{"referenceId":"contact","httpStatusCode":200,"body":{"records":[{"Id":"003000000000001AAA"}]}},
		{"referenceId":"opportunity","httpStatusCode":200,"body":{"records":[{"Id":"006000000000001AAA",
			"Course_Name__c":"Diploma in Business","Course_Price__c":100.0,"Upfront_Payment__c":0.0,"Amount_To_Finance__c":100.0,
			"Payment_Frequency__c":"Weekly","Number_Of_Instalments__c":3.0,"Instalment_Amount__c":33.33,"Final_Instalment_Amount__c":33.34,
			"First_Payment_Date__c":"2027-02-01"}]}},
		{"referenceId":"contact_role","httpStatusCode":200,"body":{"records":[{"Id":"00K000000000001AAA"}]}},
		{"referenceId":"authority","httpStatusCode":200,"body":{"records":[{"Id":"a00000000000001AAA","Mandate_Id__c":null}]}}],` + agreements + `}`
	five := strings.Replace(four, "}],", `},{"referenceId":"agreement","httpStatusCode":200,"body":{`+agreements+`}}],`, 1)
	f.Add(200, []byte(four))
	f.Add(200, []byte(five))
	f.Add(200, []byte(strings.ReplaceAll(five, "null", `"MD9"`)))
	f.Add(200, []byte(strings.ReplaceAll(four, "200", "404")))
	f.Add(200, []byte(strings.ReplaceAll(four, "AAA", "/..")))
	f.Add(200, []byte(`{"compositeResponse":null,"records":[null]}`))
	f.Add(200, []byte(`{"done":true,"records":[{"Id":"a02000000000001AAA","IsSandbox":true,"Provider_Code__c":"A","Name":"A","Account__c":null,"Environment__c":"sandbox",
		"Active__c":true,"API_Enabled__c":true,"Pricing_Mode__c":"legacy","Enrolment_Origins__c":null,"Success_URL__c":null,"Cancel_URL__c":null,
		"Display_Name__c":null,"Primary_Colour__c":null,"Logo_URL__c":null,"Support_Email__c":null,"Notice_Days__c":1e0,
		"Provider_Integration__c":"a02000000000001AAA","Course__c":"a02000000000001AAA","Course_Code__c":"A","Course_Name__c":"A","Price__c":1.005,
		"Upfront_Payment__c":-1,"Payment_Frequency__c":"Weekly","Number_Of_Instalments__c":1e99,"Instalment_Amount__c":null}]}`))
	f.Add(204, []byte(``))
	f.Add(307, []byte(`{}`))
	f.Add(400, []byte(`[{"message":"Last Name: data value too large: O'Brien (max length=80)","errorCode":"STRING_TOO_LONG","fields":["LastName"]}]`))
	f.Add(404, []byte(`<html>`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 499 {
			return // the adapter asks again after such an answer and a pause
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		c := newTransported(t, func(*http.Request) (int, string) { return status, string(body) })
		opened, err := c.Open(ctx, enrolment())
		if err == nil && !(idPattern.MatchString(opened.ContactID) && idPattern.MatchString(opened.OpportunityID) && idPattern.MatchString(opened.DDAID)) {
			t.Errorf("Open = %+v", opened)
		}
		complain(t, err)
		done, err := c.Complete(ctx, completion(checkout.Records{ContactID: "003000000000001AAA", OpportunityID: "006000000000001AAA",
			DDAID: "a00000000000001AAA"}))
		if err == nil && !(idPattern.MatchString(done.AgreementID) && (done.DocumentID == "" || idPattern.MatchString(done.DocumentID))) {
			t.Errorf("Complete = %+v", done)
		}
		complain(t, err)
		on, err := c.Agreed(ctx, key)
		if err == nil && (on.Number == "" || strings.ContainsAny(on.Number, " <\n") || !on.FirstPayment.Valid()) {
			t.Errorf("Agreed = %+v", on)
		}
		complain(t, err)
		lacks, err := c.Check(ctx)
		if err == nil && len(lacks) == 0 {
			t.Errorf("Check finds nothing in %s", body)
		}
		file, places, found, err := c.ProviderFile(ctx)
		complain(t, err)
		if err == nil {
			configured, err := providerfile.ParseRecords(file, places, found)
			faults, _ := errors.AsType[providerfile.Faults](err)
			inFile := func(f catalogue.Fault) bool { return strings.HasPrefix(f.Place, "providers") }
			if (len(faults) > 0) != (err != nil) || slices.ContainsFunc(faults, inFile) {
				t.Errorf("ParseRecords = %v of %s; want faults of records", err, file)
			}
			for _, conf := range configured {
				if faults := conf.Check(); faults != nil {
					t.Errorf("ParseRecords = %+v; its faults are %v", conf, faults)
				}
			}
		}
		_ = c.Ready(ctx)
	})
}
