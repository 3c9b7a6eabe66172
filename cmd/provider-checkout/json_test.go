package main

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
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
	if got.code == cli.ExitUsage || len(list) == 0 {
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
	db := o.open(t)
	s := sandbox.New(t, db, func(c *service.Config, _ *httpapi.Options) { c.Keyring = keyringOf(t, db) })
	s.Receiver.AnswerWith(func(sandbox.Delivery) int { return http.StatusServiceUnavailable })
	created := s.Create(t, "NIGHT-1")
	s.Receiver.AnswerWith(func(sandbox.Delivery) int { return http.StatusNoContent })
	s.SetUp(t, created)
	number := s.Confirm(t, created).String("agreement.number")

	keys := o.objects(t, "keys", "list") // of two providers, in any order if they were issued in one millisecond
	if len(keys) != 2 {
		t.Fatalf("keys list prints %v, want two keys", keys)
	}
	if keys[0]["provider_code"] != "KOWHAI" {
		slices.Reverse(keys)
	}
	has(t, keys[0], map[string]any{"provider_code": "KOWHAI", "environment": "sandbox", "revoked_at": nil})
	has(t, keys[1], map[string]any{"provider_code": "TUI", "environment": "sandbox", "revoked_at": nil})
	failed := o.objects(t, "events", "list", "--status", "failed")[0]
	has(t, failed, map[string]any{"event": "checkout.created", "provider_order_id": "NIGHT-1", "attempts": 3.0, "body": nil})
	if reason, _ := failed["reason"].(string); !strings.Contains(reason, "answered 503") {
		t.Errorf("the reason is %q", reason)
	}
	id := failed["event_id"].(string)
	stop := works(t, s.Config)
	sent := o.objects(t, "events", "redeliver", id)[0]
	stop()
	has(t, sent, map[string]any{"event_id": id, "delivered": true, "attempts": 1.0, "not_sent": nil})
	shown := o.objects(t, "events", "show", id)[0]
	if !strings.Contains(shown["body"].(string), id) {
		t.Errorf("events show has the body %v, want the body that was sent", shown["body"])
	}
	log, _ := shown["attempt_log"].([]any)
	if len(log) != 4 {
		t.Fatalf("events show has the attempts %v, want three of its own and one more", shown["attempt_log"])
	}
	has(t, log[2].(map[string]any), map[string]any{"status": 503.0, "attempt": 3.0, "asked_by": nil})
	last := log[3].(map[string]any)
	has(t, last, map[string]any{"status": 204.0, "attempt": 1.0})
	if by, _ := last["asked_by"].(string); !strings.HasPrefix(by, "operator:") {
		t.Errorf("the last attempt was asked by %q, want an operator", by)
	}
	for _, check := range o.objects(t, "agreements", "verify", number) {
		if texts, _ := check["texts"].([]any); len(texts) != 1 || check["mark"] != "ok" && check["mark"] != "none" {
			t.Errorf("verify prints %v", check)
		}
	}
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
	all := o.objects(t, "agreements", "verify", "--all")
	has(t, all[len(all)-1], map[string]any{"mark": "ok", "subject": number})
	if got := try(t, nil, "", "version", "--json"); !strings.Contains(got.stdout, `"go_version":"go1.`) {
		t.Errorf("version --json = %+v", got)
	}
}
