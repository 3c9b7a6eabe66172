package contract_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
)

type (
	// link is a Link Object of OpenAPI.
	link struct {
		Ref         string `json:"$ref"`
		OperationID string `json:"operationId"`
		Parameters  map[string]string
	}
	// linked is the part of openapi.json that leads from call to call.
	linked struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Responses   map[string]struct{ Links map[string]link }
		}
		Components struct{ Links map[string]link }
	}
)

// Who knows nothing but the description walks from the create to all the rest.
func TestLinksOfTheDescriptionLeadFromCallToCall(t *testing.T) {
	s := newSuite(t, memory.New())
	var d linked
	parse(t, "../../../adapters/in/httpapi/openapi.json", &d)
	walked := map[string]bool{}
	follow := func(operation string, from response, name, body string, want int) response {
		t.Helper()
		walked[operation+" "+name] = true
		method, path := d.resolve(t, operation, from, name)
		r := s.Get
		if method == http.MethodPost {
			r = func(t testing.TB, provider, path string) response { return s.Post(t, provider, path, body) }
		}
		answer := r(t, "KOWHAI", path)
		if answer.Status != want {
			t.Fatalf("%s of %s leads to %s %s: %d %s", name, operation, method, path, answer.Status, answer.Body)
		}
		return answer
	}

	created := s.Create(t, "ORDER-1")
	polled := follow("createCheckout", created, "get", "", 200)
	s.SetUp(t, created)
	confirmed := follow("getCheckout", polled, "confirm", created.ConfirmBody(), 200)
	follow("createCheckout", created, "confirm", created.ConfirmBody(), 200)
	follow("confirmCheckout", confirmed, "get", "", 200)
	events := follow("createCheckout", created, "events", "", 200)
	follow("listEvents", events, "redeliver", "", 202)
	follow("listEvents", events, "next", "", 200)

	const reason = `{"reason": "another course"}`
	other := s.Create(t, "ORDER-2")
	cancelled := follow("createCheckout", other, "cancel", reason, 200)
	polled = follow("cancelCheckout", cancelled, "get", "", 200)
	follow("getCheckout", polled, "cancel", reason, 200)

	enrolments := s.Get(t, "KOWHAI", "/v1/enrolments")
	follow("listEnrolments", enrolments, "get", "", 200)
	follow("listEnrolments", enrolments, "next", "", 200)
	follow("getService", s.Visit(t, "/v1"), "environment", "", 200)

	for _, methods := range d.Paths {
		for _, operation := range methods {
			for _, answer := range operation.Responses {
				for name := range answer.Links {
					if !walked[operation.OperationID+" "+name] {
						t.Errorf("%s of %s is not walked", name, operation.OperationID)
					}
				}
			}
		}
	}
}

// resolve returns the call to which a link of an answer leads.
func (d linked) resolve(t *testing.T, operation string, from response, name string) (method, path string) {
	t.Helper()
	var l link
	for _, methods := range d.Paths {
		for _, o := range methods {
			if o.OperationID == operation {
				l = o.Responses[strconv.Itoa(from.Status)].Links[name]
			}
		}
	}
	l = d.Components.Links[l.Ref[strings.LastIndex(l.Ref, "/")+1:]]
	for path, methods := range d.Paths {
		for method, o := range methods {
			if o.OperationID != l.OperationID {
				continue
			}
			query := url.Values{}
			for parameter, expression := range l.Parameters {
				value := evaluate(t, from, expression)
				if inPath := strings.ReplaceAll(path, "{"+parameter+"}", url.PathEscape(value)); inPath != path {
					path = inPath
				} else {
					query.Set(parameter, value)
				}
			}
			return strings.ToUpper(method), path + "?" + query.Encode()
		}
	}
	t.Fatalf("%s of %s leads nowhere", name, operation)
	return "", ""
}

// evaluate returns the value of a runtime expression over the body of an answer.
func evaluate(t *testing.T, from response, expression string) string {
	t.Helper()
	pointer, ok := strings.CutPrefix(expression, "$response.body#/")
	var value any = map[string]any(from.JSON)
	for step := range strings.SplitSeq(pointer, "/") {
		switch at := value.(type) {
		case map[string]any:
			value = at[step]
		case []any:
			if n, err := strconv.Atoi(step); err == nil && n < len(at) {
				value = at[n]
			}
		}
	}
	if value == nil || !ok {
		t.Fatalf("%s is not in %s", expression, from.Body)
	}
	return fmt.Sprint(value)
}
