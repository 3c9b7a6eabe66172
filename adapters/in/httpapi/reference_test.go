package httpapi

import (
	"encoding/json"
	"html"
	"io/fs"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/testdata/recipes"
)

func TestReferenceIsServedToAnybodyAndCached(t *testing.T) {
	h := handler(&stub{baseURL: "https://enrol.example/pay"})
	const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
	for path, contentType := range map[string]string{
		"/v1/openapi.json": "application/json", "/docs": "text/html; charset=utf-8",
		"/docs/reference.css": "text/css; charset=utf-8", "/docs/icon.svg": "image/svg+xml",
	} {
		w := do(h, request("GET", path, "", header("Authorization")))
		got := w.Header()
		if w.Code != http.StatusOK || got.Get("Content-Type") != contentType || got.Get("Content-Security-Policy") != policy {
			t.Errorf("GET %s: %d, headers %v", path, w.Code, got)
		}
		if strings.Contains(w.Body.String(), exampleBase) {
			t.Errorf("GET %s names %s, want the base URL of the service", path, exampleBase)
		}
		for tag, want := range map[string]int{got.Get("ETag"): http.StatusNotModified, `W/"another"`: http.StatusOK} {
			if w := do(h, request("GET", path, "", header("If-None-Match", tag))); w.Code != want || tag == "" {
				t.Errorf("GET %s with the tag %s: %d, want %d", path, tag, w.Code, want)
			}
		}
	}
	if w := do(h, request("GET", "/docs/", "")); w.Code != http.StatusPermanentRedirect || w.Header().Get("Location") != "/pay/docs" {
		t.Errorf("/docs/ is answered %d, Location %q", w.Code, w.Header().Get("Location"))
	}
}

// spec is openapi.json.
func spec(t *testing.T) *node {
	t.Helper()
	root, err := strictjson.Parse(openapiJSON, maxDepth)
	if err != nil {
		t.Fatal(err)
	}
	return &node{root: &root, value: root}
}

// Validate compares the examples with their schemas too.
func TestOpenAPIIsValidAndSoAreItsExamples(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(openapiJSON)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil || !strings.HasPrefix(doc.OpenAPI, "3.1.") {
		t.Errorf("OpenAPI %s: %v", doc.OpenAPI, err)
	}
}

// wireFields returns the fields of a struct of the wire as dotted paths. A "?" marks a field that can be absent.
func wireFields(of reflect.Type, prefix string) (paths []string) {
	for f := range of.Fields() {
		inside := f.Type
		for inside.Kind() == reflect.Slice || inside.Kind() == reflect.Pointer {
			inside = inside.Elem()
		}
		if f.Anonymous {
			paths = append(paths, wireFields(inside, prefix)...)
			continue
		}
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		path := prefix + name
		if option != "" {
			paths = append(paths, path+"?")
		} else {
			paths = append(paths, path)
		}
		if f.Type.Kind() == reflect.Slice {
			path += "[]"
		}
		if inside.Kind() == reflect.Struct {
			paths = append(paths, wireFields(inside, path+".")...)
		}
	}
	return paths
}

func TestAnswersHaveTheFieldsOfOpenAPI(t *testing.T) {
	for schema, wire := range map[string]any{
		"CreateResponse": openedWire{}, "CheckoutResponse": checkoutWire{}, "ConfirmResponse": confirmedWire{},
		"CancelResponse": cancelledWire{}, "EventsResponse": eventsWire{}, "Service": aboutWire{}, "Environment": environmentWire{},
		"Error": envelopeWire{},
	} {
		var described []string
		for _, f := range spec(t).At("components", "schemas", schema).Fields() {
			if f.Optional {
				f.Path += "?"
			}
			described = append(described, f.Path)
		}
		if got := wireFields(reflect.TypeOf(wire), ""); !slices.Equal(got, described) {
			t.Errorf("%s: wire.go has\n%q, openapi.json\n%q", schema, got, described)
		}
	}
}

// A field has one name: in refusals, in requests and in openapi.json.
func TestRequestsHaveTheFieldsOfOpenAPI(t *testing.T) {
	source, err := os.ReadFile("../../../checkout/check.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\tField\w+ += "(.*)"`).FindAllSubmatch(source, -1) {
		declared[string(m[1])] = true
	}
	described := map[string]bool{}
	for _, request := range []string{"LegacyCreateRequest", "CatalogueCreateRequest", "ConfirmRequest", "CancelRequest"} {
		for _, f := range spec(t).At("components", "schemas", request).Fields() {
			if f.Schema.At("properties") == nil {
				described[f.Path] = true
			}
		}
	}
	for _, path := range spec(t).At("paths").All() {
		for _, call := range path.All() {
			for _, p := range call.At("parameters").All() {
				if p.At("in").String() != "path" {
					described[p.At("name").String()] = true
				}
			}
		}
	}
	if !reflect.DeepEqual(declared, described) {
		t.Errorf("check.go names\n%v, openapi.json\n%v", declared, described)
	}
}

// answeredCodes returns every code that an answer of the API can have.
func answeredCodes() (codes []string) {
	refusals := []*problem{notFound(), methodNotAllowed(""), tooLarge(), unsupported(""), rateLimited(0), internal()}
	for _, code := range checkout.Codes() {
		if web.APIStatus(code) != 0 { // the others are of the setup page
			p, _ := problemOf(&checkout.Error{Code: code})
			refusals = append(refusals, p)
		}
	}
	for _, p := range refusals {
		codes = append(codes, p.code)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

var anchor = regexp.MustCompile(` id="([^"]*)"`)

func TestEveryCodeEventAndFieldHasItsAnchor(t *testing.T) {
	page := string(referencePage())
	var anchors []string
	for _, m := range anchor.FindAllStringSubmatch(page, -1) {
		if slices.Contains(anchors, m[1]) {
			t.Errorf("the anchor %s is there twice", m[1])
		}
		anchors = append(anchors, m[1])
	}
	var want, codes []string
	for _, r := range spec(t).Refusals() {
		codes = append(codes, r.Code)
		if r.Statuses == "" || r.Example == nil {
			t.Errorf("%s has no status, or no example", r.Code)
		}
	}
	for _, code := range answeredCodes() {
		want = append(want, "error-"+code)
	}
	if slices.Sort(codes); !slices.Equal(codes, answeredCodes()) {
		t.Errorf("openapi.json lists the codes\n%q, the API answers\n%q", codes, answeredCodes())
	}
	want = append(want, "onCheckoutCreated", "onCheckoutConfirmed", "onAgreementGenerated")
	for _, schema := range spec(t).At("components", "schemas").All() {
		for _, f := range schema.fields(schema.Name, "") {
			if parts := []string{"EnrolmentKey", "Student", "Plan", "Pricing"}; !slices.Contains(parts, schema.Name) {
				want = append(want, f.Anchor)
			}
		}
	}
	for _, m := range regexp.MustCompile(` href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
		want = append(want, m[1])
	}
	for _, a := range want {
		if !slices.Contains(anchors, a) {
			t.Errorf("the page has no anchor %s", a)
		}
	}
}

func TestEveryStatusCodeEventAndWordSaysHowItIsReached(t *testing.T) {
	var check func(path string, n *node)
	check = func(path string, n *node) {
		reached := n.At("x-reached")
		isAnswer := regexp.MustCompile(`/responses/20\d$`).MatchString(path)
		isCode := strings.HasPrefix(path, "/components/examples/") && n.At("value", "error") != nil
		if isEvent := strings.HasSuffix(path, "/post") && strings.HasPrefix(path, "/webhooks/"); isAnswer || isCode || isEvent {
			if reached.String() == "" {
				t.Errorf("%s has no x-reached", path)
			}
		}
		if words := n.Known().At("enum").All(); reached != nil && words != nil {
			var got, want []string
			for i, how := range reached.All() {
				got = append(got, how.Name)
				if i < len(words) {
					want = append(want, words[i].String())
				}
			}
			if len(got) != len(words) || !slices.Equal(got, want) {
				t.Errorf("%s: x-reached has the words %q, want those of its enum", path, got)
			}
		}
		if strings.HasSuffix(path, "status") && len(n.Known().At("enum").All()) > 1 && reached == nil && n.Known().At("x-reached") == nil {
			t.Errorf("%s does not say how its words are reached", path)
		}
		for _, m := range n.value.Members {
			check(path+"/"+m.Name, &node{root: n.root, value: m.Value})
		}
	}
	check("", spec(t))
}

func TestPageShowsEveryRecipeAndScenario(t *testing.T) {
	page := html.UnescapeString(string(referencePage()))
	shown, err := fs.Glob(recipes.Files, "*.*")
	if err != nil || len(shown) < 17 {
		t.Fatalf("there are %d recipes, %v; want 17 at least", len(shown), err)
	}
	for _, name := range shown {
		text, err := recipes.Files.ReadFile(name)
		if err != nil || !strings.Contains(page, string(text)) {
			t.Errorf("the page does not show %s, %v", name, err)
		}
	}
	for _, scenario := range strings.Fields("setup_fails mandate_fails mandate_cancelled link_expires pdf_fails event_fails event_twice " +
		"event_forged answer_503 answer_lost") {
		if !strings.Contains(page, `<td><code translate="no">`+scenario+`</code></td>`) {
			t.Errorf("the page does not explain the scenario %s", scenario)
		}
	}
}

func TestPageNeedsNothingElse(t *testing.T) {
	page := string(referencePage())
	foreign := regexp.MustCompile(`(?i)<script|<style|\sstyle=|\son\w+=|(src|href)="(https?:)?/|@import|url\(`)
	if found := foreign.FindString(page + string(referenceCSS)); found != "" {
		t.Errorf("the page has %q", found)
	}
	if left := regexp.MustCompile(`&lt;no value|&lt;nil|\{\{|\*\*`).FindString(page); left != "" {
		t.Errorf("the page shows %q", left)
	}
	sent := do(handler(&stub{}), request(http.MethodGet, "/docs", "", header("Accept-Encoding", "gzip")))
	if n := sent.Body.Len(); sent.Header().Get("Content-Encoding") != "gzip" || n > 32<<10 {
		t.Errorf("the page is sent as %d bytes of %q", n, sent.Header().Get("Content-Encoding"))
	}
}

func TestSignatureInThePageIsOneOfTheVectorsAndRight(t *testing.T) {
	text, err := os.ReadFile("../../../testdata/signatures.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Accepted []struct {
			Secret, Header, Body string
			Timestamp            int64
		}
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	page := html.UnescapeString(string(referencePage()))
	for _, v := range vectors.Accepted {
		if !strings.Contains(page, ">"+v.Secret+"<") || !strings.Contains(page, ">"+v.Header+"<") || !strings.Contains(page, ">"+v.Body+"<") {
			continue
		}
		if got := events.Sign(v.Secret, time.Unix(v.Timestamp, 0), []byte(v.Body)); got != v.Header {
			t.Errorf("the page shows the signature %s, and it is %s", v.Header, got)
		}
		return
	}
	t.Error("the page shows the secret, the header and the body of no vector")
}
