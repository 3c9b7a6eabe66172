package service_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
)

func TestAnApprovalThatNobodyDecidesLeavesOneRecord(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var asked []checkout.Approval
		for _, id := range []string{"apr_1", "apr_2"} {
			a := checkout.Approval{ID: id, Act: "withdraw", Target: "PPA-1", Detail: "error", Reason: "ticket 7", By: "Aroha", Role: "support",
				Person: "p1", AskedAt: w.clock.now().UTC().Truncate(time.Millisecond)}
			if again, err := a.Job().Approval(); err != nil || again != a {
				t.Fatalf("the job has %+v, %v; want %+v", again, err, a)
			}
			asked = append(asked, a)
		}
		_, err := w.store.Enqueue(t.Context(), []checkout.Job{asked[0].Job(), asked[1].Job()}, nil)
		must(t, err)
		decided := evidence.OfOperation("apr_2", evidence.Operation{At: w.clock.now(), Operator: "Aroha (support)", Approved: "Ben (compliance)"})
		must(t, w.store.RecordEvidence(t.Context(), decided))
		stop := w.background(t)
		time.Sleep(time.Minute)
		synctest.Wait()
		w.clock.forward(checkout.ApprovalLook)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := len(w.operations(t)); got != 1 {
			t.Errorf("%d records before the time is over, want the decision", got)
		}
		for id, want := range map[string]checkout.JobState{"apr_1": checkout.JobPending, "apr_2": checkout.JobDone} {
			if got := w.job(t, id).State; got != want {
				t.Errorf("after ten minutes %s is %s, want %s", id, got, want)
			}
		}
		w.clock.forward(checkout.ApprovalLife)
		time.Sleep(time.Minute)
		synctest.Wait()
		stop()
		leaves := w.operations(t)
		ended := `"operator":"Aroha (support)","operation":"withdraw expired","subject":"PPA-1","reason":"ticket 7","changes":["nobody decided in time"]`
		if len(leaves) != 2 || !strings.Contains(string(leaves[0].Leaf)+string(leaves[1].Leaf), ended) {
			t.Errorf("the records are %+v, want one more with %s", leaves, ended)
		}
		for id, want := range map[string]checkout.JobState{"apr_1": checkout.JobDropped, "apr_2": checkout.JobDone} {
			if got := w.job(t, id).State; got != want {
				t.Errorf("%s is %s, want %s", id, got, want)
			}
		}
		w.wantNoReports(t)
	})
}

// An operator who has the job attempted ends nothing before its time: the log would say that nobody decided in time.
func TestAnApprovalDoesNotRunOutEarly(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := checkout.Approval{ID: "apr_1", Act: "withdraw", Target: "PPA-1", By: "Aroha", AskedAt: w.clock.now().UTC().Truncate(time.Millisecond)}
		_, err := w.store.Enqueue(t.Context(), []checkout.Job{a.Job()}, nil)
		must(t, err)
		did := evidence.OfOperation("1", evidence.Operation{At: w.clock.now(), Operator: "Ben", Name: "jobs retry", Subject: "apr_1"})
		must(t, w.store.HastenJob(t.Context(), "apr_1", checkout.Moment{At: w.clock.now()}, did))
		stop := w.background(t)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := w.job(t, "apr_1"); got.State != checkout.JobPending || len(w.operations(t)) != 1 {
			t.Errorf("it is %s with %d records, want it to wait", got.State, len(w.operations(t)))
		}
		w.clock.forward(checkout.ApprovalLife)
		time.Sleep(time.Minute)
		synctest.Wait()
		stop()
		if got := w.job(t, "apr_1"); got.State != checkout.JobDropped || len(w.operations(t)) != 2 {
			t.Errorf("it is %s with %d records after its time", got.State, len(w.operations(t)))
		}
	})
}
