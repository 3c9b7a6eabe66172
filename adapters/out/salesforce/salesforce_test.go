package salesforce_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/crmtest"
	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

const (
	clientID     = "3MVGclient"
	clientSecret = "sandbox_client_secret"
)

// bench is a CRM over an organisation.
type bench struct {
	*salesforce.CRM
	org *salesforcetest.Org
}

// newBench returns a CRM over an organisation; change changes their options.
func newBench(t testing.TB, change ...func(*salesforcetest.Options, *salesforce.Options)) *bench {
	t.Helper()
	sim := salesforcetest.Options{ClientID: clientID, ClientSecret: clientSecret}
	o := salesforce.Options{Environment: catalogue.Sandbox, ClientID: clientID, ClientSecret: clientSecret}
	for _, c := range change {
		c(&sim, &o)
	}
	org := salesforcetest.New(sim)
	server := httptest.NewServer(org)
	o.URL = server.URL
	crm, err := salesforce.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { org.Close(); server.Close(); _ = crm.Close() })
	return &bench{crm, org}
}

// stages has a stage of its own for each that an enrolment goes through.
const stages = `{"stages.open": "open", "stages.complete": "complete", "stages.cancelled": "cancelled", "stages.withdrawn": "withdrawn"}`

func TestCRM(t *testing.T) {
	crmtest.Run(t, func(t *testing.T) *crmtest.Bench {
		b := newBench(t, mapped(t, stages))
		return &crmtest.Bench{CRM: b.CRM, Stored: b.stored, Trouble: b.trouble, Delete: func(_ testing.TB, c checkout.Checkout) {
			for _, r := range b.org.Records("Direct_Debit_Authority__c") {
				if r["Provider_Checkout_Key__c"] == c.Records(catalogue.Sandbox).DDAID {
					b.org.Delete(r["Id"])
				}
			}
		}}
	})
}

// trouble has calls, other than requests for a token, suffer something.
func (b *bench) trouble(of func(int) crmtest.Trouble) {
	calls := 0
	b.org.Faults(func(c salesforcetest.Call) salesforcetest.Fault {
		if !strings.HasPrefix(c.Path, "/services/data/") {
			return salesforcetest.Fault{}
		}
		calls++
		is := of(calls - 1)
		kinds := map[crmtest.Trouble]salesforcetest.FaultKind{crmtest.LostBefore: salesforcetest.Reset, crmtest.LostAfter: salesforcetest.Reset,
			crmtest.Refused: salesforcetest.Refuse, crmtest.Busy: salesforcetest.RequestLimit}
		return salesforcetest.Fault{Kind: kinds[is], After: is == crmtest.LostAfter}
	})
}

// stored returns what the organisation has of a checkout.
func (b *bench) stored(_ testing.TB, c checkout.Checkout) (s crmtest.Stored) {
	ids := c.Records(catalogue.Sandbox)
	with := func(object, field, value string) (found []map[string]string) {
		for _, r := range b.org.Records(object) {
			if r[field] == value {
				found = append(found, r)
			}
		}
		return found
	}
	const key = "Provider_Checkout_Key__c"
	contacts, opportunities, authorities := with("Contact", key, ids.ContactID), with("Opportunity", key, ids.OpportunityID),
		with("Direct_Debit_Authority__c", key, ids.DDAID)
	s.Contacts, s.Enrolments, s.Authorities = len(contacts), len(opportunities), len(authorities)
	for _, r := range contacts {
		s.LastName = r["LastName"]
	}
	for _, r := range authorities {
		s.Mandate = checkout.MandateStatus(r["Mandate_Status__c"])
	}
	for _, r := range opportunities {
		s.CourseName, s.End, s.FirstPayment = r["Course_Name__c"], r["End__c"], r["First_Payment_Date__c"]
		for _, e := range b.org.Journal() {
			if stage, ok := e.Fields["StageName"]; ok && e.ID == r["Id"] {
				s.Stages = append(s.Stages, stage)
			}
		}
		for _, a := range with("Payment_Plan_Agreement__c", "Opportunity__c", r["Id"]) {
			s.Agreements, s.Number, s.Facts = s.Agreements+1, a["Agreement_Number__c"], a["Facts__c"]
			for _, d := range with("ContentVersion", "FirstPublishLocationId", a["Id"]) {
				s.Documents, s.Document = s.Documents+1, []byte(d["VersionData"])
			}
		}
	}
	return s
}
