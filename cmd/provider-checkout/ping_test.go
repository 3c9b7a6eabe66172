package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/events"
)

func TestAPingShowsHowAReceiverAnswers(t *testing.T) {
	o := newOperator(t)
	var bodies []string
	answer := func(string, error) int { return http.StatusNoContent } // by the body and what is wrong with the signature
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		wrong := events.Verify(goodSecret, r.Header.Get(events.HeaderSignature), body, time.Now(), time.Minute)
		bodies = append(bodies, string(body))
		w.WriteHeader(answer(string(body), wrong))
		_, _ = io.WriteString(w, "hello "+goodSecret)
	}))
	defer receiver.Close()
	closed := httptest.NewTLSServer(nil)
	closed.Close()
	file := strings.Replace(provider("Kōwhai", goodSecret), "https://hooks.kowhai.example/", receiver.URL, 1)
	file = strings.Replace(file, `"active"`, `"enrolment_origins": ["`+closed.URL+`", "http://localhost:1"], "active"`, 1)
	if _, said := o.does(t, "apply", "-f", proc.TempFile(t, file)); !strings.Contains(said, `"providers ping KOWHAI" checks`) {
		t.Errorf("apply of a new provider says %q, want that a ping checks it", said)
	}
	ping := func() result {
		return try(t, nil, "", "providers", "ping", "KOWHAI", "--allow-private-destinations", "--store", "sqlite:"+o.path)
	}

	got := ping() // to a receiver that checks nothing
	if got.code != cli.ExitDone || !regexp.MustCompile(`^\S+Z attempt 1, 204 after \d+ ms\n`).MatchString(got.stdout) ||
		!strings.Contains(got.stderr, "takes events whose signature is wrong") || !strings.Contains(got.stderr, "nothing answers at its origin "+closed.URL) ||
		strings.Contains(got.stderr, "localhost:1") {
		t.Errorf("ping = %+v, want the answer, and a word on the signature and on the origin", got)
	}
	if len(bodies) != 2 || !strings.Contains(bodies[0], `"event":"ping"`) || !strings.HasSuffix(bodies[0], `"environment":"sandbox","data":{"provider_code":"KOWHAI"}}`) {
		t.Errorf("sent %q, want the event ping twice", bodies)
	}
	answer = func(_ string, wrong error) int {
		if wrong != nil {
			return http.StatusUnauthorized
		}
		return http.StatusOK
	}
	if got := ping(); got.code != cli.ExitDone || !strings.Contains(got.stdout, ` 200 "hello ***" after `) || strings.Contains(got.stderr, "signature") {
		t.Errorf("ping of a receiver that verifies = %+v", got)
	}
	answer = func(string, error) int { return http.StatusInternalServerError }
	if got := ping(); got.code != cli.ExitFailed || !strings.Contains(got.stdout, "attempt 1, 500 ") || !strings.Contains(got.stderr, "the test event was not taken") {
		t.Errorf("ping of a receiver that fails = %+v", got)
	}
	if list := o.prints(t, "events", "list"); strings.Contains(list, "ping") || strings.Count(list, "\n") > 1 {
		t.Errorf("the test events are listed:\n%s", list)
	}
	if out := o.prints(t, "evidence", "list", "--operations"); strings.Count(out, "providers ping KOWHAI") != 3 || strings.Count(out, "ping: taken") != 2 {
		t.Errorf("the evidence log has\n%swant each ping", out)
	}
	if got := o.try(t, "providers", "ping", "KOWHAI"); got.code != cli.ExitFailed || !strings.Contains(got.stderr, "a sandbox may use --allow-private-destinations") {
		t.Errorf("ping of a receiver on this machine without the flag = %+v", got)
	}
	o.fails(t, `there is no provider "MOA"`, "providers", "ping", "MOA")
	o.does(t, "apply", "-f", proc.TempFile(t, regexp.MustCompile(`, "webhook": \{[^}]*\}|,\s*"webhook": \{[^}]*\}`).ReplaceAllString(file, "")))
	o.fails(t, "the provider has no destination of events", "providers", "ping", "KOWHAI")
}
