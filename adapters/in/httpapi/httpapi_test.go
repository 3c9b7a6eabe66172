package httpapi

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

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

// A host that serves the API under a path of its own site says so in the base URL.
func TestABaseURLWithAPathIsInEveryAddress(t *testing.T) {
	const base = "https://example.nz/pay"
	app := &stub{baseURL: base, opened: service.Opened{Checkout: checkout.Checkout{ID: "KOWHAI-1-a"}}}
	var mounted string
	o := options(io.Discard, 0)
	o.Mount = map[string]http.Handler{"/api/dd-setup": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mounted = r.URL.Path
	})}
	h := newHandler(app, o)
	for _, prefix := range []string{"/pay", ""} { // a proxy in front may take the path off
		w := do(h, request("POST", prefix+checkoutsPath, "{}"))
		if got, want := w.Header().Get("Location"), "/pay"+checkoutsPath+"/KOWHAI-1-a"; w.Code != http.StatusCreated || got != want {
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
