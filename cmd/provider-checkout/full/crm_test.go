package full_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
)

// TestCRM checks that an organisation of Salesforce says of each enrolment what the store says, with one set of records, whatever happens
// to the processes that tell it.
func TestCRM(t *testing.T) {
	t.Parallel()
	b := newSuite(t)
	t.Run("has each record once when processes on PostgreSQL are killed at its calls", func(t *testing.T) {
		b.killedAtCallsOfTheCRM(t, postgrestest.URL(t), 2)
	})
	t.Run("has each record once when a process on SQLite is killed at its calls", func(t *testing.T) { b.killedAtCallsOfTheCRM(t, newFile(t), 1) })
	t.Run("is not set back by a process that was paused with calls in the air", b.pausedWithCallsOfTheCRM)
	t.Run("is not set back by a store that was restored", b.restoredBesideTheCRM)
}

// organisation is an organisation that each process reaches at an address of its own.
type organisation struct {
	*salesforcetest.Org
	env []string // the variables of each process

	mu sync.Mutex
	at func(process int, call string, carryOut func()) // called with each call; nil carries it out
}

// The kinds of calls, as they end.
const (
	callToken     = "/token"
	callComposite = "/composite"
	callPDF       = "/ContentVersion"
)

func newOrganisation(t *testing.T, processes int) *organisation {
	t.Helper()
	o := &organisation{Org: salesforcetest.New(salesforcetest.Options{ClientID: "client", ClientSecret: "client_secret"})}
	t.Cleanup(o.Close)
	for i := range processes {
		address := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			o.mu.Lock()
			at := o.at
			o.mu.Unlock()
			carryOut := func() { o.ServeHTTP(w, r) }
			if at == nil {
				carryOut()
				return
			}
			at(i, r.URL.Path, carryOut)
		}))
		t.Cleanup(address.Close)
		o.env = append(o.env, "PROVIDER_CHECKOUT_CRM=salesforce PROVIDER_CHECKOUT_SALESFORCE_CLIENT_ID=client "+
			"PROVIDER_CHECKOUT_SALESFORCE_CLIENT_SECRET=client_secret PROVIDER_CHECKOUT_SALESFORCE_URL="+address.URL)
	}
	return o
}

// atCalls has calls pass through a function; nil ends that.
func (o *organisation) atCalls(f func(process int, call string, carryOut func())) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.at = f
}

// stage is the progress of an enrolment, as a store or an organisation has it.
type stage struct{ name, agreement, document string }

// stages returns what an organisation says of each checkout.
func (o *organisation) stages() map[string]stage {
	documents, checkouts, all := map[string]string{}, map[string]string{}, map[string]stage{}
	for _, r := range o.Records("ContentVersion") {
		documents[strings.TrimSuffix(r["PathOnClient"], ".pdf")] = r["PDF_SHA256__c"]
	}
	for _, r := range o.Records("Opportunity") {
		checkouts[r["Id"]] = r["Checkout_Id__c"]
	}
	for _, r := range o.Records("Direct_Debit_Authority__c") {
		number := r["Agreement_Number__c"]
		all[checkouts[r["Opportunity__c"]]] = stage{r["Enrolment_Stage__c"], number, documents[number]}
	}
	return all
}

// stagesOf returns what a store says of each checkout.
func stagesOf(on []*record) map[string]stage {
	all := map[string]stage{}
	for _, r := range on {
		s := stage{name: "open", agreement: r.Text("agreement_number")}
		switch {
		case r.Text("ended.at") != "" && s.agreement != "":
			s.name = "withdrawn"
		case r.Text("ended.at") != "":
			s.name = "cancelled"
		case s.agreement != "":
			s.name = "complete"
		}
		for _, d := range r.related["document"] {
			s.document = d.Text("sha256")
		}
		all[r.Text("checkout_id")] = s
	}
	return all
}

// check checks that the organisation has one set of records for each of n enrolments, that no enrolment was completed twice, and that no
// older revision was written over a newer one.
func (o *organisation) check(t *testing.T, n int) {
	t.Helper()
	for _, object := range []string{"Contact", "Opportunity", "Direct_Debit_Authority__c", "Payment_Plan_Agreement__c", "ContentVersion"} {
		if all := o.Records(object); len(all) != n {
			t.Errorf("the CRM has %d of %s, want %d", len(all), object, n)
		}
	}
	completed, revisions := map[string]int{}, map[string]int64{}
	for _, e := range o.Journal() {
		if e.Object == "Opportunity" && e.Action == "updated" && e.Fields["StageName"] == "Closed Won" {
			if completed[e.ID]++; completed[e.ID] > 1 {
				t.Errorf("an enrolment was completed %d times", completed[e.ID])
			}
		}
		if text, ok := e.Fields["Revision__c"]; ok {
			revision, err := strconv.ParseInt(text, 10, 64)
			if err != nil || revision < revisions[e.ID] {
				t.Errorf("revision %q was written over %d, %v", text, revisions[e.ID], err)
			}
			revisions[e.ID] = revision
		}
	}
	if len(revisions) == 0 || len(completed) == 0 {
		t.Error("void: nothing was written")
	}
}

// awaitFollowed waits until the organisation says of every enrolment what the store says.
func (c *cluster) awaitFollowed(t *testing.T, o *organisation) {
	t.Helper()
	began := time.Now()
	eventually(t, "the CRM says what the store says", func() bool { return maps.Equal(o.stages(), stagesOf(c.records(t))) })
	t.Logf("the CRM said what the store says %v after the last fault", testlevel.Elapsed(began))
}

// A process is killed at each kind of call, before and after the organisation has carried it out.
func (b suite) killedAtCallsOfTheCRM(t *testing.T, store string, processes int) {
	t.Parallel()
	o := newOrganisation(t, processes)
	c := newCluster(t, b, store, o.env...)
	c.verdicts.acceptAll = true
	clients := c.newBackend(&c.addrs)
	stop := load{clients: 8, pace: 50 * time.Millisecond, excused: apiclient.IsCut}.enrol(t, c.workload, clients.Client)
	for n := range testlevel.Runs(t, 24) {
		victim, kind, after, nth := n%processes, []string{callComposite, callPDF, callToken}[n/2%3], n/6%2 == 0, c.rand.IntN(6)
		if kind == callToken {
			nth = 0 // it is the first call of a process
		}
		killed := make(chan struct{})
		var mu sync.Mutex
		o.atCalls(func(process int, call string, carryOut func()) {
			mu.Lock()
			hit := process == victim && strings.HasSuffix(call, kind)
			if hit {
				nth--
			}
			hit = hit && nth == -1
			mu.Unlock()
			if hit && !after {
				c.servers[victim].Kill(t)
				close(killed)
				panic(http.ErrAbortHandler)
			}
			carryOut()
			if hit {
				c.servers[victim].Kill(t)
				close(killed)
			}
		})
		if kind == callToken {
			c.servers[victim].Kill(t)
			c.launch(t, victim)
		}
		select {
		case <-killed:
		case <-time.After(patience):
			t.Fatalf("no process made call %s", kind)
		}
		o.atCalls(nil)
		c.launch(t, victim)
		c.servers[victim].awaitListening(t)
	}
	stop()
	c.finish(t, clients.Client)
	c.awaitFollowed(t, o)
	c.settle(t)
	stopAll(t, c.servers...)
	c.check(t)
	o.check(t, len(c.enrolments.all))
}

// A process is stopped with a create's call in the air, and each call of a confirm. Another process takes the jobs over, and agreements
// are withdrawn meanwhile. Then the calls arrive, and the process goes on.
func (b suite) pausedWithCallsOfTheCRM(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t, 2)
	c := newCluster(t, b, postgrestest.URL(t), o.env...)
	c.verdicts.acceptAll = true
	paused, other := c.newBackend(c.only(0)), c.newBackend(c.only(1))

	confirms := []string{callComposite, callPDF, callComposite}
	var begun []*enrolment
	for range confirms {
		e := c.enrolments.begin()
		if err := errors.Join(e.create(t.Context(), paused.Client), e.setUp(t.Context(), paused.Client)); err != nil {
			t.Fatal(err)
		}
		begun = append(begun, e)
	}
	eventually(t, "the CRM knows of the direct debits", func() bool {
		return !slices.ContainsFunc(o.Records("Direct_Debit_Authority__c"), func(r map[string]string) bool { return r["Mandate_Id__c"] == "" })
	})

	arrive := make(chan struct{}) // closed when the calls in the air arrive
	var inTheAir, requests sync.WaitGroup
	hold := func(nth int, send func()) { // the nth call from now on
		held := make(chan struct{})
		var mu sync.Mutex
		o.atCalls(func(process int, call string, carryOut func()) {
			mu.Lock()
			nth--
			hit := process == 0 && nth == -1
			mu.Unlock()
			if hit {
				inTheAir.Add(1)
				defer inTheAir.Done()
				close(held)
				<-arrive
			}
			carryOut()
		})
		requests.Go(send)
		<-held
	}
	confirm := func(e *enrolment, by *backend) error {
		r, err := by.Confirm(context.WithoutCancel(t.Context()), e.created, e.created.ConfirmBody())
		if err == nil {
			err = e.noteConfirm(r)
		}
		return err
	}
	for nth, e := range begun {
		hold(nth, func() { _ = confirm(e, paused) }) // it may be answered before the process is stopped, or not
	}
	opened := c.enrolments.begin()
	hold(0, func() { _ = opened.create(context.WithoutCancel(t.Context()), paused.Client) })
	c.servers[0].Signal(t, syscall.SIGSTOP)
	o.atCalls(nil)

	if err := opened.create(t.Context(), other.Client); err != nil {
		t.Error(err)
	}
	for _, e := range begun {
		if err := confirm(e, other); err != nil {
			t.Error(err)
		}
	}
	c.awaitFollowed(t, o) // when the leases are over
	for _, e := range begun[:2] {
		c.Run(t, "withdraw", e.agreement[1], "--ground", "provider", "--reason", "the course is full", "--store", c.place)
	}
	c.awaitFollowed(t, o)
	close(arrive)
	inTheAir.Wait()
	c.servers[0].Signal(t, syscall.SIGCONT)
	requests.Wait()
	<-time.After(3 * time.Second) // what it may still write
	c.awaitFollowed(t, o)
	c.finish(t, other.Client)
	if err := opened.complete(t.Context(), other.Client, c.rand); err != nil {
		t.Error(err)
	}
	c.awaitFollowed(t, o)
	stopAll(t, c.servers...)
	o.check(t, len(c.enrolments.all))
}

// Life goes on with a store that was restored to an earlier time. What the CRM knows better is not taken back, and an operator is told.
func (b suite) restoredBesideTheCRM(t *testing.T) {
	t.Parallel()
	o := newOrganisation(t, 1)
	k := &sqliteFile{Binary: b.Binary, path: filepath.Join(t.TempDir(), "records.db")}
	c := newCluster(t, b, k.store(), o.env...)
	c.verdicts.acceptAll = true
	clients := c.newBackend(&c.addrs)
	enrol := func(n int, steps ...func(*enrolment) error) (all []*enrolment) {
		for range n {
			e := c.enrolments.begin()
			for _, step := range steps {
				if err := step(e); err != nil {
					t.Fatal(err)
				}
			}
			all = append(all, e)
		}
		return all
	}
	create := func(e *enrolment) error { return e.create(t.Context(), clients.Client) }
	complete := func(e *enrolment) error { return e.complete(t.Context(), clients.Client, c.rand) }
	const of = 5
	confirmed, open := enrol(of, create, complete), enrol(of, create)
	c.awaitFollowed(t, o)
	k.backup(t, 0)(t)
	for _, e := range open {
		if err := complete(e); err != nil { // which the store will know nothing of
			t.Fatal(err)
		}
	}
	enrol(of, create, complete) // of which it will know nothing at all
	withdrawn := confirmed[0]
	c.Run(t, "withdraw", withdrawn.agreement[1], "--ground", "provider", "--reason", "the course is full", "--store", c.place)
	c.awaitFollowed(t, o)
	was := o.stages()
	c.servers[0].Kill(t)
	k.restore(t)
	c.rewind(c.records(t))
	c.launch(t, 0)
	c.servers[0].awaitListening(t)
	c.Run(t, "crm", "sync", "--since", "2026-01-01", "--store", c.place)
	c.finish(t, clients.Client) // every create and confirm is answered as if there were no CRM

	// The store's new life is in the CRM, or in what an operator is told: never neither.
	differ := func() (list []string) {
		at := o.stages()
		for id, s := range stagesOf(c.records(t)) {
			if at[id] != s {
				list = append(list, id)
			}
		}
		slices.Sort(list)
		return list
	}
	var today string
	eventually(t, "what differs stands in today", func() bool {
		today = c.Run(t, "today", "--json", "--store", c.place)
		list := differ()
		return !slices.ContainsFunc(list, func(id string) bool { return !strings.Contains(today, id) }) && len(list) >= of+1
	})
	at := o.stages()
	for id, s := range was {
		if at[id].agreement != s.agreement || at[id].document != s.document || at[id].name != s.name {
			t.Errorf("the CRM said %+v of %s before the store was restored, and then %+v", s, id, at[id])
		}
	}
	for _, e := range open {
		if e.agreement[1] == "" || !strings.Contains(today, e.agreement[1]) || !strings.Contains(today, was[e.ids[0]].agreement) {
			t.Errorf("today does not name the agreements %s and %s of %s:\n%s", e.agreement[1], was[e.ids[0]].agreement, e.ids[0], today)
		}
	}
	stopAll(t, c.servers...)
	o.check(t, len(was)) // the records of an order have the same keys in every life
}
