package desk

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

func TestAProviderIsDisabledByOneAndEnabledByTwo(t *testing.T) {
	w := newWorld(t)
	const path = "/providers/KOWHAI"
	active := func() bool {
		p, err := w.store.Provider(t.Context(), "KOWHAI")
		must(t, err)
		return p.Active
	}
	ben, aroha := w.as(t, "Ben", operate.Compliance), w.as(t, "Aroha", operate.Engineer)
	ben.post(t, "/providers/TUI/enable", "reason", "ticket 7").is(t, http.StatusNotFound)
	aroha.post(t, path+"/enable").is(t, http.StatusUnprocessableEntity)
	if a := aroha.post(t, path+"/enable", "reason", "ticket 7").is(t, http.StatusSeeOther); a.header.Get("Location") != "/approvals?done=enable" || active() {
		t.Fatalf("it leads to %q, and the provider is active: %v", a.header.Get("Location"), active())
	}
	if leaves := w.recorded(t); len(leaves) != 0 {
		t.Errorf("the records are %q", leaves)
	}
	aroha.get(t, "/approvals").has(t, "Enable the provider: <a", "ticket 7", "Take back").lacks(t, ">Approve<")
	aroha.get(t, "/").lacks(t, "Waits for your approval")
	ben.get(t, path).has(t, "Enable the provider: this waits for a second person")
	again := w.as(t, "Aroha", operate.Compliance) // the same person, in a role that approves
	id := regexp.MustCompile(`/approvals/(apr_[-0-9a-f]+)/`).FindStringSubmatch(again.get(t, "/approvals").body)[1]
	again.post(t, "/approvals/"+id+"/approve").is(t, http.StatusForbidden)
	w.as(t, "Ben", operate.Support).post(t, "/approvals/"+id+"/approve").is(t, http.StatusForbidden)
	w.as(t, "Ben", operate.Support).post(t, "/approvals/"+id+"/decline").is(t, http.StatusForbidden)
	ben.get(t, "/").has(t, "Waits for your approval: 1")
	ben.get(t, "/approvals").has(t, ">Approve<")
	ben.post(t, "/approvals/"+id+"/approve").is(t, http.StatusSeeOther)
	leaves := w.recorded(t)
	want := `"operator":"Aroha (engineer)","approved_by":"Ben (compliance)","operation":"providers enable","subject":"KOWHAI","reason":"ticket 7"`
	if len(leaves) != 1 || !strings.Contains(leaves[0], want) || !active() {
		t.Errorf("the records are %q, want one with %s, and an active provider: %v", leaves, want, active())
	}
	ben.post(t, "/approvals/"+id+"/approve").is(t, http.StatusConflict)
	ben.get(t, "/approvals").has(t, "Nothing waits")
	aroha.get(t, path).has(t, "<strong>active</strong>", "providers enable", "approved by <bdi>Ben (compliance)</bdi>").lacks(t, "whsec_")

	w.forward(time.Second)
	ben.post(t, path+"/disable", "reason", "complaint 12").is(t, http.StatusSeeOther)
	ben.post(t, path+"/disable", "reason", "complaint 12").is(t, http.StatusSeeOther)
	if leaves := w.recorded(t); len(leaves) != 2 || active() {
		t.Errorf("the records are %q, and the provider is active: %v", leaves, active())
	}
	ben.get(t, "/providers").has(t, "disabled")
	w.forward(time.Second)
	aroha.post(t, path+"/enable", "reason", "ticket 8").is(t, http.StatusSeeOther)
	id = regexp.MustCompile(`/approvals/(apr_[-0-9a-f]+)/`).FindStringSubmatch(aroha.get(t, "/approvals").body)[1]
	aroha.post(t, "/approvals/"+id+"/decline").is(t, http.StatusSeeOther)
	if leaves := w.recorded(t); len(leaves) != 3 || !strings.Contains(leaves[2], "providers enable declined") || active() {
		t.Errorf("the records are %q, and the provider is active: %v", leaves, active())
	}
}

var shownKey = regexp.MustCompile(`<code>(pck_[a-z0-9_]+)</code>`)

func TestAKeyIsHandedOverOnce(t *testing.T) {
	w := newWorld(t)
	engineer, stranger := w.as(t, "Aroha", operate.Engineer), w.browser(t)
	keys := func() []catalogue.Key {
		list, err := w.store.Keys(t.Context())
		must(t, err)
		return list
	}
	engineer.post(t, "/providers/KOWHAI/keys").is(t, http.StatusUnprocessableEntity)
	page := engineer.post(t, "/providers/KOWHAI/keys", "reason", "ticket 7").is(t, http.StatusSeeOther).header.Get("Location")
	if !strings.HasPrefix(page, "/handover/") || len(keys()) != 0 || len(w.recorded(t)) != 0 {
		t.Fatalf("it leads to %q, with the keys %v and the records %q", page, keys(), w.recorded(t))
	}
	engineer.get(t, page).is(t, http.StatusOK).has(t, "Send the address of this page", `href="/providers/KOWHAI"`)
	for range 3 { // as scanners of mail do
		stranger.get(t, page).is(t, http.StatusOK).has(t, "Show the key").lacks(t, "pck_", "Send the address", "/providers/")
	}
	var shown atomic.Int64
	var opening sync.WaitGroup
	for range 8 {
		r := stranger.form(t, page)
		opening.Go(func() {
			resp, err := stranger.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				shown.Add(1)
			} else if resp.StatusCode != http.StatusGone {
				t.Errorf("the page answers %d", resp.StatusCode)
			}
		})
	}
	opening.Wait()
	leaves := w.recorded(t)
	if shown.Load() != 1 || len(keys()) != 1 || len(leaves) != 1 || !strings.Contains(leaves[0], `"operator":"Aroha (engineer)","operation":"keys issue"`) {
		t.Errorf("%d pages show a key; on record are %v and %q", shown.Load(), keys(), leaves)
	}
	stranger.get(t, page).is(t, http.StatusGone).lacks(t, "pck_")

	for _, wrong := range [][]string{{"last_day", "tomorrow"}, {"last_day", "2020-01-01"}, {"label", "a\nb"}, {"label", strings.Repeat("a", 81)}} {
		engineer.post(t, "/providers/KOWHAI/keys", "reason", "ticket 8", wrong[0], wrong[1]).is(t, http.StatusUnprocessableEntity)
	}
	page = engineer.post(t, "/providers/KOWHAI/keys", "reason", "ticket 8", "label", "web shop", "last_day", "2099-01-01").
		is(t, http.StatusSeeOther).header.Get("Location")
	body := stranger.post(t, page).is(t, http.StatusOK).body
	text := html.UnescapeString(shownKey.FindStringSubmatch(body)[1])
	if _, ok := catalogue.HashKey(text); !ok {
		t.Errorf("the page shows %q", text)
	}
	for _, leaf := range w.recorded(t) {
		if strings.Contains(leaf, text) || strings.Contains(leaf, text[len(text)-20:]) {
			t.Errorf("the record %s has the key", leaf)
		}
	}
	if logged := w.logged(); strings.Contains(logged, page[len("/handover/"):][:70]) || strings.Contains(logged, text) {
		t.Errorf("the log has the page or the key:\n%s", logged)
	}
	id := catalogue.KeyID(text)
	engineer.get(t, "/providers/KOWHAI").has(t, id, "live", "keys issue", "web shop", "until 2 Jan 2099, 00:00:00", "never used").lacks(t, text)

	support := w.as(t, "Ben", operate.Compliance)
	support.post(t, "/providers/KOWHAI/keys", "reason", "ticket 9").is(t, http.StatusForbidden) // which only revokes
	support.post(t, "/providers/KOWHAI/keys", "revoke", "other", "reason", "leaked").is(t, http.StatusNotFound)
	support.post(t, "/providers/TUI/keys", "revoke", id, "reason", "leaked").is(t, http.StatusNotFound)
	support.post(t, "/providers/KOWHAI/keys", "revoke", id, "reason", "leaked").is(t, http.StatusSeeOther)
	support.get(t, "/providers/KOWHAI").has(t, "revoked")

	page = engineer.post(t, "/providers/KOWHAI/keys", "reason", "ticket 8").is(t, http.StatusSeeOther).header.Get("Location")
	w.forward(24 * time.Hour)
	stranger.get(t, page).is(t, http.StatusGone)
	stranger.post(t, page).is(t, http.StatusGone)
	for _, forged := range []string{"/handover/abc", "/handover/%25", "/handover/" + w.as(t, "Ben", operate.Engineer).cookie(t), page + "x"} {
		stranger.post(t, forged).is(t, http.StatusNotFound)
	}
}

func TestTheFailedEventsOfAProviderAreSentAgain(t *testing.T) {
	w := newWorld(t)
	b := w.as(t, "Aroha", operate.Engineer)
	b.get(t, "/providers/KOWHAI").has(t, "<dt>given up</dt><dd>1</dd>", "First given up")
	b.post(t, "/providers/KOWHAI/redeliver", "reason", "ticket 7").is(t, http.StatusUnprocessableEntity)
	b.post(t, "/providers/TUI/redeliver", "reason", "ticket 7", "days", "1").is(t, http.StatusNotFound)
	to := b.post(t, "/providers/KOWHAI/redeliver", "reason", "ticket 7", "days", "1").is(t, http.StatusSeeOther).header.Get("Location")
	b.get(t, to).has(t, "The failed events are sent again in a moment.")
	again := b.post(t, "/providers/KOWHAI/redeliver", "reason", "ticket 8", "days", "1").is(t, http.StatusSeeOther).header.Get("Location")
	b.get(t, again).has(t, "There was nothing to do")
	leaves := w.recorded(t)
	if len(leaves) != 1 || !strings.Contains(leaves[0], `"event evt_1: to be sent again"`) ||
		!strings.Contains(leaves[0], `"reason":"ticket 7"`) {
		t.Errorf("the records are %q", leaves)
	}
	w.sendsAgain(t, "evt_1", "operator:Aroha")
	b.get(t, "/providers/KOWHAI").has(t, "<dt>delivered</dt><dd>1</dd>",
		"<details open><summary>Changes (1)</summary><ul><li><bdi>event evt_1: to be sent again</bdi></li>").lacks(t, "First given up")
}

func TestTheRateOfAProviderIsChangedAndRecorded(t *testing.T) {
	w := newWorld(t)
	b := w.as(t, "Aroha", operate.Engineer)
	for _, wrong := range []string{"x", "-1", "0", "1.5", "1000000000"} {
		b.post(t, "/providers/KOWHAI/rate", "rate", wrong, "reason", "ticket 7").is(t, http.StatusUnprocessableEntity)
	}
	b.post(t, "/providers/KOWHAI/rate", "rate", "7").is(t, http.StatusUnprocessableEntity)
	b.post(t, "/providers/TUI/rate", "rate", "7", "reason", "ticket 7").is(t, http.StatusNotFound)
	w.one(t)
	for range 2 {
		b.post(t, "/providers/KOWHAI/rate", "rate", "7", "reason", "ticket 7").is(t, http.StatusSeeOther)
	}
	w.one(t, `"operator":"Aroha (engineer)","operation":"providers rate","subject":"KOWHAI","reason":"ticket 7"`)
	b.get(t, "/providers/KOWHAI").has(t, "7 requests a second")
	w.forward(time.Second)
	b.post(t, "/providers/KOWHAI/rate", "rate", "", "reason", "ticket 7").is(t, http.StatusSeeOther)
	b.get(t, "/providers/KOWHAI").lacks(t, "7 requests a second")
}

func TestATestEventIsSentAndRecorded(t *testing.T) {
	w := newWorld(t)
	b := w.as(t, "Aroha", operate.Engineer)
	b.post(t, "/providers/TUI/ping").is(t, http.StatusNotFound)
	w.one(t)
	b.get(t, "/providers/KOWHAI").has(t, "Send a test event")
	to := b.post(t, "/providers/KOWHAI/ping").is(t, http.StatusSeeOther).header.Get("Location")
	b.get(t, to).has(t, "The receiver took the event.")
	w.one(t, `"operator":"Aroha (engineer)","operation":"providers ping","subject":"KOWHAI"`, "ping: taken")
	b.get(t, "/providers/KOWHAI").has(t, "providers ping", "ping: taken")
}

func TestAProviderHasItsLastSevenDays(t *testing.T) {
	w := newWorld(t)
	c, err := w.store.Checkout(t.Context(), checkoutID)
	must(t, err)
	for i, days := range []int{6, 8} { // beside the checkout of today
		at := w.now().AddDate(0, 0, -days)
		c.ID, c.OrderID, c.IdempotencyKey = fmt.Sprintf("KOWHAI-%d-x", at.UnixMilli()), fmt.Sprint("WEEK-", i), fmt.Sprint("week-", i)
		c.CreatedAt = at
		change := checkout.Change{Next: c, Moments: []checkout.Moment{{At: at, Kind: checkout.MomentCreated, Actor: "provider:k1", Times: 1}}}
		if i == 0 {
			change.Moments = append(change.Moments, checkout.Moment{At: at, Kind: checkout.MomentSetupDone, Actor: checkout.ActorProcessor, Times: 1})
		}
		must(t, w.store.InsertCheckout(t.Context(), change, checkout.JobEntry{Now: w.now()}))
	}
	w.as(t, "Aroha", operate.Support).get(t, "/providers/KOWHAI").has(t, "Created in the last seven days: 2. Of these set up: 1, confirmed: 0.")
}

func TestTheStepsOfAProviderToProduction(t *testing.T) {
	w := newWorld(t)
	b := w.as(t, "Aroha", operate.Auditor)
	b.get(t, "/providers/KOWHAI").has(t, `<a href="/providers/KOWHAI/golive">`)
	b.get(t, "/providers/KOWHAI/golive").is(t, http.StatusOK).has(t, "<strong>not ready</strong>, 1 of 2 steps are missing",
		"Create a checkout of KOWHAI.", `in <a href="/find?q=req_1">`, `<a href="https://pay.example/docs#setup">`)
	b.get(t, "/providers/TUI/golive").is(t, http.StatusNotFound)

	production := newWorld(t, func(o *Options) { o.GoLive = nil })
	b = production.as(t, "Aroha", operate.Auditor)
	b.get(t, "/providers/KOWHAI").is(t, http.StatusOK).lacks(t, "golive")
	b.get(t, "/providers/KOWHAI/golive").is(t, http.StatusNotFound)
}
