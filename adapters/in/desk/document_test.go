package desk

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/ports"
)

// The agreement has personal data: it opens for as long as that is shown, and the look is recorded with its reason.
func TestAnAgreementOpensForAReason(t *testing.T) {
	w := newWorld(t)
	w.more(t)
	path := "/checkouts/" + confirmedID
	b := w.as(t, "Aroha", operate.Auditor)
	b.get(t, path).has(t, "Open the agreement (PDF)").lacks(t, "Canary", path+"/agreement.pdf")
	b.get(t, "/checkouts/"+openID).lacks(t, "Open the agreement")
	if to := b.get(t, path+"/agreement.pdf").is(t, http.StatusSeeOther).header.Get("Location"); to != path {
		t.Errorf("without a reason the PDF leads to %q", to)
	}
	b.post(t, path+"/reveal", "open", "agreement.pdf").is(t, http.StatusUnprocessableEntity)
	w.one(t)
	to := b.post(t, path+"/reveal", "open", "agreement.pdf", "reason", "complaint 12").is(t, http.StatusSeeOther).header.Get("Location")
	a := b.get(t, to).is(t, http.StatusOK)
	if a.body != "%PDF-1.7 of Canary" || a.header.Get("Content-Disposition") != `attachment; filename="`+number+`.pdf"` {
		t.Errorf("%s is %q, %s", to, a.body, a.header)
	}
	w.one(t, `"operator":"Aroha (auditor)","operation":"reveal","subject":"`+confirmedID+`","reason":"complaint 12"`)
	b.get(t, path).has(t, `href="`+path+`/agreement.pdf"`)
	b.get(t, "/checkouts/"+openID+"/agreement.pdf").is(t, http.StatusSeeOther)
	w.as(t, "Ben", operate.Auditor).get(t, path+"/agreement.pdf").is(t, http.StatusSeeOther)
	w.forward(revealedFor)
	b.get(t, path+"/agreement.pdf").is(t, http.StatusSeeOther)
	b.get(t, path).lacks(t, path+"/agreement.pdf")
}

func TestAnAgreementHasItsProofOnceItIsSealed(t *testing.T) {
	w := newWorld(t)
	w.more(t)
	b := w.as(t, "Aroha", operate.Auditor)
	proof := "/checkouts/" + confirmedID + "/proof.json"
	b.get(t, "/checkouts/"+confirmedID).has(t, `href="`+proof+`"`)
	w.as(t, "Ben", operate.Support).get(t, "/checkouts/"+confirmedID).lacks(t, proof)
	b.get(t, proof).is(t, http.StatusConflict).has(t, "There is no proof yet")
	must(t, w.store.SealEvidence(t.Context(), 100, func(h evidence.Head, entries []evidence.Entry) (s evidence.Sealing, err error) {
		for _, e := range entries {
			position := h.Size
			s.Places = append(s.Places, evidence.Place{ID: e.ID, Position: position, Nodes: h.Append(e.Leaf)})
		}
		s.Head = h
		return s, nil
	}))
	a := b.get(t, proof).is(t, http.StatusOK).has(t, "evidence proof v1")
	if got := a.header.Get("Content-Disposition"); got != `attachment; filename="agreement-`+number+`.proof.json"` {
		t.Errorf("the proof is %s", got)
	}
	w.one(t)
}

func TestAPersonIsExportedForAReason(t *testing.T) {
	w := newWorld(t)
	w.more(t)
	path := "/checkouts/" + openID + "/export"
	b := w.as(t, "Aroha", operate.Compliance)
	b.get(t, "/checkouts/"+openID).has(t, "Export the person’s data")
	b.post(t, path).is(t, http.StatusUnprocessableEntity)
	b.post(t, path, "reason", "Canary asked").is(t, http.StatusUnprocessableEntity)
	w.one(t)
	a := b.post(t, path, "reason", "ticket 7").is(t, http.StatusOK)
	if a.body != canaryEmail+" 3\n" || a.header.Get("Content-Disposition") != `attachment; filename="`+openID+`.jsonl"` {
		t.Errorf("the file is %q, %s", a.body, a.header)
	}
	w.one(t, `"operator":"Aroha (compliance)","operation":"privacy export","subject":"3 checkouts","reason":"ticket 7"`)
}

// A person who has done an act reads that it is done. A person who may not do it, or who was too late, still has the menu.
func TestEachActSaysWhatCameOfIt(t *testing.T) {
	for _, route := range routes() {
		method, path, _ := strings.Cut(route.Path, " ")
		done := path[strings.LastIndex(path, "/")+1:]
		if doneTexts[done] == "" && method == http.MethodPost && done != "export" && done != "ping" { // a file; one of two outcomes
			t.Errorf("%s says nothing", route.Path)
		}
	}
	w := newWorld(t)
	w.more(t)
	b := w.as(t, "Aroha", operate.Support)
	to := b.post(t, "/checkouts/"+openID+"/cancel", "reason", "wrong course").is(t, http.StatusSeeOther).header.Get("Location")
	b.get(t, to).is(t, http.StatusOK).has(t, `role="status">The checkout is cancelled.</p>`)
	b.get(t, "/?done=%3Cb%3Eforged").is(t, http.StatusOK).lacks(t, "forged", `role="status"`)
	b.post(t, "/checkouts/"+confirmedID+"/cancel", "reason", "wrong course").is(t, http.StatusConflict).has(t, `aria-label="Desk"`, "Sign out")
	w.browser(t).get(t, "/nowhere").is(t, http.StatusNotFound).lacks(t, `aria-label="Desk"`).has(t, `href="/"`)
	b.post(t, "/sign-out").is(t, http.StatusOK).lacks(t, `aria-label="Desk"`)
}

// unclean is a store whose files are in use.
type unclean struct{ ports.Admin }

func (unclean) Scrub(context.Context) error { return errors.New("the file is locked") }

// What was erased is not said to have failed because the files of the store are to be cleaned.
func TestAnErasureWhoseFilesAreNotCleanSaysSo(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.Store = unclean{o.Store} })
	w.more(t)
	c, err := w.store.Checkout(t.Context(), openID)
	must(t, err)
	c.ID, c.OrderID, c.IdempotencyKey, c.Student.Email = "KOWHAI-4-d", "ORDER-4", "key-4", "other@example.nz"
	must(t, w.store.InsertCheckout(t.Context(), checkout.Change{Next: c}, checkout.JobEntry{Now: w.now()}))
	w.as(t, "Aroha", operate.Compliance).post(t, "/checkouts/"+c.ID+"/erase", "reason", "ticket 7").is(t, http.StatusSeeOther)
	b := w.as(t, "Ben", operate.Compliance)
	id := regexp.MustCompile(`/approvals/(apr_[-0-9a-f]+)/`).FindStringSubmatch(b.get(t, "/approvals").body)[1]
	to := b.post(t, "/approvals/"+id+"/approve").is(t, http.StatusSeeOther).header.Get("Location")
	b.get(t, to).has(t, "Approved and erased. But the files of the store", "privacy erase")
	if c, err := w.store.Checkout(t.Context(), c.ID); err != nil || !c.Erased() || !strings.Contains(w.logged(), "the file is locked") {
		t.Errorf("on record is %+v, %v; the log is\n%s", c, err, w.logged())
	}
}
