package conformance

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/apidoc"
)

// trial is a check that is being made.
type trial struct {
	*run
	result *Result
}

// skip ends a check without an outcome.
func (t *trial) skip(reason string) { t.result.Status, t.result.Reason = Skipped, reason }

// why returns the answer of the first fault.
func (t *trial) why() string {
	if len(t.result.Faults) == 0 {
		return "an answer of another service"
	}
	return t.result.Faults[0].Answer
}

// answer is an answer of the deployment. It has the zero Response where there was no answer, which is a fault already.
type answer struct {
	apiclient.Response
	t       *trial
	request string
}

const (
	sendings    = 3                // at most, of one request
	longestWait = 10 * time.Second // between two of them
	longestCall = time.Minute
)

// get sends a GET with the provider's key.
func (t *trial) get(path string) answer {
	return t.send(http.MethodGet, path, "", "Authorization", "Bearer "+t.Key)
}

// post sends JSON with the provider's key. Further headers are names and values in turn; one replaces another of its name.
func (t *trial) post(path, body string, headers ...string) answer {
	return t.send(http.MethodPost, path, body,
		append([]string{"Authorization", "Bearer " + t.Key, "Content-Type", "application/json"}, headers...)...)
}

// send sends a request, and again for as long as the service is busy or has too many requests.
func (t *trial) send(method, path, body string, headers ...string) answer {
	a := t.sendOnce(method, path, body, headers...)
	for n := 1; n < sendings && (a.Status == http.StatusTooManyRequests || a.Status == http.StatusServiceUnavailable); n++ {
		seconds, err := strconv.Atoi(a.Header.Get("Retry-After"))
		if pause := time.Duration(seconds) * time.Second; err != nil || pause > longestWait || !t.wait(pause) {
			break
		}
		a = t.sendOnce(method, path, body, headers...)
	}
	return a
}

// wait waits, and reports whether the run goes on.
func (t *trial) wait(d time.Duration) bool {
	select {
	case <-t.ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (t *trial) sendOnce(method, path, body string, headers ...string) answer {
	ctx, cancel := context.WithTimeout(t.ctx, longestCall)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, t.BaseURL+path, strings.NewReader(body))
	if err != nil {
		a := answer{t: t, request: method + " " + path}
		a.want(false, "a well-formed URL: %v", err)
		return a
	}
	req.GetBody = nil // otherwise the transport retries a request with an Idempotency-Key by itself
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	a := answer{t: t, request: written(method, path, req.Header, body)}
	if a.Response, err = apiclient.Send(t.Transport.RoundTrip, req); err != nil {
		t.result.Faults = append(t.result.Faults, Fault{"an answer", masked(a.request), err.Error()})
		return a
	}
	t.compare(a, method, path, body)
	return a
}

// compare holds an answer to the deployment's own OpenAPI document.
func (t *trial) compare(a answer, method, path, body string) {
	if t.document == nil || !strings.HasPrefix(path, "/v1") {
		return
	}
	if err := t.document.Check(apidoc.Exchange{Method: method, Path: path, Request: body, Status: a.Status, Header: a.Header, Body: a.Body, JSON: a.JSON}); err != nil {
		t.misfits = append(t.misfits, a.fault(err.Error()))
	}
}

// want notes a fault unless ok. An answer that did not come is a fault already.
func (a answer) want(ok bool, format string, args ...any) bool {
	if !ok && a.Status != 0 {
		a.t.result.Faults = append(a.t.result.Faults, a.fault(fmt.Sprintf(format, args...)))
	}
	return ok
}

func (a answer) fault(want string) Fault {
	return Fault{masked(want), masked(a.request), masked(written(a.StatusLine(), "", a.Header, a.Body))}
}

// is wants a status.
func (a answer) is(status int) answer {
	a.want(a.Status == status, "status %d", status)
	return a
}

// has wants a value at a dotted path.
func (a answer) has(path string, value any) answer {
	a.want(fmt.Sprint(a.At(path)) == fmt.Sprint(value), "%s is %v", path, value)
	return a
}

// texts wants a text that is not empty at each path.
func (a answer) texts(paths ...string) {
	for _, path := range paths {
		a.want(a.JSON.Text(path) != "", "%s is a text", path)
	}
}

var moment = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

// times wants a time at each path.
func (a answer) times(paths ...string) {
	for _, path := range paths {
		a.want(moment.MatchString(a.JSON.Text(path)), "%s is a time in UTC with milliseconds", path)
	}
}

// flags wants a boolean at each path.
func (a answer) flags(paths ...string) {
	for _, path := range paths {
		_, is := a.At(path).(bool)
		a.want(is, "%s is a boolean", path)
	}
}

// refused wants a refusal, whose details name exactly these fields, if any are given.
func (a answer) refused(status int, code string, fields ...string) answer {
	named := strings.Join(fields, " ")
	a.want(a.Status == status && a.String("error.code") == code && (named == "" || named == a.named()),
		"status %d with error.code %s %s", status, code, named)
	return a
}

// named returns the fields that the details of a refusal name.
func (a answer) named() string {
	var fields []string
	for n := range a.list("error.details") {
		fields = append(fields, a.String(fmt.Sprintf("error.details.%d.field", n)))
	}
	return strings.Join(fields, " ")
}

// list returns the elements of the list at a path.
func (a answer) list(path string) []any {
	list, _ := a.At(path).([]any)
	return list
}

// longestBody is the most that a report shows of a body.
const longestBody = 4 << 10

// written returns a request or an answer as text.
func written(line, path string, header http.Header, body string) string {
	var text strings.Builder
	fmt.Fprintln(&text, strings.TrimSpace(line+" "+path))
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			fmt.Fprintf(&text, "%s: %s\n", name, value)
		}
	}
	if len(body) > longestBody {
		body = fmt.Sprintf("%s… (%d bytes)", body[:longestBody], len(body))
	}
	if body != "" {
		fmt.Fprintf(&text, "\n%s\n", strings.TrimSuffix(body, "\n"))
	}
	return text.String()
}

var (
	bearer = regexp.MustCompile(`(?i)(Bearer )(\S+)`)
	token  = regexp.MustCompile(`([A-Za-z0-9_-]+-[0-9]+-[a-z2-7]{16}\.[0-9]+\.[\w-]+\.)[\w-]+`)
)

// masked hides the keys and the setup tokens of a text, and replaces what a terminal would obey and JSON does not allow.
func masked(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
	text = bearer.ReplaceAllStringFunc(text, func(header string) string {
		key := header[len("Bearer "):]
		if id := catalogue.KeyID(key); id != key {
			return header[:len("Bearer ")] + "…" + id + "…"
		}
		return header[:len("Bearer ")] + "…"
	})
	return token.ReplaceAllString(text, "$1…")
}
