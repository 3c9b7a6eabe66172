package desk

import (
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// maxJobs is the most jobs of one checkout that its page shows.
const maxJobs = 200

// checkoutView is the content of a checkout's page.
type checkoutView struct {
	checkout.Checkout
	State                               string
	Provider                            string // its name
	Charges                             []money.Charge
	Moments                             []momentView
	Jobs                                []jobView
	Student                             string // as far as the role and the session may see it
	Revealed                            bool
	Links                               Links
	Linkable, Cancellable, Withdrawable bool
}

// momentView is a line of the timeline.
type momentView struct {
	checkout.Moment
	Text string
}

// jobView is an event, a notice or a call that a checkout led to.
type jobView struct {
	checkout.JobRecord
	Log    []checkout.Attempt // of an event
	What   string
	State  string
	Retry  string // the words of the button; "" for a job that has no button
	Notice bool   // the session may have the e-mail sent again
}

// checkout shows the record of one checkout. Personal data is masked until a reason is given.
func (v *visit) checkout() error {
	ctx := v.r.Context()
	c, err := v.Store.Checkout(ctx, v.id())
	if err != nil {
		return err
	}
	moments, err := v.Store.Moments(ctx, c.ID)
	if err != nil {
		return err
	}
	jobs, err := v.Store.Jobs(ctx, checkout.JobFilter{CheckoutID: c.ID, OldestFirst: true}, maxJobs)
	if err != nil {
		return err
	}
	view := checkoutView{Checkout: c, State: stateOf(c, v.Now()), Charges: c.Schedule(), Links: v.Links,
		Revealed: v.session.Revealed == c.ID && v.Now().Before(v.session.RevealedUntil)}
	view.Student = v.student(c, view.Revealed)
	concluded := c.Confirmation.AgreementNumber != ""
	view.Cancellable = c.Status == checkout.SetupRequired && !concluded && !c.Erased()
	view.Linkable = view.Cancellable && !c.SetupComplete() && !c.Setup.Settling()
	view.Withdrawable = c.Status == checkout.Confirmed && !c.Withdrawn() && !c.Erased()
	if p, err := v.Store.Provider(ctx, c.ProviderCode); err == nil {
		view.Provider = p.DisplayName()
	}
	// A payer's page is noted later than it was shown.
	slices.SortStableFunc(moments, func(a, b checkout.Moment) int { return a.At.Compare(b.At) })
	for _, m := range moments {
		view.Moments = append(view.Moments, momentView{m, momentTexts[m.Kind]})
	}
	for _, j := range jobs {
		shown := v.job(j)
		if j.Job.Kind == checkout.JobDeliver {
			if shown.Log, err = v.Store.Attempts(ctx, j.Job.Event()); err != nil {
				return err
			}
		}
		view.Jobs = append(view.Jobs, shown)
	}
	return v.page("checkout.html", view.State, view)
}

// student returns the name of the student as far as the role may see it, and everything once a reason was given.
func (v *visit) student(c checkout.Checkout, revealed bool) string {
	switch {
	case c.Student == (checkout.Student{}):
		return "erased"
	case revealed:
		return c.Student.Name() + ", " + c.Student.Email
	case v.session.roleFor(operate.ActName) != "":
		return c.Student.Name() + ", " + c.Student.MaskedEmail()
	}
	return "•••"
}

// job returns a job as it is shown.
func (v *visit) job(j checkout.JobRecord) jobView {
	view := jobView{JobRecord: j, What: jobTexts[j.Job.Kind], State: jobStates[j.State]}
	switch {
	case j.Job.Kind == checkout.JobDeliver && (j.State == checkout.JobDead || j.State == checkout.JobDone):
		if v.session.roleFor(operate.ActRedeliver) != "" {
			view.Retry = "Send again"
		}
	case j.Job.Kind == checkout.JobNotify && j.State != checkout.JobPending && j.Job.Name != string(checkout.NoticeOfLink):
		view.Notice = v.session.roleFor(operate.ActNotice) != ""
	case j.State == checkout.JobPending && v.session.roleFor(operate.ActRetry) != "":
		view.Retry = "Try now"
	}
	return view
}

// reveal shows the personal data of a checkout for a while, and records the look.
func (v *visit) reveal() error {
	c, err := v.Store.Checkout(v.r.Context(), v.id())
	if err == nil {
		err = v.operator.CheckReason(c)
	}
	if err == nil {
		err = v.operator.Looked(v.r.Context(), string(operate.ActReveal), c.ID)
	}
	if err == nil {
		v.session.Revealed, v.session.RevealedUntil = c.ID, v.Now().Add(revealedFor)
		err = v.keep(v.w, v.session)
	}
	return v.back(v.here(), err)
}

// retry has a job of the checkout attempted now: an event that was sent is sent again, anything else is due.
func (v *visit) retry() error {
	ctx, id := v.r.Context(), v.field("job")
	found, err := v.Store.Jobs(ctx, checkout.JobFilter{ID: id, CheckoutID: v.id()}, 1)
	switch {
	case err != nil:
		return err
	case id == "" || len(found) == 0:
		return ports.ErrNotFound
	case found[0].Job.Kind == checkout.JobDeliver && found[0].State != checkout.JobPending:
		return v.back(v.here()+"#jobs", v.operator.Redeliver(ctx, id, v.Sender, func(operate.Redelivered) {}))
	}
	if err := v.in(operate.ActRetry); err != nil {
		return err
	}
	return v.back(v.here()+"#jobs", v.operator.Retry(ctx, id))
}

// stateOf returns the state of a checkout in words.
func stateOf(c checkout.Checkout, now time.Time) string {
	switch {
	case c.Withdrawn():
		return "Withdrawn"
	case c.Status == checkout.Cancelled:
		return "Cancelled by the " + string(c.End.By)
	case c.Status == checkout.Confirmed && c.Setup.Mandate.Dead():
		return "Confirmed; the mandate has ended"
	case c.Status == checkout.Confirmed:
		return "Confirmed"
	case c.Erased():
		return "Erased before it was confirmed"
	case c.Status == checkout.Reserved:
		return "Waits for the CRM to open it"
	case !c.Enrolled():
		return "Agreed; waits for the CRM"
	case c.SetupComplete():
		return "Set up; waits for the provider’s confirm"
	case c.Setup.Settling():
		return "The payer is done; the bank is not"
	case !now.Before(c.Newest().Expires):
		return "Not set up; the link has expired"
	case c.Setup.BillingRequestID != "":
		return "The payer has begun the bank setup"
	}
	return "Waits for the payer"
}

// momentTexts say what happened.
var momentTexts = map[checkout.MomentKind]string{
	checkout.MomentCreated: "Created by the provider", checkout.MomentOpened: "Payer opened the page",
	checkout.MomentPressed: "Payer went on to the bank", checkout.MomentReturned: "Payer came back from the bank",
	checkout.MomentSetupDone: "Direct debit set up", checkout.MomentSetupFailed: "Setup failed",
	checkout.MomentMandateChanged: "Mandate changed", checkout.MomentConfirmed: "Confirmed",
	checkout.MomentRefused: "Call refused", checkout.MomentCRMWaits: "CRM did not answer, or refused",
	checkout.MomentCRMDone: "CRM has it", checkout.MomentEventDelivered: "Event delivered",
	checkout.MomentEventFailed: "Event not taken", checkout.MomentNoticeSent: "E-mail sent",
	checkout.MomentNoticeFailed: "E-mail not sent", checkout.MomentLinkRenewed: "New link made",
	checkout.MomentCancelled: "Cancelled", checkout.MomentWithdrawn: "Agreement withdrawn",
	checkout.MomentErased: "Personal data erased", checkout.MomentOperated: "Operator’s act",
}

// jobTexts say what a job does; it is about a checkout.
var jobTexts = map[checkout.JobKind]string{
	checkout.JobDeliver: "Event", checkout.JobRedeliver: "Event, again", checkout.JobNotify: "E-mail",
	checkout.JobOpen: "CRM: open", checkout.JobComplete: "CRM: complete",
	checkout.JobAuthority: "CRM: mandate", checkout.JobEnd: "CRM: end", checkout.JobLook: "Look at the setup",
	checkout.JobCancel: "Processor: end",
}

// jobStates say how far a job is.
var jobStates = map[checkout.JobState]string{
	checkout.JobPending: "waits", checkout.JobDone: "done", checkout.JobDead: "given up", checkout.JobDropped: "not sent",
}

// At returns when a job was settled, or is due.
func (j jobView) At() time.Time {
	if j.SettledAt.IsZero() {
		return j.Due
	}
	return j.SettledAt
}
