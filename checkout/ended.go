package checkout

import (
	"strconv"
	"strings"
	"time"
)

// The payments of a confirmed checkout are owed though its mandate ends. The payer and the CRM are told when it ends,
// and when it is reinstated, once for each change of its status.

// endsAgain reports whether a mandate that is known to have ended has ended once more: it was reinstated meanwhile, of which others may
// have been told by a store that was lost.
func (o Observation) endsAgain(known Observation) bool {
	return o.Mandate == known.Mandate && o.Mandate.Dead() && !known.MandateSince.IsZero() && o.MandateSince.After(known.MandateSince)
}

// mandateChanged returns the jobs that report the mandate's status, which follows a known one; nothing unless the checkout is
// confirmed. The CRM is told of every status, and the payer of a dead status or a reinstatement. Where the processor gives no
// time for a status, its time is the time at which it was seen. A later answer that gives the time of an end leads to no notice.
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
	at := c.Setup.MandateSince
	if at.IsZero() {
		if at = now; !at.After(known.MandateSince) {
			at = known.MandateSince.Add(time.Millisecond)
		}
	}
	if kind := noticeOfMandate(m); kind != "" && !c.Ended() { // else the notice of the withdrawal tells of it
		n := c.notice(kind, "", now)
		n.ID = "ntc_" + hash(c.ID, string(kind), strconv.FormatInt(at.UnixMilli(), 10)) // a mandate reaches one dead status at a time
		jobs = append(jobs, n)
	}
	return jobs
}

// noticesOfMandate is the beginning of the kind of every notice about the mandate of a confirmed checkout.
const noticesOfMandate = "mandate_"

// NoticeOfReinstatement is the kind of the notice that payments can be taken again under a mandate that had ended.
const NoticeOfReinstatement NoticeKind = noticesOfMandate + "reinstated"

// noticeOfMandate returns the kind of the notice about a status that a mandate has reached: mandate_cancelled, for one; "" for a
// status that is neither dead nor takes payments.
func noticeOfMandate(m MandateStatus) NoticeKind {
	switch {
	case m.Dead():
		return NoticeKind(noticesOfMandate + m)
	case m.Confirmable():
		return NoticeOfReinstatement
	}
	return ""
}

// OfMandate reports whether a notice is about the mandate of a confirmed checkout.
func (k NoticeKind) OfMandate() bool { return strings.HasPrefix(string(k), noticesOfMandate) }
