package main

import (
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// An operator finds an enrolment by whatever a caller has of it, and sees no full address without a reason that is recorded.
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
		c.RequestID, c.Confirmation.RequestID, o.objects(t, "events", "list")[0]["event_id"].(string),
		key,
		strings.ToUpper(c.Student.Email), strings.ToUpper(name[0][:3]), name[len(name)-1]} {
		got := try(t, nil, "", "find", query, "--store", "sqlite:"+o.path)
		if strings.Contains(got.stdout, id) != (got.code == cli.ExitDone) || strings.Contains(got.stdout, "@") {
			t.Errorf("find %s = %+v", query, got)
		}
	}
	says(t, o.prints(t, "find", c.Student.LastName), id, "ENROL-1", "confirmed", c.Student.Name())
	o.fails(t, "nothing has this id", "find", "nobody")
	o.fails(t, "nothing has this id", "find", "ENROL-1", "--provider", "RIMU")
	try(t, nil, "", "find", " ", "--store", "sqlite:"+o.path).refuses(t, cli.ExitUsage, "QUERY is empty")

	before := len(o.lines(t))
	local, host, _ := strings.Cut(c.Student.Email, "@")
	out := o.prints(t, "show", c.Setup.MandateID)
	says(t, out, local[:1]+"•••@"+host, c.Student.Name())
	saysNot(t, out+o.prints(t, "show", id, "--json"), c.Student.Email)
	try(t, nil, "", "show", id, "--reveal", "--store", "sqlite:"+o.path).refuses(t, cli.ExitUsage, "--reveal needs --reason")
	if n := len(o.lines(t)); n != before {
		t.Errorf("what was masked left %d records", n-before)
	}
	o.fails(t, "must name no person", "show", id, "--reveal", "--reason", c.Student.LastName+" called")
	says(t, o.prints(t, "show", id, "--reveal", "--reason", "she called"), c.Student.Email)
	did := o.lines(t)
	if len(did) != before+1 || did[before].Operation != "show" || did[before].Subject != id || did[before].Reason != "she called" {
		t.Errorf("the look is recorded as %+v", did[before:])
	}
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

func TestTodayAndTheFunnel(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	if out := o.prints(t, "apply", "-f", "demo.json") + o.prints(t, "today"); !strings.HasSuffix(out, "nothing needs a hand\n") {
		t.Errorf("today of a new store prints %q", out)
	}
	db := o.open(t)
	s := sandbox.NewOver(t, sandbox.Outside{Now: time.Now().Add(-2 * time.Hour)}, db, func(c *service.Config, _ *httpapi.Options) { c.Keyring = keyringOf(t, db) })
	s.Receiver.AnswerWith(func(sandbox.Delivery) int { return http.StatusServiceUnavailable })
	s.Create(t, "LEFT-1")
	created := s.Create(t, "LEFT-2")
	s.SetUp(t, created)
	has(t, o.objects(t, "today")[0], map[string]any{"reason": "unconfirmed", "count": 1.0, "worst_provider_code": "KOWHAI"})
	lines := o.objects(t, "today")
	has(t, lines[1], map[string]any{"reason": "events", "worst_provider_code": "KOWHAI"})
	says(t, o.prints(t, "today"), "not confirmed by the provider", "receiver did not take")
	year, week := time.Now().Add(-2 * time.Hour).UTC().ISOWeek()
	has(t, o.objects(t, "funnel")[0], map[string]any{"week": fmt.Sprintf("%d-W%02d", year, week), "provider_code": "KOWHAI",
		"created": 2.0, "opened": 1.0, "pressed": 1.0, "bank_done": 1.0, "confirmed": 0.0})
	says(t, o.prints(t, "funnel", "--provider", "KOWHAI"), "BANK DONE", "KOWHAI")
	saysNot(t, o.prints(t, "funnel", "--provider", "TUI")+o.prints(t, "funnel", "--from", "2020-01-01", "--to", "2020-02-01"), "KOWHAI")
	try(t, nil, "", "funnel", "--from", "yesterday", "--store", "sqlite:"+o.path).refuses(t, cli.ExitUsage, "must be a day")
}

func TestTheMonthIsATableOfAmounts(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	number := o.confirmedOver(t)
	zone, err := service.NewZealand()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().In(zone)
	path := filepath.Join(t.TempDir(), "month.csv")
	_, stderr := o.does(t, "month", now.Format("2006-01"), "--out", path, "--reason", "the books")
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(file))).ReadAll()
	if err != nil || len(rows) != 2 || rows[1][3] != number || rows[1][len(rows[1])-1] != "" {
		t.Fatalf("the month is %q, %v; want a heading and %s without differences", rows, err, number)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(file))
	says(t, stderr, sum, "1 agreement")
	did := o.lines(t)
	if last := did[len(did)-1]; last.Operation != "month" || last.Reason != "the books" || !strings.Contains(last.Changes[0], sum) {
		t.Errorf("on record is %+v, want the SHA-256 %s", last, sum)
	}
	c := o.record(t, rows[1][2])
	saysNot(t, string(file), c.Student.LastName, c.Student.Email)
	line := o.objects(t, "month", now.Format("2006-01"))[0]
	has(t, line, map[string]any{"agreement_number": number, "differences": "", "mandate_status": string(c.Setup.Mandate)})
	if out := o.prints(t, "month", "2020-01"); strings.Count(out, "\n") != 1 {
		t.Errorf("a month without agreements prints %q, want the heading", out)
	}
	try(t, nil, "", "month", "2026-13", "--store", "sqlite:"+o.path).refuses(t, cli.ExitUsage, "is not a month")
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
