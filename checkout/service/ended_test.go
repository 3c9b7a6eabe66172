package service_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// inWorldWithAll is inWorld with a CRM outside of the store, and payers who are notified.
func inWorldWithAll(t *testing.T, test func(*testing.T, *world, *postbox, *crm), change ...func(*service.Config)) {
	t.Helper()
	p := &postbox{}
	c, outside := withCRM()
	inWorld(t, func(t *testing.T, w *world) { test(t, w, p, c) }, append(change, outside, func(c *service.Config) { c.Notifier = p })...)
}

// reaches has the processor say that the mandate reached a status now, and notify of that.
func (w *world) reaches(t *testing.T, event string, m checkout.MandateStatus, reason string) {
	t.Helper()
	says := mandate(m)
	says.MandateSince, says.MandateReason = w.clock.now().UTC().Truncate(time.Millisecond), reason
	w.processor.set(says)
	w.notify(t, false, event, "MD-1")
}

// becomes is reaches, and everything that follows from it.
func (w *world) becomes(t *testing.T, event string, m checkout.MandateStatus, reason string) {
	t.Helper()
	w.reaches(t, event, m, reason)
	w.runFor(t, 5*time.Second)
}

// Payer, CRM and operator are told once of each change, and nobody of a mandate that goes on.
func TestOfAMandateThatEndsAfterTheConfirmEverybodyIsTold(t *testing.T) {
	n, count := counted()
	inWorldWithAll(t, func(t *testing.T, w *world, mail *postbox, c *crm) {
		w.confirmed(t, "ORDER-1")
		w.runFor(t, 5*time.Second)
		mail.take()
		w.becomes(t, "EV1", checkout.MandateActive, "")
		if got := mail.take(); len(got) > 0 {
			t.Fatalf("of a mandate that is active there are the notices %+v", got)
		}
		for _, tt := range []struct {
			to       checkout.MandateStatus
			reason   string
			subject  string
			sentence string
		}{
			{checkout.MandateCancelled, "DISHONOUR-AC04", "has ended", "the account is closed"},
			{checkout.MandateActive, "", "works again", "works again"},
			{checkout.MandateFailed, "", "has ended", "did not accept it"},
		} {
			w.becomes(t, "EV2"+string(tt.to), tt.to, tt.reason)
			w.notify(t, false, "EV3"+string(tt.to), "MD-1") // it is not told again
			w.runFor(t, 5*time.Second)
			got := mail.take()
			if len(got) != 1 || !strings.Contains(got[0].Subject, tt.subject) || !strings.Contains(got[0].Text, tt.sentence) ||
				got[0].To.Email != "aroha@example.ac.nz" {
				t.Errorf("of %s the payer is sent %+v", tt.to, got)
			}
			_, e := c.lone(t, w)
			if e.Setup.Mandate != tt.to || e.Setup.MandateReason != tt.reason || e.Setup.MandateSince.IsZero() || e.Completions != 1 {
				t.Errorf("the CRM has %+v, want %s", e.Setup, tt.to)
			}
			r := w.records(t)["ORDER-1"]
			i := slices.IndexFunc(r.Moments, func(m checkout.Moment) bool {
				return m.Kind == checkout.MomentMandateChanged && m.Detail == strings.TrimSpace("mandate "+string(tt.to)+" "+tt.reason)
			})
			if i < 0 || r.Checkout.Setup.Mandate != tt.to || !r.Checkout.SetupComplete() {
				t.Errorf("of %s the journal has %+v", tt.to, r.Moments)
			}
		}
		for _, j := range w.jobs(t, "ORDER-1", checkout.JobAuthority) {
			if j.State != checkout.JobDone || j.Attempts != 1 {
				t.Errorf("job %s is %s after %d attempts", j.Job.ID, j.State, j.Attempts)
			}
		}
		if n.all[service.CountMandateCancelled] != 1 || n.all[service.CountMandateFailed] != 1 {
			t.Errorf("counted %v, want each end once", n.all)
		}
	}, count)
}

// A mandate was reinstated after the backup and has ended again, so that a restored store sees no change of its status. Payer and
// CRM know of the reinstatement from the lost store, and get the report of the second end.
func TestARestoredStoreTellsOfAMandateThatHasEndedAgain(t *testing.T) {
	inWorldWithAll(t, func(t *testing.T, w *world, mail *postbox, c *crm) {
		w.confirmed(t, "ORDER-1")
		w.runFor(t, 5*time.Second)
		w.becomes(t, "EV1", checkout.MandateCancelled, "")
		backup := w.store.Copy()
		w.becomes(t, "EV2", checkout.MandateActive, "")
		w.store, w.config.Store = backup, backup
		w = w.again(t)
		mail.take()
		w.becomes(t, "EV3", checkout.MandateCancelled, "DISHONOUR-AC04")
		ended := w.setup(t, "ORDER-1").MandateSince
		if _, e := c.lone(t, w); e.Setup.Mandate != checkout.MandateCancelled || !e.Setup.MandateSince.Equal(ended) || e.Setup.MandateReason == "" {
			t.Errorf("the CRM has %+v, want cancelled since %s", e.Setup, ended)
		}
		if got := mail.take(); len(got) != 1 || !strings.Contains(got[0].Subject, "has ended") {
			t.Errorf("the payer is sent %+v", got)
		}
		w.notify(t, false, "EV4", "MD-1") // it is not told again
		w.runFor(t, 5*time.Second)
		if got := mail.take(); len(got) > 0 {
			t.Errorf("of the same end the payer is sent %+v", got)
		}
	})
}

// A mandate ends, is reinstated and ends again while the clock of the process stands still, and the processor does not give the times
// of the ends yet: each change has its own report.
func TestOfEachEndIsToldThoughTheClockStandsStill(t *testing.T) {
	stands := time.Time{}
	inWorldWithAll(t, func(t *testing.T, w *world, _ *postbox, _ *crm) {
		id := w.confirmed(t, "ORDER-1").ID
		stands = w.clock.now()
		for range 2 {
			ended, active := mandate(checkout.MandateCancelled), mandate(checkout.MandateActive)
			time.Sleep(time.Minute)
			active.MandateSince = w.clock.now().UTC().Truncate(time.Millisecond)
			for _, says := range []checkout.Observation{ended, active} {
				w.processor.set(says)
				if got, err := w.Refresh(t.Context(), id); err != nil || got.Setup.Mandate != says.Mandate {
					t.Fatalf("the mandate is %s, %v; want %s", got.Setup.Mandate, err, says.Mandate)
				}
			}
		}
		if reports := w.jobs(t, "ORDER-1", checkout.JobAuthority); len(reports) != 4 {
			t.Errorf("the CRM is told by %d jobs, want one for each change", len(reports))
		}
	}, func(c *service.Config) {
		goes := c.Now
		c.Now = func() time.Time {
			if !stands.IsZero() {
				return stands
			}
			return goes()
		}
	})
}

// An end whose time the processor does not know yet is told at once, and the CRM gets the time and the reason once they are known: of what
// a restored store learns then, the CRM may have a reinstatement.
func TestTheCRMGetsTheTimeOfAnEndOnceItIsKnown(t *testing.T) {
	inWorldWithAll(t, func(t *testing.T, w *world, mail *postbox, c *crm) {
		w.confirmed(t, "ORDER-1")
		w.processor.set(mandate(checkout.MandateFailed))
		w.notify(t, false, "EV1", "MD-1")
		w.runFor(t, 5*time.Second)
		backup := w.store.Copy()
		w.becomes(t, "EV2", checkout.MandateActive, "")
		w.store, w.config.Store = backup, backup
		w = w.again(t)
		mail.take()
		for _, event := range []string{"EV3", "EV4"} {
			w.becomes(t, event, checkout.MandateFailed, "DISHONOUR-AC04")
			if _, e := c.lone(t, w); e.Setup.Mandate != checkout.MandateFailed || !e.Setup.MandateSince.Equal(w.setup(t, "ORDER-1").MandateSince) ||
				e.Setup.MandateReason == "" {
				t.Errorf("the CRM has %+v", e.Setup)
			}
			if got := mail.take(); event == "EV3" && len(got) > 0 {
				t.Errorf("of the same status the payer is sent %+v", got)
			}
		}
	})
}

// Without a notification a look finds that an active mandate ended, within a day.
func TestTheEndOfAMandateIsNoticedWithoutAPollOrANotification(t *testing.T) {
	inWorldWithMail(t, func(t *testing.T, w *world, mail *postbox) {
		w.confirmed(t, "ORDER-1")
		w.processor.set(mandate(checkout.MandateActive))
		w.runFor(t, 72*time.Hour)
		mail.take()
		w.processor.set(mandate(checkout.MandateBlocked))
		w.runFor(t, 24*time.Hour)
		if got := mail.take(); len(got) != 1 || !strings.Contains(got[0].Subject, "has ended") {
			t.Errorf("within a day of its end the payer is sent %+v", got)
		}
	})
}

// A notice that waits is sent only while it is true; the CRM gets what is so when it answers, once.
func TestWhatIsNoLongerSoIsNotTold(t *testing.T) {
	inWorldWithAll(t, func(t *testing.T, w *world, mail *postbox, c *crm) {
		w.confirmed(t, "ORDER-1")
		w.runFor(t, 5*time.Second)
		mail.take()
		mail.set(mailIsDown)
		c.disturb(fails, nil)
		w.becomes(t, "EV1", checkout.MandateCancelled, "")
		w.becomes(t, "EV2", checkout.MandateActive, "")
		mail.take()
		mail.set(nil)
		c.disturb(nil, nil)
		w.reports.take()
		w.runFor(t, 2*time.Hour)
		if got := mail.take(); len(got) != 1 || !strings.Contains(got[0].Subject, "works again") {
			t.Errorf("the payer is sent %+v, want that it works again alone", got)
		}
		if _, e := c.lone(t, w); e.Setup.Mandate != checkout.MandateActive || !e.Setup.MandateSince.Equal(w.setup(t, "ORDER-1").MandateSince) {
			t.Errorf("the CRM has %+v", e.Setup)
		}
	})
}

// A report that was under way when the mandate changed again is made again: the CRM has the latest in the end.
func TestTheLatestReportWins(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		w.confirms(t, w.ready(t, "ORDER-1"))
		c.disturb(once(func(ctx context.Context) error { // the first report is slow to arrive, and a later one overtakes it
			time.Sleep(3 * time.Second)
			return nil
		}), nil)
		stop := w.background(t)
		w.reaches(t, "EV1", checkout.MandateCancelled, "")
		time.Sleep(2 * time.Second)
		w.reaches(t, "EV2", checkout.MandateActive, "")
		time.Sleep(10 * time.Second)
		stop()
		if n := slices.Index(c.calls, "UpdateAuthority"); len(c.calls)-n != 3 {
			t.Errorf("calls %q, want three reports: late, in time, and the late one again", c.calls)
		}
		if _, e := c.lone(t, w); e.Setup.Mandate != checkout.MandateActive {
			t.Errorf("the CRM has %+v, want the mandate active", e.Setup)
		}
		for _, j := range w.jobs(t, "ORDER-1", checkout.JobAuthority) {
			if j.State != checkout.JobDone {
				t.Errorf("job %s is %s", j.Job.ID, j.State)
			}
		}
	})
}

// The records of the embedded CRM have the setup of the checkout: there is no report, and no job.
func TestTheEmbeddedCRMNeedsNoReport(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.confirms(t, w.ready(t, "ORDER-1"))
		w.becomes(t, "EV1", checkout.MandateCancelled, "")
		if jobs := w.jobs(t, "ORDER-1", checkout.JobAuthority); len(jobs) > 0 || w.config.CRM.UpdateAuthority(t.Context(), checkout.AuthorityUpdate{}) != nil {
			t.Errorf("jobs %+v", jobs)
		}
	})
}

// A mandate that ends before the confirm opens the page for another try, and nobody is told.
func TestOfAMandateThatEndsBeforeTheConfirmNobodyIsTold(t *testing.T) {
	inWorldWithAll(t, func(t *testing.T, w *world, mail *postbox, c *crm) {
		w.ready(t, "ORDER-1")
		w.runFor(t, 5*time.Second)
		mail.take()
		w.becomes(t, "EV1", checkout.MandateCancelled, "DISHONOUR-AC04")
		if got, r := mail.take(), w.records(t)["ORDER-1"]; len(got) > 0 || len(r.Events()) != 1 || len(w.jobs(t, "ORDER-1", checkout.JobAuthority)) > 0 {
			t.Errorf("the payer is sent %+v, and on record is %+v", got, r.Jobs)
		}
	})
}
