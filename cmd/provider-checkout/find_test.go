package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
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

// objects runs a command with --json and returns the objects that it prints, whatever its status.
func (o operator) objects(t *testing.T, args ...string) (list []map[string]any) {
	t.Helper()
	got := try(t, nil, "", append(args, "--json", "--store", "sqlite:"+o.path)...)
	for line := range strings.Lines(got.stdout) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatalf("%q prints %q: %v", args, line, err)
		}
		list = append(list, object)
	}
	if got.code == exitUsage || len(list) == 0 {
		t.Fatalf("%q = %+v, want objects", args, got)
	}
	return list
}

// has checks that an object has these fields, by name and value.
func has(t *testing.T, object map[string]any, want map[string]any) {
	t.Helper()
	for name, value := range want {
		if object[name] != value {
			t.Errorf("%s is %v, want %v, in %v", name, object[name], value, object)
		}
	}
}

func TestWhatIsListedIsAlsoPrintedAsJSON(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	s := o.served(t)
	s.Receiver.AnswerWith(func(sandbox.Delivery) int { return http.StatusServiceUnavailable })
	created := s.Create(t, "NIGHT-1")
	s.Receiver.AnswerWith(func(sandbox.Delivery) int { return http.StatusNoContent })
	s.SetUp(t, created)
	s.Confirm(t, created)

	keys := o.objects(t, "keys", "list") // of two providers, in any order if they were issued in one millisecond
	if len(keys) != 2 {
		t.Fatalf("keys list prints %v, want two keys", keys)
	}
	if keys[0]["provider_code"] != "KOWHAI" {
		slices.Reverse(keys)
	}
	has(t, keys[0], map[string]any{"provider_code": "KOWHAI", "environment": "sandbox", "revoked_at": nil})
	has(t, keys[1], map[string]any{"provider_code": "TUI", "environment": "sandbox", "revoked_at": nil})
	failed := o.objects(t, "jobs", "list", "--kind", "deliver", "--state", "failed")[0]
	id := created.String("checkout.checkout_id")
	has(t, failed, map[string]any{"kind": "deliver", "state": "failed", "provider_code": "KOWHAI", "checkout_id": id, "attempts": 3.0,
		"due_at": nil})
	if reason, _ := failed["reason"].(string); !strings.Contains(reason, "answered 503") || failed["settled_at"] == nil || failed["created_at"] == nil {
		t.Errorf("the job that failed is %v, want its reason and its times", failed)
	}
	o.does(t, "jobs", "retry", failed["id"].(string))
	act := o.objects(t, "acts")[0]
	has(t, act, map[string]any{"act": "jobs retry", "provider_code": "KOWHAI"})
	if doer, _ := act["id"].(string); !strings.HasPrefix(doer, "act_") {
		t.Errorf("the act %v has no id", act)
	}
	shown := o.objects(t, "jobs", "show", failed["id"].(string))[0]
	has(t, shown, map[string]any{"id": failed["id"], "name": "checkout.created", "checkout_id": id, "body": nil})
	timeline := o.objects(t, "show", "NIGHT-1")
	kinds, previous := map[any]bool{}, ""
	for _, moment := range timeline {
		if at, _ := moment["at"].(string); at < previous {
			t.Errorf("the moment %v is before the one above it, of %s", moment, previous)
		} else {
			previous = at
		}
		kinds[moment["kind"]] = true
	}
	for _, kind := range []string{"created", "event_failed", "pressed", "setup_done", "confirmed", "event_delivered"} {
		if !kinds[kind] {
			t.Errorf("the timeline has no moment %s: %v", kind, timeline)
		}
	}
}

// Whoever has the file, and no secret, can read it by every command that only reads, and leaves it as it was.
func TestCommandsThatReadNeedNoSecretAndWriteNothing(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	number := o.confirmedOver(t)
	if err := os.Rename(o.path+".secret", o.path+".kept"); err != nil {
		t.Fatal(err)
	}
	job := o.objects(t, "jobs", "list", "--state", "done")[0]["id"].(string)
	before, err := os.ReadFile(o.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"find", "ENROL-1"}, {"show", "ENROL-1"}, {"today"}, {"jobs", "list"}, {"jobs", "show", job},
		{"acts"}, {"keys", "list"}, {"agreements", "verify", number}, {"agreements", "verify", "--all"}, {"agreements", "pdf", number, "--out", "-"},
		{"privacy", "export", "--email", "aroha.ngata@students.example.ac.nz"}, {"export"}} {
		o.does(t, args...)
	}
	if after, err := os.ReadFile(o.path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file has changed, %v", err)
	}
	o.fails(t, ".secret is missing", "keys", "issue", "--provider", "KOWHAI")
	operator{path: o.path + ".new"}.fails(t, "there is no store", "find", "x")
	db, err := sqlite.Open(t.Context(), o.path, sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.AddKey(t.Context(), catalogue.Key{ID: "x"}, checkout.Act{ID: "act_1"}); err == nil || !strings.Contains(err.Error(), "to be read only") {
		t.Errorf("a write gives %v", err)
	}
	if err := db.Ready(t.Context()); err == nil {
		t.Error("a store that is only read is ready")
	}
}
