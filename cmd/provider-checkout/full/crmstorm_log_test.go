package full_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// stormLog reads what the service logs in a storm. It collects the lines that alarm an operator, and the lines about a checkout that
// do not say which, or why it was refused.
type stormLog struct {
	mu      sync.Mutex
	lines   int                 // about checkouts
	refused map[string]int      // lines by the code of their refusal
	named   map[string]logNames // the names of each checkout, by its id
	nobody  map[string]string   // lines of requests that were given up before a checkout was read, by the id of the request
	alarms  []string
	wrong   []string
}

// logNames are the names of a checkout beside its id.
type logNames struct{ provider, order string }

// logLine is a line of the log.
type logLine struct {
	Level, Msg, Path string
	Status           int
	Error            string
	CheckoutID       string `json:"checkout_id"`
	OrderID          string `json:"provider_order_id"`
	RequestID        string `json:"request_id"`
	ProviderCode     string `json:"provider_code"`
	Code             string `json:"error_code"`
	Fields           string `json:"error_fields"`
}

func newStormLog() *stormLog {
	return &stormLog{refused: make(map[string]int), named: make(map[string]logNames), nobody: make(map[string]string)}
}

var (
	// ofTheServer are the messages about the server as a whole, or about many requests of a provider.
	ofTheServer = []string{"draining", "stopped", "keep the requests"}
	// fieldNames are the codes of refusals of which the log names fields.
	fieldNames = []string{"CONFLICT", "IDEMPOTENCY_CONFLICT", "VALIDATION_ERROR"}
	aCheckout  = regexp.MustCompile(`(KOWHAI|TUI)-\d{13}-[a-z2-7]{16}`)
)

// Write reads a line.
func (l *stormLog) Write(line []byte) (int, error) {
	var got logLine
	err := json.Unmarshal(line, &got)
	fault := got.fault()
	if err != nil {
		fault = err.Error()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if got.Level == "ERROR" {
		l.alarms = append(l.alarms, string(line))
	}
	if fault == noNames && (got.Msg == "request failed" || got.Status >= 500) {
		l.nobody[got.RequestID], fault = string(line), ""
	}
	names := logNames{got.ProviderCode, got.OrderID}
	if got.CheckoutID != "" {
		l.lines++
		if known, seen := l.named[got.CheckoutID]; seen && known != names && fault == "" {
			fault = fmt.Sprintf("another line names %+v", known)
		}
		l.named[got.CheckoutID] = names
	}
	if got.Code != "" {
		l.refused[got.Code]++
	}
	if fault != "" {
		l.wrong = append(l.wrong, fault+": "+string(line))
	}
	return len(line), nil
}

const noNames = "no checkout, order or provider"

// fault says what the line lacks; "" if it lacks nothing. The fake processor's pages belong to another party.
func (l logLine) fault() string {
	refused := l.Msg == "request" && l.Status >= 400
	switch {
	case slices.Contains(ofTheServer, l.Msg) && !aCheckout.MatchString(l.Error), strings.HasPrefix(l.Path, fakeprocessor.Prefix):
		return ""
	case l.CheckoutID == "" || l.OrderID == "" || l.ProviderCode == "":
		return noNames
	case aCheckout.MatchString(l.Path) && !strings.Contains(l.Path, l.CheckoutID):
		return "another checkout than the path's"
	case refused && l.Code == "":
		return "no code of the refusal"
	case slices.Contains(fieldNames, l.Code) && l.Fields == "":
		return "no fields of the refusal"
	}
	return ""
}

// check fails the test if an operator was alarmed, or a line about one of the enrolments, which are on record, does not say which.
func (l *stormLog) check(t *testing.T, all []*enrolment, stored map[string]checkout.CheckoutRecord) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range stored {
		requests := []string{r.Checkout.RequestID, r.Checkout.Confirmation.RequestID}
		for _, m := range r.Moments {
			requests = append(requests, m.RequestID)
		}
		for _, j := range r.Jobs {
			requests = append(requests, j.Job.RequestID)
		}
		for _, id := range requests {
			if line := l.nobody[id]; line != "" {
				l.wrong = append(l.wrong, "a request that changed the checkout "+r.Checkout.ID+": "+line)
				delete(l.nobody, id)
			}
		}
	}
	for what, lines := range map[string][]string{"alarmed the operator": l.alarms, "do not say what they are about": l.wrong} {
		if len(lines) > 0 {
			t.Errorf("%d lines of the log %s:\n%s", len(lines), what, strings.Join(lines[:min(5, len(lines))], ""))
		}
	}
	for _, e := range all {
		if got, want := l.named[e.IDs[0]], (logNames{e.Provider, e.Order}); got != want {
			t.Errorf("the log names the checkout %s of %+v as that of %+v", e.IDs[0], want, got)
		}
	}
	t.Logf("%d lines about %d checkouts; refusals by code: %v; %d requests were given up before a checkout was read", l.lines, len(l.named),
		l.refused, len(l.nobody))
	if l.lines < 4*len(all) || l.refused["CONFLICT"] == 0 || l.refused["IDEMPOTENCY_CONFLICT"] == 0 {
		t.Error("void: too few lines, or none of a refusal that names fields")
	}
}
