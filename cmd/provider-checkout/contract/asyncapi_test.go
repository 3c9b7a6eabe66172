package contract_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
)

// Every event that a receiver got is a message of the AsyncAPI document that the service serves: its headers and its
// body fit the schemas, and have each field that they name.
func TestContract6EventsAreTheMessagesOfTheAsyncAPIDocument(t *testing.T) {
	s := newSuite(t, memory.New())
	document, err := apiclient.ParseObject([]byte(s.Visit(t, s.URL+"/v1/asyncapi.json").Body))
	if err != nil {
		t.Fatal(err)
	}
	s.Confirm(t, s.Ready(t, "ORDER-1"))
	var names []string
	for _, d := range s.Receiver.Deliveries() {
		name := d.Header.Get("X-Service-Event")
		names = append(names, name)
		message := follow(t, document, "#/channels/destination/messages/"+name)
		headers, payload := schemaOf(t, document, message["headers"]), schemaOf(t, document, message["payload"])
		if err := visitHeaders(headers, d.Header); err != nil {
			t.Errorf("%s: headers %v: %v", name, d.Header, err)
		}
		if err := payload.VisitJSON(map[string]any(d.JSON)); err != nil {
			t.Errorf("%s: %s: %v", name, d.Body, err)
		}
		data := d.JSON.At("data").(map[string]any)
		if got, want := slices.Sorted(maps.Keys(data)), slices.Sorted(maps.Keys(payload.Properties["data"].Value.Properties)); !slices.Equal(got, want) {
			t.Errorf("%s has %q, the document %q", name, got, want)
		}
		delete(data, "checkout_id")
		d.Header.Del("X-Service-Signature")
		if payload.VisitJSON(map[string]any(d.JSON)) == nil || visitHeaders(headers, d.Header) == nil {
			t.Errorf("the document takes a %s without a checkout or a signature", name)
		}
	}
	if want := []string{"checkout.created", "checkout.confirmed", "agreement.generated"}; !slices.Equal(names, want) {
		t.Errorf("the events are %q, want %q", names, want)
	}
	if operations, _ := document.At("operations").(map[string]any); len(operations) != len(names) {
		t.Errorf("the document has %d operations, want one for each event", len(operations))
	}
}

// follow returns what a reference leads to, through further references.
func follow(t *testing.T, document apiclient.Object, ref string) map[string]any {
	t.Helper()
	at := map[string]any(document)
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		next, ok := at[name].(map[string]any)
		if !ok {
			t.Fatalf("the document has no %s", ref)
		}
		at = next
	}
	if further, ok := at["$ref"].(string); ok {
		return follow(t, document, further)
	}
	return at
}

// schemaOf returns the schema that a reference leads to.
func schemaOf(t *testing.T, document apiclient.Object, reference any) *openapi3.Schema {
	t.Helper()
	text, err := json.Marshal(follow(t, document, fmt.Sprint(reference.(map[string]any)["$ref"])))
	if err != nil {
		t.Fatal(err)
	}
	var schema openapi3.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	return &schema
}

// visitHeaders checks the headers of a request against the schema of an object of them.
func visitHeaders(schema *openapi3.Schema, header http.Header) error {
	values := map[string]any{}
	for name, property := range schema.Properties {
		text := header.Get(name)
		switch n, err := strconv.ParseFloat(text, 64); {
		case text == "":
		case err == nil && property.Value.Type.Is("integer"):
			values[name] = n
		default:
			values[name] = text
		}
	}
	return schema.VisitJSON(values)
}
