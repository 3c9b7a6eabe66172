package conformance

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/apidoc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
)

// answer is an answer of the deployment. It has the zero Response where there was no answer, which is a fault already.
type answer struct {
	apiclient.Response
	t       *trial
	request string
}

const (
	sendings    = 3                // at most, of one request
	longestWait = 10 * time.Second // between two of them
	longestBody = 4 << 10          // bytes of a body that a report shows
	mostMisfits = 10               // that a report shows
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
		if pause := time.Duration(seconds) * time.Second; err != nil || pause > longestWait || !cli.Sleep(t.ctx, pause) {
			break
		}
		a = t.sendOnce(method, path, body, headers...)
	}
	return a
}

func (t *trial) sendOnce(method, path, body string, headers ...string) answer {
	a := answer{t: t, request: written(method+" "+path, apiclient.HeaderOf(headers...), body)}
	var err error
	if a.Response, err = t.api.Send(t.ctx, method, path, body, headers...); err != nil {
		t.result.Faults = append(t.result.Faults, Fault{"an answer", masked(a.request), err.Error()})
		return a
	}
	if t.document != nil && strings.HasPrefix(path, "/v1") && len(t.misfits) < mostMisfits {
		err = t.document.Check(apidoc.Exchange{Method: method, Path: path, Request: body, Status: a.Status, Header: a.Header, Body: a.Body,
			JSON: a.JSON})
		if err != nil {
			t.misfits = append(t.misfits, a.fault(err.Error()))
		}
	}
	return a
}

// want notes a fault unless ok. An answer that did not come is a fault already.
func (a answer) want(ok bool, format string, args ...any) bool {
	if !ok && a.Status != 0 {
		a.t.result.Faults = append(a.t.result.Faults, a.fault(fmt.Sprintf(format, args...)))
	}
	return ok
}

func (a answer) fault(want string) Fault {
	return Fault{masked(want), masked(a.request), masked(written(a.StatusLine(), a.Header, a.Body))}
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

// statuses are the statuses of refusals by their codes (section 7, and the documentation).
var statuses = map[string]int{
	"VALIDATION_ERROR": http.StatusBadRequest, "MISSING_API_KEY": http.StatusUnauthorized, "INVALID_API_KEY": http.StatusForbidden,
	"PROVIDER_KEY_MISMATCH": http.StatusForbidden, "CHECKOUT_NOT_FOUND": http.StatusNotFound, "EVENT_NOT_FOUND": http.StatusNotFound,
	"NOT_FOUND": http.StatusNotFound, "METHOD_NOT_ALLOWED": http.StatusMethodNotAllowed, "CONFLICT": http.StatusConflict,
	"IDEMPOTENCY_CONFLICT": http.StatusConflict, "DIRECT_DEBIT_SETUP_INCOMPLETE": http.StatusConflict, "CHECKOUT_CANCELLED": http.StatusConflict,
	"REQUEST_TOO_LARGE": http.StatusRequestEntityTooLarge, "UNSUPPORTED_MEDIA_TYPE": http.StatusUnsupportedMediaType,
	"RATE_LIMITED": http.StatusTooManyRequests,
}

// refused wants a refusal with a code and its status.
func (a answer) refused(code string) answer {
	a.want(a.Status == statuses[code] && a.String("error.code") == code, "status %d with error.code %s", statuses[code], code)
	return a
}

// invalid wants a refusal whose details name exactly these fields, if any are given.
func (a answer) invalid(fields ...string) answer {
	a.refused("VALIDATION_ERROR")
	named := strings.Join(fields, " ")
	a.want(named == "" || named == a.named(), "error.details name %s", named)
	a.want(!slices.Contains(a.column("error.details", "message"), ""), "error.details have a message each")
	return a
}

// named returns the fields that the details of a refusal name.
func (a answer) named() string {
	return strings.Join(a.column("error.details", "field"), " ")
}

// column returns the texts of a field in the elements of the list at a path.
func (a answer) column(path, field string) (texts []string) {
	for n := range a.list(path) {
		texts = append(texts, a.String(fmt.Sprintf("%s.%d.%s", path, n, field)))
	}
	return texts
}

// list returns the elements of the list at a path.
func (a answer) list(path string) []any {
	list, _ := a.At(path).([]any)
	return list
}

// written returns a request or an answer as text.
func written(line string, header http.Header, body string) string {
	text := bytes.NewBufferString(line + "\n")
	_ = header.Write(text) // never fails
	if len(body) > longestBody {
		body = fmt.Sprintf("%s… (%d bytes)", body[:longestBody], len(body))
	}
	return strings.TrimRight(strings.ReplaceAll(text.String(), "\r", "")+"\n"+body, "\n") + "\n"
}

var (
	bearer = regexp.MustCompile(`(?i)(Bearer )(\S+)`)
	token  = regexp.MustCompile(`([A-Za-z0-9_-]+-[0-9]+-[a-z2-7]{16}\.[0-9]+\.[\w-]+\.)[\w-]+`)
)

// masked hides the keys and the setup tokens of a text, and replaces what a terminal would obey and JSON does not allow.
func masked(text string) string {
	text = bearer.ReplaceAllStringFunc(cli.Printable(text), func(header string) string {
		key := header[len("Bearer "):]
		if id := catalogue.KeyID(key); id != key {
			return header[:len("Bearer ")] + "…" + id + "…"
		}
		return header[:len("Bearer ")] + "…"
	})
	return token.ReplaceAllString(text, "$1…")
}
