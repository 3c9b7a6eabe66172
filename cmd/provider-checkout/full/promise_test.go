package full_test

import (
	"database/sql"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

// T41: who edits the tables stops the sealing. Within a minute and the time that receipts promise, first confirms are refused and the
// server is not ready; repeated confirms and polls are answered, and everything goes on once the tables are put right.
func (b suite) refusesWhatItCannotSeal(t *testing.T) {
	const sealWithin = time.Minute // the least
	w := workload.New(t, b.Binary, newFile(t))
	w.Verdicts.AcceptAll = true
	s := serve(t, b.Command(serveArgs(w.Store, "--seal-within", sealWithin.String())...))
	c := apiclient.New(s.base, w.Keys)
	ready := func() *workload.Enrolment {
		e := w.Enrolments.Begin()
		if err := e.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if err := e.SetUp(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		return e
	}
	confirm := func(e *workload.Enrolment, want int) sandbox.Response {
		r, err := c.Confirm(t.Context(), e.Created, e.Created.ConfirmBody())
		if err != nil || r.Status != want {
			t.Fatalf("the confirm of %s: %+v, %v; want status %d", e.Order, r, err, want)
		}
		return r
	}
	sealed, late := ready(), ready()
	receipts := confirm(sealed, http.StatusOK).String("agreement.receipt")
	eventually(t, "the agreement is sealed", func() bool { return s.metric(t, "provider_checkout_evidence_unsealed_entries") == 0 })

	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(w.Store, "sqlite:")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	head := ""
	if err := db.QueryRow(`SELECT checkpoint FROM evidence_head`).Scan(&head); err != nil {
		t.Fatal(err)
	}
	put := func(checkpoint string) {
		if _, err := db.Exec(`UPDATE evidence_head SET checkpoint = ?`, checkpoint); err != nil {
			t.Fatal(err)
		}
	}
	put("x")
	asked := time.Now()
	confirm(late, http.StatusOK) // the promise still runs
	refused, stopped := ready(), time.Now()
	for s.readyz(t).StatusCode == http.StatusOK && testlevel.Elapsed(stopped) < 2*sealWithin+30*time.Second {
		time.Sleep(time.Second)
	}
	took := time.Since(stopped)
	if body := sandbox.Fetch(t, s.ops+"/readyz").Body; time.Since(asked) < sealWithin-10*time.Second ||
		!strings.Contains(body, `"ready":false`) || !strings.Contains(body, `"evidence":false`) {
		t.Fatalf("after %v /readyz says %s", took, body)
	}
	t.Logf("the server was not ready %v after the last agreement that it acknowledged", took.Round(time.Second))
	if r := confirm(refused, http.StatusServiceUnavailable); r.Header.Get("Retry-After") != "60" || r.String("error.code") != "INTERNAL_ERROR" {
		t.Errorf("the refusal is %+v, want INTERNAL_ERROR with Retry-After: 60", r)
	}
	if r := confirm(sealed, http.StatusOK); r.String("agreement.receipt") != receipts || r.At("already_confirmed") != true {
		t.Errorf("a repeated confirm: %+v", r)
	}
	confirm(late, http.StatusOK)
	if r, err := c.Poll(t.Context(), late.Created); err != nil || r.Status != http.StatusOK {
		t.Errorf("a poll: %+v, %v", r, err)
	}
	put(head)
	s.awaitReadyz(t, http.StatusOK)
	confirm(refused, http.StatusOK)
}
