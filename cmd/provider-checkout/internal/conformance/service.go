package conformance

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
)

const (
	docs        = "docs" // section of the sentences of the documentation
	unknown     = apiclient.CheckoutsPath + "/NOBODY-1700000000000-aaaaaaaaaaaaaaaa"
	enrolments  = "/v1/enrolments"
	eventsPath  = "/v1/events"
	openAPIPath = "/v1/openapi.json"
)

// ofService checks what the service says of itself, and the form of its answers.
func ofService() []check {
	return []check{
		{"4", "GET /v1 needs no key: public service information.", nothing, func(t *trial) {
			a := t.send(http.MethodGet, "/v1", "").is(http.StatusOK).has("success", true).has("version", "v1")
			a.has("environment", t.report.Environment).texts("service", "base_url")
		}},
		{"4", "GET /v1/environment needs no key: success, environment, api_base_url, payment_processor, payment_processor_status, " +
			"readiness.ready_for_api_calls.", nothing, func(t *trial) {
			a := t.send(http.MethodGet, apiclient.EnvironmentPath, "").is(http.StatusOK).has("success", true)
			a.texts("environment", "api_base_url", "payment_processor", "payment_processor_status")
			a.has("readiness.ready_for_api_calls", true)
			a.want(strings.HasPrefix(t.Key, "pck_"+a.String("environment")+"_"), "the environment of the key")
		}},
		{docs, "An unknown path is 404 NOT_FOUND, another method on a path 405 METHOD_NOT_ALLOWED with Allow.", nothing, func(t *trial) {
			t.get("/v1/conformance").refused("NOT_FOUND")
			t.send(http.MethodGet, "/v1/conformance", "").refused("NOT_FOUND") // whatever the key is
			for _, path := range []string{apiclient.EnvironmentPath, unknown} {
				a := t.send(http.MethodDelete, path, "", "Authorization", "Bearer "+t.Key).refused("METHOD_NOT_ALLOWED")
				a.want(strings.Contains(a.Header.Get("Allow"), http.MethodGet), "the header Allow with GET")
			}
		}},
		{docs, "Every answer has X-Request-Id, our id of the request; your own is returned as X-Client-Request-Id.", nothing, requestIDs},
		{docs, "A traceparent of version 00 is taken; any other value is ignored.", nothing, func(t *trial) {
			for _, trace := range []string{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "conformance"} {
				t.send(http.MethodGet, eventsPath, "", "Authorization", "Bearer "+t.Key, "Traceparent", trace).is(http.StatusOK)
			}
		}},
		{docs, "Every answer is application/json, nosniff and never cached.", nothing, func(t *trial) {
			for _, a := range t.several() {
				a.want(strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") && a.JSON != nil, "JSON as application/json")
				a.want(a.Header.Get("X-Content-Type-Options") == "nosniff", "the header X-Content-Type-Options: nosniff")
				a.want(strings.Contains(a.Header.Get("Cache-Control"), "no-store"), "the header Cache-Control: no-store")
			}
		}},
		{docs, "Answers to a good key have RateLimit and RateLimit-Policy; without a limit neither.", nothing, func(t *trial) {
			a := t.get(eventsPath + "?limit=1")
			left, policy := a.Header.Get("RateLimit"), a.Header.Get("RateLimit-Policy")
			a.want(left+policy == "" || rateLimit.MatchString(left+" "+policy), "RateLimit and RateLimit-Policy in their form, or neither")
		}},
	}
}

var (
	rateLimit = regexp.MustCompile(`^"default";r=\d+;t=\d+ "default";q=\d+;w=1$`)
	requestID = regexp.MustCompile(`^req_\S+$`)
)

// several returns answers of several kinds, which leave nothing behind.
func (t *trial) several() []answer {
	return []answer{
		t.send(http.MethodGet, "/v1", ""), t.send(http.MethodGet, unknown, ""), t.get(unknown), t.get(eventsPath + "?limit=1"),
		t.get("/v1/conformance"), t.post(apiclient.CheckoutsPath, "{}"),
	}
}

func requestIDs(t *trial) {
	var seen []string
	for _, a := range t.several() {
		id := a.Header.Get("X-Request-Id")
		a.want(requestID.MatchString(id) && !slices.Contains(seen, id), "the header X-Request-Id: req_…, another in each answer")
		seen = append(seen, id)
	}
	for own, returned := range map[string]string{"conformance.1": "conformance.1", "not an id": ""} {
		a := t.send(http.MethodGet, "/v1", "", "X-Request-Id", own)
		a.want(a.Header.Get("X-Client-Request-Id") == returned, "the header X-Client-Request-Id: %s", returned)
		a.want(a.Header.Get("X-Request-Id") != own, "an X-Request-Id of the service's own")
	}
}

// described is the last check: it judges all answers of the run.
var described = check{docs, "/v1/openapi.json describes every answer.", nothing, func(t *trial) {
	if t.document == nil {
		t.send(http.MethodGet, openAPIPath, "").want(false, "an OpenAPI 3.1 document")
	}
	t.result.Faults = append(t.result.Faults, t.misfits...)
}}

// guarded returns an answer of each endpoint that needs a key, to a request with these headers.
func (t *trial) guarded(headers ...string) (all []answer) {
	headers = append(headers, "Content-Type", "application/json")
	for _, path := range []string{unknown, eventsPath, enrolments} {
		all = append(all, t.send(http.MethodGet, path, "", headers...))
	}
	for _, path := range []string{apiclient.CheckoutsPath, unknown + apiclient.ConfirmSuffix, unknown + "/cancel",
		eventsPath + "/evt_none/redeliver"} {
		all = append(all, t.send(http.MethodPost, path, "{}", headers...))
	}
	return all
}

// ofKeys checks the authentication (section 5).
func ofKeys() []check {
	return []check{
		{"5", "MISSING_API_KEY, 401: Authorization header absent or empty.", nothing, func(t *trial) {
			for _, headers := range [][]string{nil, {"Authorization", ""}, {"Authorization", "Bearer"}, {"Authorization", "Basic eDp5"}} {
				for _, a := range t.guarded(headers...) {
					a.refused("MISSING_API_KEY")
					a.want(a.Header.Get("WWW-Authenticate") == "Bearer", "the header WWW-Authenticate: Bearer")
				}
			}
		}},
		{"5", "INVALID_API_KEY, 403: Bearer token is not a recognised key.", nothing, func(t *trial) {
			for _, key := range []string{"letmein", t.Key + "a", t.Key[:len(t.Key)-1], strings.ToUpper(t.Key)} {
				for _, a := range t.guarded("Authorization", "Bearer "+key) {
					a.refused("INVALID_API_KEY")
				}
			}
		}},
		{"5", "The key determines the provider identity; another provider cannot be selected through the body.", nothing, func(t *trial) {
			other := string(body("{}").with("provider.provider_code", strconv.Quote(t.Provider+"X")))
			for _, path := range []string{apiclient.CheckoutsPath, unknown + apiclient.ConfirmSuffix} {
				t.post(path, other).refused("PROVIDER_KEY_MISMATCH")
			}
		}},
		{"7", "Authentication failures are wrapped in the service's standard error envelope.", nothing, func(t *trial) {
			for _, a := range append(t.guarded(), t.get(unknown), t.get("/v1/conformance"), t.post(apiclient.CheckoutsPath, "{}")) {
				a.has("success", false).texts("error.code", "error.message")
				_, listed := a.At("error.details").([]any)
				a.want(listed, "error.details is a list")
				a.want(a.String("request_id") == a.Header.Get("X-Request-Id"), "request_id is the X-Request-Id of the answer")
			}
		}},
	}
}

// ofBodies checks how bodies are read.
func ofBodies() []check {
	return []check{
		{docs, "A body that is not declared as JSON is 415 UNSUPPORTED_MEDIA_TYPE.", nothing, func(t *trial) {
			for _, header := range [][]string{{"Content-Type", "text/plain"}, {"Content-Type", "application/json; charset=utf-16"},
				{"Content-Encoding", "gzip"}} {
				t.post(apiclient.CheckoutsPath, "{}", header...).refused("UNSUPPORTED_MEDIA_TYPE")
				t.send(http.MethodPost, apiclient.CheckoutsPath, "{}", header...).refused("MISSING_API_KEY") // which is looked at before
			}
		}},
		{docs, "A body over 64 KiB is 413 REQUEST_TOO_LARGE.", nothing, func(t *trial) {
			most := "{}" + strings.Repeat(" ", 64<<10-2)
			t.post(apiclient.CheckoutsPath, most+" ").refused("REQUEST_TOO_LARGE")
			t.post(apiclient.CheckoutsPath, most).invalid()
		}},
		{docs, "A field given twice or in another letter case, trailing data and invalid UTF-8 are refused.", nothing, func(t *trial) {
			for _, text := range []string{"", "[]", "{", "{} {}", `{"plan": {}, "plan": {}}`, `{"Plan": {}}`, "{\"plan\": \"\xff\"}"} {
				a := t.post(apiclient.CheckoutsPath, text).invalid()
				a.want(!strings.Contains(a.named(), "student"), "a refusal of the whole body")
			}
		}},
		{"7", "400 VALIDATION_ERROR: missing or invalid fields; every one is named in one answer.", nothing, func(t *trial) {
			a := t.post(apiclient.CheckoutsPath, "{}").invalid()
			for _, field := range []string{"provider.provider_code", "provider.provider_order_id", "student.first_name", "student.last_name",
				"student.email", "plan.payment_frequency", "plan.first_payment_date"} {
				a.want(strings.Contains(a.named(), field), "the details name %s", field)
			}
		}},
	}
}
