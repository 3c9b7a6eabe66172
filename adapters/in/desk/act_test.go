package desk

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/money"
)

const (
	openID      = "KOWHAI-2-b"
	confirmedID = "KOWHAI-3-c"
	number      = "PPA-2026-000001"
)

// more stores an open checkout of the same student, and a confirmed one, whose payer was sent a notice.
func (w *world) more(t *testing.T) {
	t.Helper()
	first, err := w.store.Checkout(t.Context(), checkoutID)
	must(t, err)
	for i, id := range []string{openID, confirmedID} {
		c := first
		c.ID, c.OrderID, c.IdempotencyKey = id, "ORDER-"+id, "key-"+id
		c.Status, c.Tokens = checkout.SetupRequired, []checkout.Token{{Epoch: 1, KID: "k1", Expires: w.now().Add(time.Hour)}}
		c.Setup = checkout.Setup{Observation: checkout.Observation{BillingRequest: checkout.BillingPending}}
		change := checkout.Change{Next: c, Moments: []checkout.Moment{{At: w.now(), Kind: checkout.MomentCreated, Actor: "provider:k1", Times: 1}}}
		if i == 1 {
			change.Next.Status = checkout.Confirmed
			change.Next.Setup = checkout.Setup{Try: 1, BillingRequestID: "BRQ1", Observation: checkout.Observation{BillingRequest: checkout.BillingFulfilled,
				Mandate: checkout.MandateActive, MandateID: "MD1", AccountHolder: "C RAPATA", AccountMask: "01-0902-•••••89-00", CompletedAt: w.now()}}
			change.Next.Confirmation = checkout.Confirmation{At: w.now(), AgreementID: "agr_1", AgreementNumber: number,
				FirstPayment: money.DateOf(w.now())}
			change.Agreement = &agreement.Agreement{ID: "agr_1", Number: number, CheckoutID: id, OrderID: c.OrderID, AcceptedAt: w.now(),
				Provider: agreement.Party{Code: "KOWHAI"}, Pricing: c.Intent.Pricing, Schedule: c.Schedule()}
			pdf := []byte("%PDF-1.7 of Canary")
			change.Document = &agreement.Document{ID: "doc_1", SHA256: sha256.Sum256(pdf), Bytes: pdf}
			change.Evidence = &evidence.Entry{ID: evidence.AgreementID(number), At: w.now(), Leaf: []byte("{}")}
			change.Jobs = []checkout.Job{{ID: "ntc_1", Kind: checkout.JobNotify, ProviderCode: "KOWHAI", CheckoutID: id, OrderID: c.OrderID,
				Name: string(checkout.NoticeOfAgreement), CreatedAt: w.now()}}
		}
		must(t, w.store.InsertCheckout(t.Context(), change, checkout.JobEntry{Now: w.now()}))
	}
	leases, err := w.store.Lease(t.Context(), checkout.JobQuery{Now: w.now(), For: time.Second, Kinds: []checkout.JobKind{checkout.JobNotify}, Limit: 1})
	if err != nil || len(leases) != 1 {
		t.Fatalf("leased are %+v, %v", leases, err)
	}
	must(t, w.store.Settle(t.Context(), leases[0], checkout.Outcome{State: checkout.JobDead, Attempts: 9}, checkout.JobEntry{Now: w.now()}, nil))
}

// one checks that one record of operators was made, with all of this.
func (w *world) one(t *testing.T, want ...string) {
	t.Helper()
	var did []string
	for _, leaf := range w.recorded(t) {
		if strings.Contains(leaf, `"operator"`) {
			did = append(did, leaf)
		}
	}
	for _, text := range want {
		if len(did) != 1 || !strings.Contains(did[0], text) {
			t.Errorf("the records are %q, want one with %s", did, text)
		}
	}
	if len(want) == 0 && len(did) != 0 {
		t.Errorf("the records are %q, want no record", did)
	}
}

func TestACheckoutIsCancelledOnce(t *testing.T) {
	w := newWorld(t)
	w.more(t)
	b := w.as(t, "Aroha", operate.Support)
	b.get(t, "/checkouts/"+openID).has(t, "Cancel the checkout", "Send a new link").lacks(t, "withdraw")
	b.get(t, "/checkouts/"+confirmedID).lacks(t, "Cancel the checkout", "Send a new link")
	b.post(t, "/checkouts/"+openID+"/cancel").is(t, http.StatusUnprocessableEntity)
	b.post(t, "/checkouts/"+openID+"/cancel", "reason", "Canary called").is(t, http.StatusUnprocessableEntity).
		has(t, "must not name the student", `href="/checkouts/`+openID+`">Back</a>`)
	b.get(t, "/checkouts/"+openID).has(t, "Link opens until")
	b.post(t, "/checkouts/"+confirmedID+"/cancel", "reason", "wrong course").is(t, http.StatusConflict)
	b.post(t, "/checkouts/KOWHAI-9-z/cancel", "reason", "wrong course").is(t, http.StatusNotFound)
	w.one(t)
	for range 2 {
		b.post(t, "/checkouts/"+openID+"/cancel", "reason", "wrong course").is(t, http.StatusSeeOther)
	}
	w.one(t, `"operator":"Aroha (support)","operation":"cancel","subject":"`+openID+`","reason":"wrong course"`)
	b.get(t, "/checkouts/"+openID).has(t, "<h1>Cancelled by the operator</h1>", "by the operator: <q><bdi>wrong course</bdi></q>").
		lacks(t, "Cancel the checkout", "Send a new link", "Link opens until")
	w.as(t, "Ben", operate.Auditor).get(t, "/audit").has(t, `<a href="/find?q=`+openID+`">`)
	w.as(t, "Ben", operate.Engineer).get(t, "/checkouts/"+openID).has(t, "by the operator</dd>").lacks(t, "wrong course")
}

// A provider may have named the student: its reason is shown with the personal data.
func TestAProvidersReasonIsPersonalData(t *testing.T) {
	w := newWorld(t)
	c, err := w.store.Checkout(t.Context(), checkoutID)
	must(t, err)
	c.ID, c.OrderID, c.IdempotencyKey, c.Status = openID, "ORDER-2", "key-2", checkout.Cancelled
	c.End = checkout.End{At: w.now(), By: checkout.PartyProvider, Reason: "Canary moved"}
	must(t, w.store.InsertCheckout(t.Context(), checkout.Change{Next: c}, checkout.JobEntry{Now: w.now()}))
	b := w.as(t, "Aroha", operate.Support)
	b.get(t, "/checkouts/"+openID).is(t, http.StatusOK).has(t, "by the provider</dd>").lacks(t, "Canary moved")
	b.post(t, "/checkouts/"+openID+"/reveal", "reason", "ticket 7").is(t, http.StatusSeeOther)
	b.get(t, "/checkouts/"+openID).has(t, "Canary moved")
}

func TestAnAgreementIsWithdrawnByTwo(t *testing.T) {
	w := newWorld(t)
	w.more(t)
	path := "/checkouts/" + confirmedID + "/withdraw"
	b, second := w.as(t, "Aroha", operate.Support), w.as(t, "Ben", operate.Compliance)
	b.get(t, "/checkouts/"+confirmedID).has(t, "Ask to withdraw the agreement")
	second.get(t, "/checkouts/"+confirmedID).lacks(t, "Ask to withdraw the agreement")
	b.post(t, path, "ground", "error").is(t, http.StatusUnprocessableEntity)
	b.post(t, path, "ground", "whim", "reason", "ticket 7").is(t, http.StatusUnprocessableEntity)
	b.post(t, path, "ground", "error", "reason", "Rāpata called").is(t, http.StatusUnprocessableEntity)
	b.post(t, "/checkouts/"+openID+"/withdraw", "ground", "error", "reason", "ticket 7").is(t, http.StatusConflict).has(t, "no agreement to withdraw")
	second.post(t, path, "ground", "error", "reason", "ticket 7").is(t, http.StatusForbidden)
	w.one(t)
	b.post(t, path, "ground", "hardship", "reason", "ticket 7").is(t, http.StatusSeeOther)
	second.get(t, "/checkouts/"+confirmedID).has(t, "Withdraw the agreement: this waits for a second person")
	second.get(t, "/checkouts/"+openID).lacks(t, "waits for a second person")
	w.as(t, "Ben", operate.Finance).get(t, "/checkouts/"+confirmedID).lacks(t, "waits for a second person")
	w.forward(freshFor)
	second.get(t, "/approvals").has(t, "Withdraw the agreement: <a", number, "hardship", "ticket 7", "Sign in again to decide").lacks(t, ">Approve<")
	second = w.as(t, "Ben", operate.Compliance)
	id := regexp.MustCompile(`/approvals/(apr_[-0-9a-f]+)/`).FindStringSubmatch(second.get(t, "/approvals").body)[1]
	second.post(t, "/approvals/"+id+"/approve").is(t, http.StatusSeeOther)
	ends, err := w.store.Lease(t.Context(), checkout.JobQuery{Now: w.now(), For: time.Second, Kinds: []checkout.JobKind{checkout.JobEnd}, Limit: 1})
	if err != nil || len(ends) != 1 {
		t.Fatalf("leased are %+v, %v", ends, err)
	}
	must(t, w.store.Settle(t.Context(), ends[0], checkout.Outcome{State: checkout.JobDropped}, checkout.JobEntry{Now: w.now()}, nil))
	b.get(t, "/checkouts/"+confirmedID).has(t, number+" hardship, approved by Ben (compliance)", "operator:Aroha", "<td>not needed</td>").
		lacks(t, "not sent")
	b.get(t, "/checkouts/"+confirmedID).lacks(t, "waits for a second person")
	w.one(t, `"operator":"Aroha (support)","approved_by":"Ben (compliance)","operation":"withdraw","subject":"`+number+`","reason":"ticket 7"`, "hardship")
	c, err := w.store.Checkout(t.Context(), confirmedID)
	if err != nil || !c.Withdrawn() || c.End.Ground != checkout.GroundHardship {
		t.Errorf("on record is the end %+v, %v", c.End, err)
	}
	b = w.as(t, "Aroha", operate.Support)
	b.get(t, "/checkouts/"+confirmedID).has(t, "<h1>Withdrawn</h1>", "by the operator, hardship: <q><bdi>ticket 7</bdi></q>").lacks(t, "Ask to withdraw")
}

func TestPersonalDataIsErasedByTwo(t *testing.T) {
	w := newWorld(t)
	w.more(t)
	b, second := w.as(t, "Aroha", operate.Compliance), w.as(t, "Ben", operate.Compliance)
	path := "/checkouts/" + checkoutID
	b.get(t, path).has(t, "Ask to erase the personal data")
	b.post(t, path+"/erase", "reason", "Canary asked").is(t, http.StatusUnprocessableEntity)
	b.post(t, path+"/erase", "reason", "ticket 7").is(t, http.StatusConflict).has(t, "<p>It cannot be erased", "it waits for the CRM", "are collected until")
	w.as(t, "Aroha", operate.Support).post(t, path+"/erase", "reason", "ticket 7").is(t, http.StatusForbidden)
	w.one(t)

	other := "KOWHAI-4-d"
	first, err := w.store.Checkout(t.Context(), openID)
	must(t, err)
	first.ID, first.OrderID, first.IdempotencyKey = other, "ORDER-4", "key-4"
	first.Student.Email = "other@example.nz"
	must(t, w.store.InsertCheckout(t.Context(), checkout.Change{Next: first}, checkout.JobEntry{Now: w.now()}))
	b.post(t, "/checkouts/"+other+"/erase", "reason", "ticket 7").is(t, http.StatusSeeOther)
	id := regexp.MustCompile(`/approvals/(apr_[-0-9a-f]+)/`).FindStringSubmatch(second.get(t, "/approvals").lacks(t, "other@").body)[1]
	b.get(t, "/approvals").has(t, "Erase the personal data: <a", "<p>checkout "+other+"</p>", "Note these ids")
	b.post(t, "/approvals/"+id+"/approve").is(t, http.StatusForbidden).has(t, "cannot approve it")
	second.post(t, "/approvals/"+id+"/approve").is(t, http.StatusSeeOther)
	w.one(t, `"operator":"Aroha (compliance)","approved_by":"Ben (compliance)","operation":"privacy erase","subject":"`+other+`","reason":"ticket 7"`)
	if c, err := w.store.Checkout(t.Context(), other); err != nil || !c.Erased() {
		t.Errorf("on record is %+v, %v", c, err)
	}
	b.get(t, "/checkouts/"+other).has(t, "<bdi>erased</bdi>").lacks(t, "Ask to erase")
}

func TestALinkAndANoticeAreSentAgain(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.SetupLifetime = time.Hour })
	w.more(t)
	b := w.as(t, "Aroha", operate.Support)
	jobs := func(id string) (list []string) {
		found, err := w.store.Jobs(t.Context(), checkout.JobFilter{CheckoutID: id, Kinds: []checkout.JobKind{checkout.JobNotify}, State: checkout.JobPending}, 10)
		must(t, err)
		for _, j := range found {
			list = append(list, j.Job.Name)
		}
		return list
	}
	b.post(t, "/checkouts/"+confirmedID+"/link", "reason", "ticket 7").is(t, http.StatusConflict).has(t, "no link is needed")
	b.post(t, "/checkouts/"+openID+"/link", "reason", "ticket 7").is(t, http.StatusSeeOther)
	b.post(t, "/checkouts/"+openID+"/link", "reason", "ticket 7").is(t, http.StatusConflict).has(t, "less than ten minutes ago")
	w.one(t, `"operation":"link","subject":"`+openID+`"`)
	if got := jobs(openID); len(got) != 1 || got[0] != string(checkout.NoticeOfLink) {
		t.Errorf("notices %q wait", got)
	}
	w = newWorld(t)
	w.more(t)
	b = w.as(t, "Aroha", operate.Support)
	b.get(t, "/checkouts/"+confirmedID).has(t, "Send again")
	for _, unknown := range []string{"", "ntc_2", "evt_1"} {
		b.post(t, "/checkouts/"+confirmedID+"/notice", "job", unknown, "reason", "ticket 7").is(t, http.StatusNotFound)
	}
	b.post(t, "/checkouts/"+openID+"/notice", "job", "ntc_1", "reason", "ticket 7").is(t, http.StatusNotFound)
	w.one(t)
	b.post(t, "/checkouts/"+confirmedID+"/notice", "job", "ntc_1", "reason", "ticket 7").is(t, http.StatusSeeOther)
	w.one(t, `"operation":"notice","subject":"`+confirmedID+`","reason":"ticket 7"`)
	if got := jobs(confirmedID); len(got) != 1 || got[0] != string(checkout.NoticeOfAgreement) {
		t.Errorf("notices %q wait", got)
	}
}

// Somebody who asks what is due when is answered from the page.
func TestACheckoutHasItsPaymentsInFigures(t *testing.T) {
	w := newWorld(t)
	w.as(t, "Aroha", operate.Support).get(t, "/checkouts/"+checkoutID).is(t, http.StatusOK).has(t, "$2,990.00, of which $200.00 is paid first",
		"52 instalments of $53.65, the last of $53.85", "Each payment (53)", "<li>"+money.DateOf(w.now()).Long()+": $200.00</li>")
}

func TestFindLeadsToTheOneCheckout(t *testing.T) {
	w := newWorld(t)
	w.more(t)
	b := w.as(t, "Aroha", operate.Support)
	for q, id := range map[string]string{"ORDER-1": checkoutID, openID: openID, "PPA-2026-000001": confirmedID, "MD1": confirmedID, "evt_1": checkoutID} {
		if a := b.get(t, "/find?q="+q).is(t, http.StatusSeeOther); a.header.Get("Location") != "/checkouts/"+id {
			t.Errorf("%s leads to %q, want %q", q, a.header.Get("Location"), id)
		}
	}
	b.get(t, "/find?q=rapata").is(t, http.StatusOK).has(t, canaryName, "/checkouts/"+openID, "by name").lacks(t, canaryEmail)
	b.get(t, "/find?q="+canaryEmail).is(t, http.StatusOK).has(t, "/checkouts/"+openID, "by e-mail")
	b.get(t, "/find?q=nobody").is(t, http.StatusOK).has(t, "No checkout", "the beginning is enough").lacks(t, "Your role")
	for _, q := range []string{"kowhai", "KOWHAI", "Kōw"} {
		if a := b.get(t, "/find?q="+url.QueryEscape(q)).is(t, http.StatusSeeOther); a.header.Get("Location") != "/providers/KOWHAI" {
			t.Errorf("%s leads to %q", q, a.header.Get("Location"))
		}
	}
	b.get(t, "/find?provider=KOWHAI").is(t, http.StatusOK).has(t, "<h1>Checkouts of KOWHAI</h1>", "/checkouts/"+openID).lacks(t, ">by ")
	b.get(t, "/providers/KOWHAI").has(t, `href="/find?provider=KOWHAI"`)
	b.get(t, "/find?provider=TUI").is(t, http.StatusOK).has(t, "No checkout")
	b.get(t, "/find").is(t, http.StatusOK).lacks(t, "No checkout")
	b.get(t, "/find?trouble=evidence").is(t, http.StatusOK)
	b.get(t, "/find?trouble=unknown").is(t, http.StatusOK)
	b.get(t, "/find?provider=KOWHAI&after=forged").is(t, http.StatusNotFound)
	engineer := w.as(t, "Ben", operate.Engineer)
	engineer.get(t, "/find?q=rapata").is(t, http.StatusOK).has(t, "No checkout", "Your role finds nobody by name or e-mail")
	engineer.get(t, "/find?provider=KOWHAI").is(t, http.StatusOK).has(t, "/checkouts/"+openID).lacks(t, "Canary")
	if a := engineer.get(t, "/find?q=ORDER-1"); a.header.Get("Location") != "/checkouts/"+checkoutID {
		t.Errorf("an engineer's order leads to %q", a.header.Get("Location"))
	}
	if strings.Contains(w.logged(), "anary") || strings.Contains(w.logged(), "rapata") {
		t.Errorf("the log has what was looked for:\n%s", w.logged())
	}
}

func TestTodayHasALineForEachTrouble(t *testing.T) {
	w := newWorld(t)
	w.more(t)
	b := w.as(t, "Aroha", operate.Finance)
	w.forward(time.Minute)
	b.get(t, "/").is(t, http.StatusOK).has(t, "Events that the provider’s receiver did not take", `href="/find?trouble=events"`,
		"E-mails that the payer did not get", `href="/providers/KOWHAI"`)
	b.get(t, "/find?trouble=notices").is(t, http.StatusOK).has(t, "/checkouts/"+confirmedID).
		lacks(t, "/checkouts/"+openID, ">by ")
	b.get(t, "/funnel").is(t, http.StatusOK).lacks(t, "No checkout")
	b.get(t, "/funnel?from=2020-01-01&to=2020-02-01").is(t, http.StatusOK).has(t, "No checkout")
	b.get(t, "/funnel?provider=+kowhai").has(t, `name="provider" value="KOWHAI"`)
	b.get(t, "/funnel?from=x").has(t, "There is no such day or month").lacks(t, "needs a reason")
	for _, wrong := range []string{"from=x", "from=2026-02-01&to=2026-01-01", "from=2000-01-01"} {
		b.get(t, "/funnel?"+wrong).is(t, http.StatusUnprocessableEntity)
	}
}

func TestNoPartIsOfNothing(t *testing.T) {
	for _, tt := range []struct {
		part, of int
		want     string
	}{{0, 0, ""}, {0, 4, "0 %"}, {1, 4, "25 %"}, {2, 3, "67 %"}, {3, 3, "100 %"}} {
		if got := (funnelView{}).Percent(tt.part, tt.of); got != tt.want {
			t.Errorf("%d of %d are %q, want %q", tt.part, tt.of, got, tt.want)
		}
	}
}

func TestAMonthHasItsFiguresAndAFileThatIsProven(t *testing.T) {
	w := newWorld(t)
	w.more(t)
	b := w.as(t, "Aroha", operate.Finance)
	this := w.now().In(mustZone(t)).Format("2006-01")
	b.get(t, "/").has(t, `href="/months/`+this+`"`)
	b.get(t, "/months/"+this).is(t, http.StatusOK).has(t, `<td class="amount">1</td><td class="amount">$2,790.00</td><td class="amount">$200.00</td>`,
		"Differences between record, CRM and mandate: 0", this+".csv")
	b.get(t, "/months/2001-01").is(t, http.StatusOK).has(t, "No agreement")
	for _, wrong := range []string{"/months/2026-13", "/months/x.csv", "/months/2026"} {
		b.get(t, wrong).is(t, http.StatusUnprocessableEntity).has(t, "There is no such day or month")
	}
	w.one(t)
	a := b.get(t, "/months/"+this+".csv").is(t, http.StatusOK).has(t, "provider_code,", number).lacks(t, "Canary", canaryEmail)
	if got := a.header.Get("Content-Disposition"); got != `attachment; filename="`+this+`.csv"` {
		t.Errorf("the file is %s", got)
	}
	w.one(t, `"operator":"Aroha (finance)","operation":"month","subject":"`+this+`"`, fmt.Sprintf("+ 1 agreement, SHA-256 %x", sha256.Sum256([]byte(a.body))))
}

func mustZone(t *testing.T) *time.Location {
	t.Helper()
	zone, err := service.NewZealand()
	must(t, err)
	return zone
}

// The journal's own words are for programs.
func TestTheTimelineIsInWords(t *testing.T) {
	for _, tt := range []struct {
		kind         checkout.MomentKind
		detail, want string
	}{
		{checkout.MomentOpened, "open", "to set up the direct debit"},
		{checkout.MomentReturned, "done", "after the setup"},
		{checkout.MomentSetupDone, "mandate pending_submission", "mandate pending submission"},
		{checkout.MomentCRMWaits, "complete: no answer", "complete no answer"},
		{checkout.MomentCRMDone, "authority", "mandate"},
		{checkout.MomentRefused, "VALIDATION_ERROR student.email", "VALIDATION_ERROR student.email"},
	} {
		if got := detailOf(checkout.Moment{Kind: tt.kind, Detail: tt.detail}); got != tt.want {
			t.Errorf("%s %q reads %q, want %q", tt.kind, tt.detail, got, tt.want)
		}
	}
}

// Every moment, job, state and trouble has its words.
func TestEveryKindHasItsWords(t *testing.T) {
	for _, kind := range checkout.MomentKinds() {
		if momentTexts[kind] == "" {
			t.Errorf("moment %s has no words", kind)
		}
	}
	for _, kind := range checkout.JobKinds() {
		switch kind { // of no checkout
		case checkout.JobReceiver, checkout.JobNotified, checkout.JobReconcile, checkout.JobSeal, checkout.JobRetain, checkout.JobPull,
			checkout.JobStamp, checkout.JobCosign, checkout.JobApproval:
			continue
		}
		if jobTexts[kind] == "" {
			t.Errorf("job %s has no words", kind)
		}
	}
}

// A reason stays in the log for ever, whatever the act.
func TestNoActTakesAReasonThatNamesTheStudent(t *testing.T) {
	w := newWorld(t)
	jobs, err := w.store.Jobs(t.Context(), checkout.JobFilter{CheckoutID: checkoutID, State: checkout.JobPending}, 1)
	if err != nil || len(jobs) != 1 {
		t.Fatalf("%+v wait, %v", jobs, err)
	}
	b := w.as(t, "Aroha", operate.Engineer)
	for _, job := range []string{"evt_1", jobs[0].Job.ID} {
		b.post(t, "/checkouts/"+checkoutID+"/retry", "job", job, "reason", "Canary Rapata rang").is(t, http.StatusUnprocessableEntity).
			has(t, "must not name the student")
	}
	again, err := w.store.Jobs(t.Context(), checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobRedeliver}}, 1)
	if leaves := w.recorded(t); len(leaves) != 0 || len(again) != 0 || err != nil {
		t.Errorf("recorded is %q, and %+v waits, %v", leaves, again, err)
	}
}
