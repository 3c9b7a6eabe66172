package upgrade_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/demo"
)

// folder holds the stores of the earlier version, and what is known of them.
const folder = "../../../testdata/upgrade/7ef5044."

// history is what the earlier version said of its store.
type history struct {
	export []demo.Object     // every line, in its order
	orders map[string]record // by their ids
	keys   map[string]string // API keys by provider code
	tokens map[string]string // setup tokens by order
}

// record is what the export says of one order, by kind. Of charges and events it holds the last.
type record map[string]demo.Object

func (r record) id() string       { return r["checkout"].Text("checkout_id") }
func (r record) provider() string { return r["checkout"].Text("provider_code") }
func (r record) order() string    { return r["checkout"].Text("provider_order_id") }
func (r record) confirmed() bool  { return r["checkout"].Text("status") == "confirmed" }

// create returns the body of the create that opened the order.
func (r record) create(t *testing.T) string {
	t.Helper()
	opened := r["checkout"]
	body := map[string]any{
		"provider": map[string]any{"provider_code": r.provider(), "provider_order_id": r.order()},
		"student": map[string]any{"first_name": r["contact"].At("first_name"), "last_name": r["contact"].At("last_name"),
			"email": r["contact"].At("email")},
		"course": map[string]any{"course_code": opened.At("course_code")},
		"plan": map[string]any{"payment_frequency": opened.At("plan.payment_frequency"),
			"first_payment_date": opened.At("plan.first_payment_date")},
	}
	if opened.At("course_code") == nil { // the provider has no catalogue, and sends every figure
		body["course"] = map[string]any{"course_name": opened.At("course_name")}
		body["pricing"], body["plan"] = opened.At("pricing"), opened.At("plan")
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// poll returns what a poll of the order's checkout answers, by dotted paths.
func (r record) poll() map[string]any {
	dda := r["dda"]
	return map[string]any{
		"success":                             true,
		"checkout.checkout_id":                r.id(),
		"checkout.status":                     r["checkout"].At("status"),
		"direct_debit.setup_complete":         dda.At("setup_complete"),
		"direct_debit.billing_request_status": dda.At("billing_request_status"),
		"direct_debit.mandate_status":         dda.At("mandate_status"),
		"direct_debit.authorisation_status":   dda.At("authorisation_status"),
		"direct_debit.authorised":             dda.At("authorised"),
		"direct_debit.dda_id":                 dda.At("dda_id"),
	}
}

// providerOf returns the provider of a create.
func providerOf(t *testing.T, body string) string {
	t.Helper()
	o, err := demo.ParseObject([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return o.Text("provider.provider_code")
}

// moment returns half a minute after the last create: what the processor said then is what the export holds, because
// the fake processor goes on to the next status after a minute.
func (h history) moment(t *testing.T) time.Time {
	t.Helper()
	var last time.Time
	for _, r := range h.orders {
		at, err := time.Parse(time.RFC3339, r["checkout"].Text("created_at"))
		if err != nil {
			t.Fatal(err)
		}
		if at.After(last) {
			last = at
		}
	}
	return last.Add(30 * time.Second)
}

// readHistory reads what the earlier version said of its store of this kind.
func readHistory(t *testing.T, kind string) history {
	t.Helper()
	h := history{export: parseExport(t, unzip(t, kind+".jsonl.gz")), orders: map[string]record{}}
	parseFile(t, kind+".keys.json", &h.keys)
	parseFile(t, kind+".tokens.json", &h.tokens)
	byID := map[string]record{}
	for _, line := range h.export {
		id := line.Text("checkout_id")
		if id == "" {
			continue
		}
		if byID[id] == nil {
			byID[id] = record{}
		}
		byID[id][line.Text("kind")] = line
	}
	for _, r := range byID {
		h.orders[r.order()] = r
	}
	return h
}

// parseExport parses JSON Lines.
func parseExport(t *testing.T, text []byte) (lines []demo.Object) {
	t.Helper()
	for line := range bytes.Lines(text) {
		o, err := demo.ParseObject(line)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, o)
	}
	return lines
}

func parseFile(t *testing.T, name string, into any) {
	t.Helper()
	if err := json.Unmarshal(readFile(t, name), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(folder + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func unzip(t *testing.T, name string) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(readFile(t, name)))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return data
}
