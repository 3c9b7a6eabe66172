package checkout

import (
	"cmp"
	"strconv"
	"time"
)

// The payments of a confirmed checkout are owed though its mandate ends. The payer and the CRM are told when it ends, once for each
// dead status, and the CRM when it is reinstated.

// endsAgain reports whether a mandate that is known to have ended has ended once more: it was reinstated meanwhile, of which others may
// have been told by a store that was lost.
func (o Observation) endsAgain(known Observation) bool {
	return o.Mandate == known.Mandate && o.Mandate.Dead() && !known.MandateSince.IsZero() && o.MandateSince.After(known.MandateSince)
}

// mandateChanged returns the jobs that report the mandate's status, which follows a known one; nothing unless the checkout is
// confirmed. The CRM is told of every status, and the payer of a dead one. Where the processor gives no time for a status, its time
// is the time at which it was seen. A later answer that gives the time of an end leads to no notice.
func (c Checkout) mandateChanged(known Observation, now time.Time) []Job {
	m := c.Setup.Mandate
	if c.Status != Confirmed {
		return nil
	}
	jobs := []Job{c.Job(JobSync, c.Confirmation.RequestID, now, settledSetup)}
	told := m.Dead() || known.Mandate.Dead()
	if changed := m != known.Mandate || c.Setup.endsAgain(known); !told || !changed {
		return jobs
	}
	jobs[0].Due = time.Time{}
	if m.Dead() && !c.Ended() { // else the notice of the withdrawal tells of it
		n, at := c.notice(NoticeOfMandateEnd, "", now), cmp.Or(c.Setup.MandateSince, now)
		n.ID = "ntc_" + hash(c.ID, n.Name, strconv.FormatInt(at.UnixMilli(), 10)) // a mandate reaches one dead status at a time
		jobs = append(jobs, n)
	}
	return jobs
}
