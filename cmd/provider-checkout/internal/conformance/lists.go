package conformance

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/events"
)

// eventsOf returns the page of the events of an order, and their names.
func (t *trial) eventsOf(created answer) (page answer, names []string) {
	page = t.get(eventsPath + "?provider_order_id=" + created.order()).is(http.StatusOK)
	return page, page.column("events", "event")
}

var eventID = regexp.MustCompile(`^evt_\S+$`)

// emitted wants one event of an order, caused by a call, with the data that all events have and more: names and values in turn.
// The value "" is any text, and "YYYY-MM-DD" any date.
func (t *trial) emitted(created answer, name string, call answer, more ...string) {
	if len(t.Events) > 0 && !slices.Contains(t.Events, events.Name(name)) {
		t.skip("the operator does not list " + name + " for the provider, by --events")
		return
	}
	page, names := t.eventsOf(created)
	n := slices.Index(names, name)
	if !page.want(n >= 0, "an event %s of the order; where the operator lists other events for you (webhook.events), give these by --events", name) {
		return
	}
	id := page.String(fmt.Sprintf("events.%d.event_id", n))
	e, err := apiclient.ParseObject([]byte(page.String(fmt.Sprintf("events.%d.body", n))))
	page.want(err == nil, "events.%d.body is the JSON text of the event", n)
	page.want(eventID.MatchString(id) && e.Text("event_id") == id, "event_id has the prefix evt_, in the list and in the body")
	page.want(moment.MatchString(e.Text("created_at")), "created_at is a UTC timestamp with milliseconds")
	want := append([]string{"event", name, "request_id", call.Header.Get("X-Request-Id"), "environment", t.report.Environment,
		"data.provider_code", t.Provider, "data.provider_order_id", created.order(),
		"data.checkout_id", created.String("checkout.checkout_id"), "data.opportunity_id", created.String("records.opportunity_id")}, more...)
	for i := 0; i < len(want); i += 2 {
		got := e.Text(want[i])
		_, err := time.Parse(time.DateOnly, got)
		page.want(got != "" && (want[i+1] == "" || got == want[i+1] || want[i+1] == "YYYY-MM-DD" && err == nil),
			"%s of %s is a text: %s", want[i], name, want[i+1])
	}
}

// ofEvents checks the events (section 6), as their list has them.
func ofEvents() []check {
	return []check{
		{"6", "checkout.created: a new checkout is created.", opened, func(t *trial) {
			t.emitted(t.first, "checkout.created", t.first, "data.dda_id", t.first.String("records.dda_id"),
				"data.contact_id", t.first.String("records.contact_id"))
		}},
		{"6", "checkout.created is not emitted on idempotent create replay.", opened, func(t *trial) {
			t.create(t.createBody(t.first.order()))
			page, names := t.eventsOf(t.first)
			page.want(len(names) <= 1, "one event of the order, which was created once")
		}},
		{"6", "checkout.confirmed: enrolment confirmed, with status Confirmed and payment_plan_agreement_id.", agreement, func(t *trial) {
			t.emitted(t.ready, "checkout.confirmed", t.confirmed, "data.dda_id", t.ready.String("records.dda_id"), "data.status", "Confirmed",
				"data.payment_plan_agreement_id", t.confirmed.String("agreement.id"))
		}},
		{"6", "agreement.generated: agreement PDF stored during that confirm; not unless pdf_generated is true.", agreement, func(t *trial) {
			if t.confirmed.At("agreement.pdf_generated") != true {
				page, names := t.eventsOf(t.ready)
				page.want(!slices.Contains(names, "agreement.generated"), "no agreement.generated")
				return
			}
			t.emitted(t.ready, "agreement.generated", t.confirmed, "data.payment_plan_agreement_id", t.confirmed.String("agreement.id"),
				"data.payment_plan_agreement_number", t.confirmed.String("agreement.number"),
				"data.pdf_content_document_id", "", "data.agreement_version", "YYYY-MM-DD")
		}},
		{"6", "checkout.confirmed and agreement.generated are not emitted when already_confirmed.", agreement, func(t *trial) {
			t.confirm(t.ready, t.ready.confirmBody())
			page, names := t.eventsOf(t.ready)
			slices.Sort(names)
			page.want(len(slices.Compact(names)) == len(names), "each event of the order once")
		}},
		{docs, "POST …/redeliver sends an event again: 202; an unknown event is 404 EVENT_NOT_FOUND.", opened, redelivers},
	}
}

// redelivers has an event sent again. A provider without a destination is refused.
func redelivers(t *trial) {
	t.post(eventsPath+"/evt_none/redeliver", "").refused("EVENT_NOT_FOUND")
	page, _ := t.eventsOf(t.first)
	id := page.String("events.0.event_id")
	if id == "" {
		t.skip("the order has no event")
		return
	}
	path := eventsPath + "/" + id + "/redeliver"
	if a := t.post(path, ""); a.Status == http.StatusConflict {
		a.refused("CONFLICT")
	} else {
		a.is(http.StatusAccepted).has("event_id", id)
	}
	if again := t.sendOnce(http.MethodPost, path, "", "Authorization", "Bearer "+t.Key); again.Status == http.StatusTooManyRequests {
		again.refused("RATE_LIMITED").want(again.Header.Get("Retry-After") != "", "the header Retry-After")
	}
}

// ofLists checks the lists of events and enrolments (documentation).
func ofLists() []check {
	return []check{
		{docs, "Your events, the oldest first: go on with next, or the cursor of an event, until a page has no events.", nothing, func(t *trial) {
			t.pages(eventsPath, "events", "event_id")
		}},
		{docs, "Your checkouts, the oldest change first: go on with next, or the cursor of an enrolment.", nothing, func(t *trial) {
			t.pages(enrolments, "enrolments", "checkout_id")
		}},
		{docs, "A parameter of a list that is wrong is named: 400 VALIDATION_ERROR.", nothing, func(t *trial) {
			for _, wrong := range []string{"limit=0", "limit=101", "limit=x", "after=x"} {
				field, _, _ := strings.Cut(wrong, "=")
				t.get(eventsPath + "?" + wrong).invalid(field)
				t.get(enrolments + "?" + wrong).invalid(field)
			}
			t.get(enrolments + "?updated_after=yesterday").invalid("updated_after")
		}},
		{docs, "An enrolment of the list has order, checkout, status and times, and no details of the student.", opened, func(t *trial) {
			a := t.get(enrolments + "?provider_order_id=" + t.first.order()).is(http.StatusOK)
			a.has("enrolments.0.provider_order_id", t.first.order())
			a.has("enrolments.0.checkout_id", t.first.String("checkout.checkout_id"))
			a.has("enrolments.0.status", open).has("enrolments.0.setup_complete", false)
			a.times("enrolments.0.created_at", "enrolments.0.updated_at")
			a.want(!strings.Contains(a.Body, studentEmail), "a list without details of students")
		}},
		{docs, "status, updated_after and provider_order_id keep the list of enrolments to some.", opened, func(t *trial) {
			for query, n := range map[string]int{"status=" + open: 1, "status=confirmed": 0, "updated_after=2000-01-01T00:00:00Z": 1,
				"updated_after=2199-01-01T00:00:00Z": 0} {
				t.counts(t.first.order()+"&"+query, n)
			}
		}},
		{docs, "A checkout that changes moves to the end of the list; once confirmed it has its agreement's number.", agreement, func(t *trial) {
			older := t.get(enrolments + "?provider_order_id=" + t.first.order())
			newer := t.get(enrolments + "?provider_order_id=" + t.ready.order() + "&after=" + older.String("next"))
			newer.has("enrolments.0.status", "confirmed").has("enrolments.0.setup_complete", true)
			newer.has("enrolments.0.agreement_number", t.confirmed.String("agreement.number"))
		}},
	}
}

// pages reads the first entries of a list, which have an id, by two ways, and its end.
func (t *trial) pages(path, name, id string) {
	whole := t.get(path + "?limit=3").is(http.StatusOK)
	whole.texts("next")
	whole.want(len(whole.list(name)) <= 3, "at most 3 %s", name)
	last := ""
	for n := range whole.list(name) {
		entry := fmt.Sprintf("%s.%d.", name, n)
		one := t.get(path+"?limit=1&after="+last).has(name+".0."+id, whole.String(entry+id))
		last = whole.String(entry + "cursor")
		one.has("next", last)
	}
	whole.want(last == "" || whole.String("next") == last, "next is the cursor of the last entry")
	next := whole.String("next")
	end := t.get(path+"?provider_order_id=conformance-none&after="+next).is(http.StatusOK).has("next", next)
	end.want(len(end.list(name)) == 0, "a page without %s, whose next is the given after", name)
}
