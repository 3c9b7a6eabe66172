package contract_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// besideSalesforce returns a service with a CRM outside of its store, whose background work runs until the test ends.
func besideSalesforce(t *testing.T) *suite {
	t.Helper()
	skipOtherWorlds(t)
	s := &suite{sandbox.NewOver(t, sandbox.Outside{Salesforce: true}, sandbox.Memory)}
	sandbox.Work(t, s.Service(t))
	return s
}

// enrolments has clients enrol n students, and calls look after each create, and each confirm, with the time at which it began. Each client
// moves the clock of all by two seconds an enrolment.
func (s *suite) enrolments(t *testing.T, clients, n int, look func(r response, began time.Time)) {
	t.Helper()
	var running sync.WaitGroup
	var next atomic.Int64
	for range clients {
		running.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				began := time.Now()
				created := s.Create(t, fmt.Sprint("ORDER-", i))
				look(created, began)
				s.SetUp(t, created)
				s.Clock.Forward(2 * time.Second)
				s.Get(t, "KOWHAI", created.CheckoutPath())
				began = time.Now()
				confirmed := s.Confirm(t, created)
				look(confirmed, began)
			}
		})
	}
	running.Wait()
}

// sets checks that the CRM has one set of records of each of n enrolments, which says what the store says.
func (s *suite) sets(t *testing.T, n int) {
	t.Helper()
	for object, key := range map[string]string{"Contact": "", "Opportunity": "Checkout_Id__c", "Direct_Debit_Authority__c": "",
		"Payment_Plan_Agreement__c": "Agreement_Number__c", "ContentVersion": ""} {
		all, keys := s.Org.Records(object), map[string]bool{}
		for _, r := range all {
			keys[r[key]] = true
		}
		if len(all) != n || key != "" && len(keys) != n {
			t.Errorf("the CRM has %d of %s, of %d, want %d", len(all), object, len(keys), n)
		}
	}
	for began := time.Now(); ; time.Sleep(250 * time.Millisecond) { // a mandate may have changed a moment ago
		other := s.otherRevisions(t)
		if len(other) == 0 {
			break
		}
		if testlevel.Elapsed(began) > time.Minute {
			t.Errorf("the CRM has %v, and the store no such revisions", other)
			break
		}
	}
	completed := map[string]int{}
	for _, e := range s.Org.Journal() {
		if e.Object == "Opportunity" && slices.Contains(e.Changed, "StageName") && e.Action == "updated" {
			completed[e.ID]++
		}
	}
	if counts := slices.Collect(maps.Values(completed)); len(counts) != n || slices.Max(counts) != 1 {
		t.Errorf("of %d enrolments %d were completed, one of them %d times", n, len(counts), slices.Max(counts))
	}
}

// otherRevisions returns the authorities in the CRM that are not complete as the store has them.
func (s *suite) otherRevisions(t *testing.T) (other []map[string]string) {
	revisions := map[string]bool{}
	for _, r := range s.Records(t) {
		revisions[fmt.Sprint(r.Checkout.Revision)] = true
	}
	for _, authority := range s.Org.Records("Direct_Debit_Authority__c") {
		if !revisions[authority["Revision__c"]] || authority["Enrolment_Stage__c"] != "complete" {
			other = append(other, authority)
		}
	}
	return other
}

// followed is the progress of an enrolment, as the store or the CRM has it.
type followed struct {
	revision int64
	stage    string
	number   string
}

// awaitFollowed waits until the CRM says of each checkout what the store says now, or something later.
func (s *suite) awaitFollowed(t *testing.T) {
	t.Helper()
	began, want := time.Now(), map[string]followed{}
	for _, r := range s.Records(t) {
		c := r.Checkout
		want[c.ID] = followed{c.Revision, "complete", c.Confirmation.AgreementNumber}
	}
	for ; ; time.Sleep(250 * time.Millisecond) {
		of, behind := map[string]string{}, len(want)
		for _, enrolment := range s.Org.Records("Opportunity") {
			of[enrolment["Id"]] = enrolment["Checkout_Id__c"]
		}
		for _, a := range s.Org.Records("Direct_Debit_Authority__c") {
			revision, _ := strconv.ParseInt(a["Revision__c"], 10, 64)
			w, ok := want[of[a["Opportunity__c"]]]
			if ok && revision >= w.revision && a["Enrolment_Stage__c"] == w.stage && a["Agreement_Number__c"] == w.number {
				behind--
			}
		}
		if behind == 0 {
			t.Logf("the CRM had %d enrolments as the store has them %v after its return", len(want), testlevel.Elapsed(began))
			return
		}
		if testlevel.Elapsed(began) > time.Minute {
			t.Fatalf("a minute after its return the CRM is behind the store with %d of %d enrolments", behind, len(want))
		}
	}
}

// awaitSynced lets the clock run until the CRM has been told of everything.
func (s *suite) awaitSynced(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		waiting, err := s.Store.Jobs(t.Context(), checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobSync}, State: checkout.JobPending}, 1)
		if err == nil && len(waiting) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the CRM is not told of %+v, %v", waiting, err)
		}
		s.Clock.Forward(time.Second)
	}
}

func (s *suite) has(object, field, value string) bool {
	return slices.ContainsFunc(s.Org.Records(object), func(r map[string]string) bool { return r[field] == value })
}

// On an ordinary day the CRM has the records when a create and a confirm are answered.
func TestTheCRMHasTheRecordsWhenACallIsAnswered(t *testing.T) {
	s := besideSalesforce(t)
	n := testlevel.Of(10, 1000)
	var cut atomic.Int64 // calls that a slow machine let wait until their limit
	// One client: with more, the clock passes the ten seconds after which a finished setup is synced amid the confirm that would do it.
	s.enrolments(t, 1, n, func(r response, began time.Time) {
		took := time.Since(began)
		number := r.String("agreement.number")
		missing := r.Status == http.StatusCreated && !s.has("Opportunity", "Checkout_Id__c", r.String("checkout.checkout_id")) ||
			r.Status == http.StatusOK && !s.has("Payment_Plan_Agreement__c", "Agreement_Number__c", number)
		switch {
		case missing && took > 2*time.Second:
			cut.Add(1)
		case missing:
			t.Errorf("the CRM has no record when this is answered after %v: %s", took, r.Body)
		case r.Status > http.StatusCreated:
			t.Errorf("answered %d %s", r.Status, r.Body)
		}
	})
	if cut.Load() > int64(n/100) {
		t.Errorf("void: %d calls of %d enrolments waited until their limit", cut.Load(), n)
	}
	s.awaitSynced(t)
	s.sets(t, n)
}

// However the CRM is away, creates and confirms are answered as ever, and soon; an operator is told; and once it is back it has what the
// store has, one set of records each.
func TestWhileTheCRMIsAwayEnrolmentsGoOnAndItFollows(t *testing.T) {
	testlevel.Full(t)
	t.Parallel()
	for _, kind := range []salesforcetest.FaultKind{salesforcetest.Reset, salesforcetest.Hang, salesforcetest.HTML, salesforcetest.RequestLimit} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := besideSalesforce(t)
			s.Org.Faults(func(salesforcetest.Call) salesforcetest.Fault { return salesforcetest.Fault{Kind: kind} })
			began := s.Clock.Now()
			if got := s.Send(t, http.MethodGet, "/v1/environment", ""); got.At("readiness.ready_for_api_calls") != true {
				t.Errorf("without the CRM: %s, want ready_for_api_calls", got.Body)
			}
			const n = 1000
			var mu sync.Mutex
			var all []time.Duration // in the order of the answers
			s.enrolments(t, 4, n, func(r response, began time.Time) {
				took := testlevel.Elapsed(began)
				mu.Lock()
				defer mu.Unlock()
				if all = append(all, took); r.Status > http.StatusCreated || took > 4*time.Second {
					t.Errorf("answered %d after %v: %s", r.Status, took, r.Body)
				}
			})
			if away := s.Clock.Now().Sub(began); away < 10*time.Minute {
				t.Errorf("void: the CRM was away for %v", away)
			}
			early, late := slices.Sorted(slices.Values(all[:n])), slices.Sorted(slices.Values(all[n:]))
			if took := early[len(early)*99/100]; took > 3*time.Second {
				t.Errorf("of the calls before the circuit breaker is open, one of a hundred takes %v", took)
			}
			if took := late[len(late)/4]; took > 50*time.Millisecond { // sixteen clients share the machine with other tests
				t.Errorf("of the calls after that, three of four take more than %v", took)
			}
			if took := late[len(late)*99/100]; took > time.Second {
				t.Errorf("of the calls after that, one of a hundred takes %v", took)
			}
			counts, err := s.Store.Troubles(t.Context(), s.Clock.Now())
			if err != nil || !slices.ContainsFunc(counts, func(c checkout.TroubleCount) bool { return c.Trouble == checkout.TroubleCRM && c.Count > 0 }) {
				t.Errorf("an operator is told %+v, %v", counts, err)
			}
			s.Org.Faults(nil)
			s.awaitFollowed(t)
			s.awaitSynced(t)
			s.sets(t, n)
		})
	}
}

// A CRM that fails a fifth of its calls, in every way, before or after it has carried them out, has one set of records each.
func TestACRMThatFailsAFifthOfItsCallsHasEachRecordOnce(t *testing.T) {
	testlevel.Full(t)
	t.Parallel()
	s := besideSalesforce(t)
	kinds := []salesforcetest.FaultKind{salesforcetest.Reset, salesforcetest.ServerError, salesforcetest.Unavailable, salesforcetest.HTML,
		salesforcetest.ExpiredToken, salesforcetest.TornBody}
	s.Org.Faults(func(c salesforcetest.Call) (f salesforcetest.Fault) {
		if c.Number%5 == 0 {
			f = salesforcetest.Fault{Kind: kinds[c.Number/5%len(kinds)], After: c.Number/30%2 == 0}
		}
		return f
	})
	const n = 100
	s.enrolments(t, 4, n, func(r response, _ time.Time) {
		if r.Status > http.StatusCreated {
			t.Errorf("answered %d %s", r.Status, r.Body)
		}
	})
	s.awaitSynced(t)
	s.Org.Faults(nil)
	s.sets(t, n)
}

// A rule of the organisation refuses the completion: the student has signed, the agreement stands, and the operator is told of it by the
// first payment until the rule is mended.
func TestARefusalOfTheCRMIsTheOperatorsToMend(t *testing.T) {
	s := besideSalesforce(t)
	created := s.Ready(t, "ORDER-1")
	s.awaitSynced(t)
	s.Org.Faults(func(salesforcetest.Call) salesforcetest.Fault {
		return salesforcetest.Fault{Kind: salesforcetest.Refuse, Object: "Payment_Plan_Agreement__c", Field: "Accepted_At__c"}
	})
	if confirmed := s.Confirm(t, created); confirmed.Status != http.StatusOK || confirmed.At("enrolment.status") != "complete" {
		t.Fatalf("the confirm is answered %d %s", confirmed.Status, confirmed.Body)
	}
	hits, err := s.Store.Find(t.Context(), checkout.Query{Trouble: checkout.TroubleCRM, Now: s.Clock.Now()}, 9)
	if err != nil || len(hits) != 1 || hits[0].Reason == "" {
		t.Fatalf("an operator is told %+v, %v", hits, err)
	}
	s.Org.Faults(nil)
	jobs, err := s.Store.Jobs(t.Context(), checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobSync}}, 9)
	if err != nil {
		t.Fatal(err)
	}
	operator := s.operator("the rule is mended")
	if n, err := operator.Retry(t.Context(), jobs); n != 1 || err != nil {
		t.Fatalf("Retry = %d, %v", n, err)
	}
	s.awaitSynced(t)
	s.sets(t, 1)
}
