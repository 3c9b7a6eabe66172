package rehearsal

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

// rehearse has an integration with a bug, "" without one, enrol a student in each of the situations, all at once, and returns
// the outcome. It runs in a bubble, whose clock jumps.
func rehearse(t *testing.T, bug string, names ...string) (Report, string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	i := newIntegration("http://service")
	i.bug = bug
	order := "ORDER+"
	if bug == onlyNextKey {
		i.key, order = i.next, "ORDER-"
	}
	var out bytes.Buffer
	cfg := config(t, i.base)
	cfg.ForwardTo, cfg.Stdout = "http://127.0.0.1:1/events", &out
	r, err := newRehearsal(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	i.http, r.sender = &http.Client{Transport: connection{r.handler()}}, i
	if len(names) > 0 {
		r.order = slices.DeleteFunc(r.order, func(s situation) bool { return !slices.Contains(names, s.name) })
	}
	var running sync.WaitGroup
	running.Go(func() { r.site.Service.Run(ctx) })
	running.Go(func() {
		for _, s := range r.order {
			enrol := func() { _ = i.enrol(ctx, order+s.name) } // what comes of it is in the report
			if bug == oneWorker {
				enrol()
			} else {
				running.Go(enrol)
			}
		}
	})
	limit, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	r.watch(limit)
	stop()
	running.Wait()
	r.background.Wait()
	time.Sleep(time.Minute) // of the bubble, in which calls end that were given up
	return r.report(), out.String()
}

// config returns the configuration of a rehearsal with the service at a base URL.
func config(t *testing.T, base string) Config {
	t.Helper()
	return Config{Site: site.Config{Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
		Service: service.Config{Environment: catalogue.Sandbox, BaseURL: base}},
		Providers: file(t, "demo.json"), Terms: file(t, "demo-terms.json"), Stdout: t.Output()}
}

func file(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("../../" + name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// So does a site whose only worker calls and receives, which takes the events of a call after it.
func TestARightIntegrationPassesInEachSituation(t *testing.T) {
	for _, of := range []string{"", oneWorker, onlyNextKey} {
		t.Run(of, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				report, out := rehearse(t, of)
				if err := report.Err(); err != nil || report.count(passed) != len(situations()) {
					t.Errorf("%v\n%s", err, out)
				}
				var end strings.Builder
				if report.Print(&end); end.String() != "21 passed, 0 skipped: nothing is wrong\n" {
					t.Errorf("at the end it prints %q", end.String())
				}
				if text, err := report.JUnit(); err != nil || strings.Contains(string(text), `time="0"`) {
					t.Errorf("a situation took no time: %s, %v", text, err)
				}
			})
		})
	}
}

// broken are the bugs of integrations. Each rule is broken by one of them at least.
var broken = []struct {
	bug, situation string
	rule           rule
}{
	{"makes another order of a retry", "create_answer_lost", newOrder},
	{"makes another order of a retry in the same situation", "create_answer_lost", newOrder},
	{"makes keys of its own", "create_answer_lost", otherKey},
	{"creates once", "create_503", givesUp},
	{"changes what it sends again", "create_answer_lost", changedRetry},
	{"ignores Retry-After", "create_429", ignoresRetryAfter},
	{"ignores Retry-After", "confirm_503", ignoresRetryAfter},
	{"retries everything", "create_conflict", retriesRefusal},
	{"waits five seconds", "create_slow", shortTimeout},
	{"waits five seconds", "confirm_slow", shortTimeout},
	{"sends no name", "plain", isRefused},
	{"sends forms", "plain", wrongContentType},
	{"sends texts", "plain", amountAsText},
	{"sends parts of cents", "plain", amountNotCents},
	{"mends its texts", "plain", amountAsText},
	{"gives up a poll that fails", "poll_503", givesUp},
	{"gives up a poll that fails", "poll_answer_lost", givesUp},
	{"polls as fast as it can", "setup_late", pollsTooFast},
	{"polls as fast as it can", "plain", pollsTooFast},
	{"polls five times", "setup_late", stopsPolling},
	{"polls for ever", "cancelled", pollsOn},
	{"confirms what was cancelled", "cancelled", confirmsCancelled},
	{"confirms without a poll", "plain", confirmsEarly},
	{"takes a bank account for a mandate", "setup_fails_once", confirmsEarly},
	{"never confirms", "plain", neverConfirms},
	{"confirms once", "confirm_answer_lost", givesUp},
	{"takes a repeat for an error", "confirm_answer_lost", repeatIsError},
	{"uses the former key on", keyRotated, formerKey},
	{"has one key", keyRotated, createdFormer},
	{"checks no signature", "events_bad_signature", takesForged},
	{"checks no time", "events_old_timestamp", takesOld},
	{"reads the first signature only", "secret_rotated", refusesRotated},
	{"refuses what it has", "events_repeated", refusesRepeat},
	{"acts on each delivery", "events_repeated", actsTwice},
	{"wants events in order", "events_out_of_order", refusesLate},
	{"works before it answers", "plain", slowReceiver},
	{"redirects events", "plain", redirects},
	{"refuses events", "plain", refusesEvent},
}

func TestABrokenIntegrationIsToldWhatItGotWrong(t *testing.T) {
	for _, tt := range broken {
		t.Run(tt.bug+" in "+tt.situation, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				report, out := rehearse(t, tt.bug, tt.situation)
				if faults := report.Situations[0].Faults; report.Err() == nil || len(faults) == 0 || faults[0].Rule != tt.rule.name {
					t.Errorf("%v: %+v, want a fault by the rule %s\n%s", report.Err(), faults, tt.rule.name, out)
				}
			})
		})
	}
}

// One student may enrol many times at once.
func TestAnotherEnrolmentIsNotTakenForARetry(t *testing.T) {
	for _, tt := range []struct {
		name, other, again string // the order after it, and the body that is sent again then, "" for no retry
		want               []string
	}{
		{"an order that names its situation", "B+plain", "", []string{"gives_up"}},
		{"an order before a retry", "B", "{}", []string{"ignores_retry_after", "changed_retry"}},
		{"an order in place of a retry", "B", "", []string{"new_order_id"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				i, cfg := newIntegration("http://service"), config(t, "http://service")
				cfg.ForwardTo = "http://127.0.0.1:1/events"
				r, err := newRehearsal(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				i.http, r.sender, i.bug = &http.Client{Transport: connection{r.handler()}}, i, "creates once"
				_, _ = i.create(t.Context(), i.key, "A+create_503")
				if _, err := i.create(t.Context(), i.key, tt.other); err != nil {
					t.Fatal(err)
				}
				if tt.again != "" {
					body := apiclient.With(tt.again, "provider.provider_order_id", `"A+create_503"`)
					_, _ = i.call(t.Context(), i.key, "POST", apiclient.CheckoutsPath, body, 1)
				}
				r.each((*trial).missing)
				var got []string
				for _, f := range r.trials["create_503"][0].Faults {
					got = append(got, f.Rule)
				}
				if !slices.Equal(got, tt.want) {
					t.Errorf("the faults are %q, want %q", got, tt.want)
				}
			})
		})
	}
}

func TestAReportSaysWhatWasWrong(t *testing.T) {
	report := Report{Situations: []Outcome{{Situation: "plain", State: passed}, {Situation: "create_503", State: failed,
		Order: "A-1", Faults: []Fault{{Rule: "ignores_retry_after", Wrong: "too early", Says: "Wait.", Page: "http://service/docs#retries", Times: 2}}}}}
	for _, tt := range []struct {
		form func() ([]byte, error)
		want []string
	}{
		{report.JUnit, []string{`tests="2" failures="1"`, `name="plain" time="0"></testcase>`, `<failure message="failed">`,
			"too early (2 times)", "Wait."}},
		{report.JSON, []string{`"rule": "ignores_retry_after"`, `"wrong": "too early"`, `"times": 2`, `"provider_order_id": "A-1"`}},
	} {
		text, err := tt.form()
		for _, want := range tt.want {
			if err != nil || !strings.Contains(string(text), want) {
				t.Errorf("%q is missing in %s, %v", want, text, err)
			}
		}
	}
	var printed strings.Builder
	Report{Situations: []Outcome{{State: failed, Order: "A-\x1b]0;", Faults: []Fault{{Wrong: "not \x1b[2J"}}}}}.Print(&printed)
	if !strings.Contains(printed.String(), "A-") || strings.Contains(printed.String(), "\x1b") {
		t.Errorf("printed is %q, which a terminal obeys", printed.String())
	}
	if err := report.Err(); err == nil || err.Error() != "of 2 situations 1 failed, 0 had not ended and 0 had no checkout" {
		t.Error(err)
	}
}

// Every sentence that a fault quotes stands on the page of the documentation, whose section exists.
func TestFaultsQuoteTheDocumentation(t *testing.T) {
	page := func(name string) string {
		text, err := os.ReadFile("../../../../adapters/in/httpapi/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	text, sections := page("docs.markdown"), page("docs.html")
	for _, b := range broken {
		if !strings.Contains(text, b.rule.says) {
			t.Errorf("%s: the documentation does not say %q", b.rule.name, b.rule.says)
		}
		if !strings.Contains(sections, `id="`+b.rule.anchor+`"`) {
			t.Errorf("%s: the documentation has no section %q", b.rule.name, b.rule.anchor)
		}
	}
}

func TestACallThatIsTurnedAwayHasARequestIDLikeTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		report, out := rehearse(t, "ignores Retry-After", "create_429")
		faults := report.Situations[0].Faults
		if len(faults) == 0 || len(faults[0].Request) != len("req_")+36 {
			t.Errorf("%+v\n%s", faults, out)
		}
	})
}

func TestAnAmountMayBeAnyNumberOfWholeCents(t *testing.T) {
	for amount, whole := range map[string]bool{"1250": true, "1250.000": true, "1.25e3": true, "1.25E+3": true, "125000e-2": true, "0.0": true,
		"12.501": false, "1e-3": false, "1250e-4": false} {
		trial := newTrial(situation{}, "", "ORDER-1")
		json, err := apiclient.ParseObject([]byte(`{"pricing": {"course_price": ` + amount + `}}`))
		if trial.checkAmounts(request{json: json}); err != nil || (len(trial.Faults) == 0) != whole {
			t.Errorf("%s: %+v, %v; want whole cents: %v", amount, trial.Faults, err, whole)
		}
	}
}

// A load test may create thousands of orders, and the last costs as much as the first.
func TestACreateReadsNoEarlierOrder(t *testing.T) {
	r := &rehearsal{out: io.Discard, trials: map[string][]*trial{}, byOrder: map[string]*trial{}}
	enrol := func(order string) {
		body := `{"provider": {"provider_order_id": "` + order + `"}, "student": {"first_name": "Aroha"}}`
		q, err := read(httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)), create, time.Now())
		if trial, _ := r.arrive(q); err != nil || trial == nil || trial.Order != order {
			t.Errorf("%s has the trial %+v, %v", order, trial, err)
		}
	}
	first := testing.AllocsPerRun(1, func() { enrol(rand.Text()) })
	for range 500 {
		enrol(rand.Text())
	}
	if last := testing.AllocsPerRun(1, func() { enrol(rand.Text()) }); last > first+10 {
		t.Errorf("the first create makes %v allocations, and a late one %v", first, last)
	}
}

func TestAnAmountIsOneFaultHoweverOftenItsCreateIsRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		report, out := rehearse(t, "sends parts of cents", "create_answer_lost")
		faults := report.Situations[0].Faults
		if len(faults) == 0 || faults[0].Rule != amountNotCents.name || faults[0].Times != 1 {
			t.Errorf("%+v\n%s", faults, out)
		}
	})
}
