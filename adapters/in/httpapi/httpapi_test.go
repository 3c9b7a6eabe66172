package httpapi

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

func TestRoutes(t *testing.T) {
	for _, tt := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/v1", 200, ""},
		{"HEAD", "/v1", 200, ""},
		{"POST", "/v1", 405, "GET, HEAD"},
		{"GET", "/v1/environment", 200, ""},
		{"GET", "/v1/provider-checkouts", 405, "POST"},
		{"OPTIONS", "/v1/provider-checkouts", 405, "POST"},
		{"GET", "/v1/provider-checkouts/KOWHAI-1-a", 200, ""},
		{"PATCH", "/v1/provider-checkouts/KOWHAI-1-a", 405, "GET, HEAD"},
		{"GET", "/v1/provider-checkouts/KOWHAI-1-a/confirm", 405, "POST"},
		{"TRACE", "/v1/provider-checkouts/KOWHAI-1-a/confirm", 405, "POST"},
		{"POST", "/", 405, "GET, HEAD"},
		{"GET", "/v1/", 404, ""},
		{"GET", "/V1", 404, ""},
		{"POST", "//v1/provider-checkouts", 404, ""},
		{"POST", "/v1/provider-checkouts/", 404, ""},
		{"GET", "/v1/provider-checkouts/a%2Fb", 404, ""},
		{"GET", "/v1/provider-checkouts/a%20b", 200, ""}, // what can be an id is not for a route to say
		{"GET", "/api/demos/1", 404, ""},
		{"GET", "/metrics", 404, ""},
	} {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			r := request(tt.method, tt.path, "")
			r.Header.Set("X-HTTP-Method-Override", "GET")
			w := do(handler(&stub{}), r)
			if w.Code != tt.status || w.Header().Get("Allow") != tt.allow {
				t.Errorf("answer %d, Allow %q; want %d, %q", w.Code, w.Header().Get("Allow"), tt.status, tt.allow)
			}
			if tt.status != 200 {
				envelope(t, w)
			}
			for name, want := range map[string]string{
				"Content-Type": "application/json", "Cache-Control": "no-store",
				"X-Content-Type-Options": "nosniff", "Access-Control-Allow-Origin": "",
			} {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s = %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestOnlyPlainJSONInUTF8IsRead(t *testing.T) {
	for _, tt := range []struct {
		name, field string
		values      []string
		status      int
	}{
		{"JSON", "Content-Type", []string{"application/json"}, 201},
		{"JSON with quoted charset", "Content-Type", []string{`application/json; charset="utf-8"`}, 201},
		{"another charset", "Content-Type", []string{"application/json; charset=iso-8859-1"}, 415},
		{"charset twice", "Content-Type", []string{"application/json; charset=utf-8; charset=utf-16"}, 415},
		{"no type", "Content-Type", nil, 415},
		{"two types", "Content-Type", []string{"application/json", "application/json"}, 415},
		{"form", "Content-Type", []string{"application/x-www-form-urlencoded"}, 415},
		{"no coding", "Content-Encoding", []string{"identity"}, 201},
		{"gzip", "Content-Encoding", []string{"gzip"}, 415},
		{"list of codings", "Content-Encoding", []string{"identity, gzip"}, 415},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := do(handler(&stub{}), request("POST", checkoutsPath, "{}", header(tt.field, tt.values...)))
			if w.Code != tt.status {
				t.Errorf("answer %d, want %d: %s", w.Code, tt.status, w.Body)
			}
		})
	}
}

func TestBodyMayBe64KiB(t *testing.T) {
	fits := "{" + strings.Repeat(" ", maxBody-2) + "}"
	for body, want := range map[string]int{fits: 201, fits + " ": 413} {
		for _, length := range []int64{int64(len(body)), -1} { // -1: in chunks
			w := do(handler(&stub{}), request("POST", checkoutsPath, body, func(r *http.Request) { r.ContentLength = length }))
			if w.Code != want {
				t.Errorf("%d bytes, announced as %d: answer %d, want %d", len(body), length, w.Code, want)
			}
		}
	}
}

func TestEndlessBodyIsReadNoFurtherThanItsLimit(t *testing.T) {
	read := 0
	endless := readerFunc(func(p []byte) (int, error) {
		read += len(p)
		return copy(p, bytes.Repeat([]byte(" "), len(p))), nil
	})
	r := request("POST", checkoutsPath, "")
	r.Body, r.ContentLength = io.NopCloser(endless), -1
	wantRefusal(t, do(handler(&stub{}), r), 413, "REQUEST_TOO_LARGE")
	if read > maxBody+1 {
		t.Errorf("%d bytes were read", read)
	}
}

func TestBodyThatIsCutOffIsMalformed(t *testing.T) {
	r := request("POST", checkoutsPath, "")
	r.Body, r.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader("{}"), readerFunc(func([]byte) (int, error) {
		return 0, io.ErrUnexpectedEOF
	}))), 100
	wantRefusal(t, do(handler(&stub{}), r), 400, "VALIDATION_ERROR")
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestRequestIDReachesTheApplication(t *testing.T) {
	app := &stub{}
	h := handler(app)
	w := do(h, request("POST", checkoutsPath, "{}"))
	if got := app.created.RequestID; got == "" || got != w.Header().Get("X-Request-Id") {
		t.Errorf("create has request id %q, its answer %q", got, w.Header().Get("X-Request-Id"))
	}
	w = do(h, request("POST", checkoutsPath+"/KOWHAI-1-a/confirm", "{}"))
	if got := app.confirmedBy.RequestID; got == "" || got != w.Header().Get("X-Request-Id") {
		t.Errorf("confirm has request id %q, its answer %q", got, w.Header().Get("X-Request-Id"))
	}
	if got := app.confirmed; got != "KOWHAI-1-a" {
		t.Errorf("confirm has path id %q", got)
	}
}

func TestTheRootLeadsToTheDocumentation(t *testing.T) {
	for base, want := range map[string]string{"http://pay.example": "/docs", "https://example.nz/pay": "/pay/docs"} {
		w := do(handler(&stub{baseURL: base}), request("GET", "/", ""))
		if got := w.Header().Get("Location"); w.Code != http.StatusFound || got != want {
			t.Errorf("under %s: answer %d, Location %q; want 302 to %s", base, w.Code, got, want)
		}
	}
}

// A host that serves the API under a path of its own site says so in the base URL.
func TestABaseURLWithAPathIsInEveryAddress(t *testing.T) {
	const base = "https://example.nz/pay"
	app := &stub{baseURL: base, opened: service.Opened{Checkout: open()}}
	var mounted string
	o := options(io.Discard, 0)
	o.Mount = map[string]http.Handler{"/api/dd-setup": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mounted = r.URL.Path
	})}
	h := newHandler(app, o)
	for _, prefix := range []string{"/pay", ""} { // a proxy in front may take the path off
		w := do(h, request("POST", prefix+checkoutsPath, "{}"))
		if got, want := w.Header().Get("Location"), "/pay"+checkoutsPath+"/"+open().ID; w.Code != http.StatusCreated || got != want {
			t.Errorf("POST %s: answer %d, Location %q; want 201, %q", prefix+checkoutsPath, w.Code, got, want)
		}
		e := wantRefusal(t, do(h, request("GET", prefix+"/v1/nothing", "")), http.StatusNotFound, "NOT_FOUND")
		if want := base + "/docs#error-NOT_FOUND"; e.Error.DocURL != want {
			t.Errorf("GET %s/v1/nothing: doc_url %q, want %q", prefix, e.Error.DocURL, want)
		}
		if w := do(h, request("GET", prefix+"/docs", "")); w.Code != http.StatusOK || strings.Contains(w.Body.String(), `href="/`) {
			t.Errorf("GET %s/docs: answer %d, or a link that leaves the path", prefix, w.Code)
		}
		if w := do(h, request("GET", prefix+"/v1/openapi.json", "")); !strings.Contains(w.Body.String(), `"url": "`+base+`",`) {
			t.Errorf("GET %s/v1/openapi.json: no server https://example.nz/pay", prefix)
		}
		if do(h, request("GET", prefix+"/api/dd-setup/legal?token=t", "")); mounted != "/api/dd-setup/legal" {
			t.Errorf("the mounted handler gets path %q, want it without the base path", mounted)
		}
	}
	wantRefusal(t, do(h, request("GET", "/payments/v1", "")), http.StatusNotFound, "NOT_FOUND")
}

func TestAMountedHandlerGetsItsPathAndWhatIsBelow(t *testing.T) {
	o := options(io.Discard, 0)
	var got []string
	o.Mount = map[string]http.Handler{"/bank": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.URL.Path+" "+web.RequestID(r.Context())[:4])
	})}
	h := newHandler(&stub{}, o)
	for path, status := range map[string]int{"/bank": 200, "/bank/": 200, "/bank/x": 200, "/bankrupt": 404} {
		if w := do(h, request("GET", path, "")); w.Code != status {
			t.Errorf("GET %s: %d, want %d", path, w.Code, status)
		}
	}
	slices.Sort(got)
	if want := []string{"/bank req_", "/bank/ req_", "/bank/x req_"}; !slices.Equal(got, want) {
		t.Errorf("the mounted handler was called for %q, want %q", got, want)
	}
}
