package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// An operator finds an enrolment by whatever a caller has of it, and sees no full address.
func TestFindAndShow(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	number := o.confirmedOver(t)
	shown := o.objects(t, "find", "ENROL-1")[0]
	id := shown["checkout_id"].(string)
	name := strings.Fields(shown["student"].(string))
	c := o.record(t, id)
	key := ""
	for _, k := range o.objects(t, "keys", "list") {
		if k["provider_code"] == "KOWHAI" {
			key = k["key_id"].(string)
		}
	}
	for _, query := range []string{id, "ENROL-1", number, strings.ToLower(number), c.Setup.MandateID, c.Setup.BillingRequestID,
		c.RequestID, c.Confirmation.RequestID, o.objects(t, "jobs", "list", "--kind", "deliver", "--state", "done")[0]["id"].(string),
		key,
		strings.ToUpper(c.Student.Email), strings.ToUpper(name[0][:3]), name[len(name)-1]} {
		got := try(t, nil, "", "find", query, "--store", "sqlite:"+o.path)
		if strings.Contains(got.stdout, id) != (got.code == exitDone) || strings.Contains(got.stdout, "@") {
			t.Errorf("find %s = %+v", query, got)
		}
	}
	says(t, o.prints(t, "find", c.Student.LastName), id, "ENROL-1", "confirmed", c.Student.Name())
	o.fails(t, "nothing has this id", "find", "nobody")
	o.fails(t, "nothing has this id", "find", "ENROL-1", "--provider", "RIMU")
	try(t, nil, "", "find", " ", "--store", "sqlite:"+o.path).refuses(t, exitUsage, "QUERY is empty")

	local, host, _ := strings.Cut(c.Student.Email, "@")
	out := o.prints(t, "show", c.Setup.MandateID)
	says(t, out, local[:1]+"•••@"+host, c.Student.Name())
	saysNot(t, out+o.prints(t, "show", id, "--json"), c.Student.Email)
}

// A line of the timeline has the five fields that scripts rely on, always.
func TestTheTimelineForScripts(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.confirmedOver(t)
	for line := range strings.Lines(o.prints(t, "show", "ENROL-1", "--json")) {
		var moment map[string]any
		if err := json.Unmarshal([]byte(line), &moment); err != nil {
			t.Fatal(err)
		}
		for _, field := range []string{"at", "kind", "actor", "request_id", "detail"} {
			if _, ok := moment[field].(string); !ok {
				t.Errorf("the moment %s has no %s", line, field)
			}
		}
	}
}

func TestTodayListsWhatNeedsAHand(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	if out := o.prints(t, "apply", "-f", "demo.json") + o.prints(t, "today"); !strings.HasSuffix(out, "nothing needs a hand\n") {
		t.Errorf("today of a new store prints %q", out)
	}
	db := o.open(t)
	s := sandbox.NewOver(t, sandbox.Outside{Now: time.Now().Add(-2 * time.Hour)}, sandbox.On(db), func(c *service.Config, _ *httpapi.Options) { c.Keyring = keyringOf(t, db) })
	s.Receiver.AnswerWith(func(sandbox.Delivery) int { return http.StatusServiceUnavailable })
	s.Create(t, "LEFT-1")
	created := s.Create(t, "LEFT-2")
	s.SetUp(t, created)
	has(t, o.objects(t, "today")[0], map[string]any{"reason": "unconfirmed", "count": 1.0, "worst_provider_code": "KOWHAI"})
	lines := o.objects(t, "today")
	has(t, lines[1], map[string]any{"reason": "events", "worst_provider_code": "KOWHAI"})
	says(t, o.prints(t, "today"), "not confirmed by the provider", "receiver did not take")
}

// record returns a checkout on record.
func (o operator) record(t *testing.T, id string) checkout.Checkout {
	t.Helper()
	c, err := o.open(t).Checkout(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
