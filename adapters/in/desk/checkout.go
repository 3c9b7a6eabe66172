package desk

import (
	"errors"
	"slices"
	"strings"
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
	Waits                               []approvalView // acts on it that wait for a second person
	Linkable, Cancellable, Withdrawable bool
	Agreed, Readable, Provable          bool // there is an agreement with a PDF; the session may read it now; its proof can be had
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
	view := checkoutView{Checkout: c, State: stateOf(c, v.Now()), Charges: c.Schedule(), Links: v.Links, Revealed: v.revealed(c.ID)}
	view.Student = v.student(c, view.Revealed)
	concluded := c.Confirmation.AgreementNumber != ""
	view.Agreed = concluded && !c.Erased() && v.session.roleFor(operate.ActAgreement) != ""
	view.Readable = view.Agreed && view.Revealed
	view.Provable = concluded && v.session.roleFor(operate.ActAudit) != ""
	view.Cancellable = c.Status == checkout.SetupRequired && !concluded && !c.Erased()
	view.Linkable = view.Cancellable && !c.SetupComplete() && !c.Setup.Settling()
	view.Withdrawable = c.Status == checkout.Confirmed && !c.Withdrawn() && !c.Erased()
	if p, err := v.Store.Provider(ctx, c.ProviderCode); err == nil {
		view.Provider = p.DisplayName()
	}
	// A payer's page is noted later than it was shown.
	slices.SortStableFunc(moments, func(a, b checkout.Moment) int { return a.At.Compare(b.At) })
	for _, m := range moments {
		m.Detail = detailOf(m)
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
	if view.Waits, err = v.waitsFor(c.ID, c.Confirmation.AgreementNumber); err != nil {
		return err
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
	view := jobView{JobRecord: j, What: jobTexts[j.Job.Kind], State: jobState(j)}
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

// revealed reports whether the personal data of a checkout is shown in the session.
func (v *visit) revealed(id string) bool {
	return v.session.Revealed == id && v.Now().Before(v.session.RevealedUntil)
}

// reveal shows the personal data of a checkout for a while, its agreement too, and records the look.
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
	if v.field("open") == agreementFile {
		return v.lead(v.here()+"/"+agreementFile, err)
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
		if _, err = v.operator.Redeliver(ctx, id); errors.Is(err, checkout.ErrPending) {
			err = nil // it is sent in a moment, as the page says
		}
		return v.back(v.here(), err)
	}
	if err := v.in(operate.ActRetry); err != nil {
		return err
	}
	return v.back(v.here(), v.operator.Retry(ctx, id))
}

// stateOf returns the state of a checkout in words.
func stateOf(c checkout.Checkout, now time.Time) string {
	return capital(c.Words(now))
}

// capital returns words with a capital at the beginning.
func capital(words string) string { return strings.ToUpper(words[:1]) + words[1:] }

// detailOf returns the detail of a moment in words.
func detailOf(m checkout.Moment) string {
	switch m.Kind {
	case checkout.MomentOpened, checkout.MomentReturned:
		return pageTexts[checkout.PageState(m.Detail)]
	case checkout.MomentCRMDone, checkout.MomentCRMWaits:
		kind, rest, _ := strings.Cut(m.Detail, ": ")
		return strings.TrimSpace(strings.TrimPrefix(jobTexts[checkout.JobKind(kind)], "CRM: ") + " " + rest)
	case checkout.MomentSetupDone, checkout.MomentSetupFailed, checkout.MomentMandateChanged:
		return strings.ReplaceAll(m.Detail, "_", " ")
	}
	return m.Detail
}

// pageTexts say which page the payer saw.
var pageTexts = map[checkout.PageState]string{
	checkout.PageOpen: "to set up the direct debit", checkout.PageSettling: "while the bank was not done",
	checkout.PageDone: "after the setup", checkout.PageEnded: "after its end", checkout.PageExpired: "whose link had expired",
	checkout.PageNotEnabled: "of a provider that may not be used", checkout.PageCancelled: "of the cancelled checkout",
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

// MandateWords returns the state of the mandate in words.
func (v checkoutView) MandateWords() string {
	return strings.ReplaceAll(string(v.Setup.Mandate), "_", " ")
}

// jobState says how far a job is.
func jobState(j checkout.JobRecord) string {
	switch {
	case j.State == checkout.JobDone && j.Job.Kind == checkout.JobDeliver:
		return "delivered"
	case j.State == checkout.JobDone && j.Job.Kind == checkout.JobNotify:
		return "sent"
	case j.State == checkout.JobDropped && j.Job.Kind != checkout.JobDeliver:
		return "not needed"
	}
	return jobStates[j.State]
}

// jobStates say how far a job of most kinds is.
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
