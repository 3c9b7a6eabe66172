package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

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
