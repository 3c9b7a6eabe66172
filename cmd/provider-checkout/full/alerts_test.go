package full_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
)

// moment is a time, and the alerts that fire then, each with the labels that are its own.
type moment struct {
	at   string
	fire []string
}

func at(when string, fire ...string) moment { return moment{when, fire} }

// firing has promtool evaluate the rules over series, and reports an error unless just these alerts fire at each moment.
func firing(t *testing.T, interval string, series map[string]string, moments ...moment) {
	t.Helper()
	firingEvery(t, interval, interval, series, moments...)
}

// firingEvery is firing, with the rules evaluated at an interval of their own: often is slow over weeks.
func firingEvery(t *testing.T, every, interval string, series map[string]string, moments ...moment) {
	t.Helper()
	file, err := filepath.Abs(filepath.Join(packagingFolder, "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	type sample struct {
		Labels string  `json:"labels"`
		Value  float64 `json:"value"`
	}
	var input []map[string]string
	for _, name := range slices.Sorted(maps.Keys(series)) {
		input = append(input, map[string]string{"series": name, "values": strings.TrimSpace(series[name])})
	}
	var expected []map[string]any
	for _, m := range moments {
		samples := []sample{}
		for _, alert := range m.fire {
			samples = append(samples, sample{"{" + alert + "}", 1})
		}
		expected = append(expected, map[string]any{"eval_time": m.at, "exp_samples": samples,
			"expr": `count by (alertname, check, route, status, instance) (ALERTS{alertstate="firing"})`})
	}
	text, err := json.Marshal(map[string]any{"rule_files": []string{file}, "evaluation_interval": every, "tests": []any{map[string]any{
		"interval": interval, "input_series": input, "promql_expr_test": expected}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "test.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := judge(t, "promtool", "test", "rules", path); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

// counted is the name of a series that only grows, or of a part of a histogram.
var counted = regexp.MustCompile(`^[a-z_]+_(total|bucket|sum|count)(\{|$)`)

// phase is a time in which each minute is like the time between two scrapes.
type phase struct {
	before, after samples
	minutes       int
}

// course returns the values of all series, one a minute, in the notation of promtool, with what Prometheus itself says of the server.
func course(phases ...phase) map[string]string {
	all, last := map[string]string{`up{job="provider-checkout",instance="a"}`: ""}, samples{}
	for _, p := range phases {
		for name := range p.after {
			all[name] += ""
		}
		all[`up{job="provider-checkout",instance="a"}`] += fmt.Sprintf(" 1x%d", p.minutes-1)
	}
	for name := range all {
		for _, p := range phases {
			value, there := p.after[name]
			step := 0.
			switch {
			case !there: // it has not begun
				all[name] += fmt.Sprintf(" _x%d", p.minutes)
				continue
			case counted.MatchString(name):
				step = value - p.before[name]
				value = last[name] + step
				last[name] += step * float64(p.minutes)
			}
			all[name] += " " + strconv.FormatFloat(value, 'f', -1, 64) + "+" + strconv.FormatFloat(step, 'f', -1, 64) + "x" + strconv.Itoa(p.minutes-1)
		}
	}
	return all
}

// The series of every case come from a server in that state, or have the names and labels of a running server's: a metric that is
// renamed fails the case.
func TestAlertsRingForWhatARunningServerExports(t *testing.T) {
	testlevel.Full(t)
	t.Parallel()
	m := newMeasured(t)
	m.confirm(t, m.setUp(t)) // every series of a confirm has begun
	quiet := m.scrape(t)
	for range 3 {
		if status := m.confirm(t, m.setUp(t)); status != http.StatusOK {
			t.Fatalf("a confirm is answered %d", status)
		}
	}
	busy := m.scrape(t)
	hour := phase{quiet, busy, 60}
	nothing := func(minutes int) phase { return phase{busy, busy, minutes} }

	t.Run("nothing rings while all is well, or quiet", func(t *testing.T) {
		firing(t, "1m", course(hour, hour), at("119m"))
		firing(t, "1m", course(nothing(120)), at("119m"))
	})
	t.Run("outage: nothing is opened, or confirmed", func(t *testing.T) {
		none := []string{`alertname="ProviderCheckoutNoConfirms"`, `alertname="ProviderCheckoutNoCreates"`}
		firing(t, "1m", course(hour, hour, nothing(40)), at("126m"), at("130m", none...)) // within ten minutes
		const week = 7 * 24 * 60
		enrolments := func(phases ...phase) map[string]string {
			all := course(phases...)
			maps.DeleteFunc(all, func(name, _ string) bool {
				return !strings.Contains(name, "_creates_total") && !strings.Contains(name, "_confirms_total")
			})
			return all
		}
		busyFor := func(minutes int) phase { return phase{quiet, busy, minutes} }
		// At an hour at which nobody enrolled a week ago either, and on a day on which nobody has enrolled yet.
		firingEvery(t, "5m", "1m", enrolments(busyFor(60), nothing(week-60), busyFor(60), nothing(60)), at(fmt.Sprintf("%dm", week+110)))
		firingEvery(t, "5m", "1m", enrolments(busyFor(120), nothing(week)), at(fmt.Sprintf("%dm", week+60)))
		firing(t, "1m", enrolments(busyFor(180), nothing(week-180), busyFor(60), nothing(60)), at(fmt.Sprintf("%dm", week+72), none...))
	})
	t.Run("outage: every confirm fails", func(t *testing.T) {
		ready := m.setUp(t)
		m.bank.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultError, Method: http.MethodGet, Path: "/mandates/*", Times: 1000})
		defer m.bank.Disarm()
		if status := m.confirm(t, ready); status != http.StatusServiceUnavailable {
			t.Fatalf("a confirm without the processor is answered %d", status)
		}
		first := m.scrape(t) // the series of the failures have begun
		if status := m.confirm(t, ready); status != http.StatusServiceUnavailable {
			t.Fatalf("a confirm without the processor is answered %d", status)
		}
		firing(t, "1m", course(nothing(60), phase{first, m.scrape(t), 30}), at("89m", `alertname="ProviderCheckoutErrors",route="`+confirmRoute+`"`))
	})
	ringEach(t, busy)
	t.Run("a restart: what a process counts before its first scrape", func(t *testing.T) {
		for alert, series := range map[string]string{`"ProviderCheckoutMandatesEnded",status="cancelled"`: `mandates_ended_total{status="cancelled"}`,
			`"ProviderCheckoutCRMRefuses"`: "crm_refusals_total"} {
			all := course(nothing(400))
			if _, exported := all["provider_checkout_"+series]; !exported {
				t.Errorf("the server exports no %s", series)
			}
			all["provider_checkout_"+series] = "1x400" // the process before has counted as many, long ago
			all[`process_start_time_seconds{job="provider-checkout"}`] = "0x199 12000x200"
			firing(t, "1m", all, at("199m"), at("203m", "alertname="+alert), at("399m"))
		}
	})
	t.Run("a restart: processes that are not ready in turn", func(t *testing.T) {
		firing(t, "30s", map[string]string{`provider_checkout_ready{check="serving",instance="a"}`: "1x10 0x3 1x3 0x3 1x3 0x3 1x20",
			`provider_checkout_ready{check="serving",instance="b"}`: "1x10 1x3 0x3 1x3 0x3 1x3 1x20"}, at("12m"))
	})
	t.Run("outage: PostgreSQL is away behind a balancer that goes by readyz", func(t *testing.T) {
		m.cut()
		const ready = `provider_checkout_ready{check="%s"}`
		var away samples
		eventually(t, "the server says that it is not ready", func() bool {
			away = m.scrape(t)
			return away[fmt.Sprintf(ready, "store")] == 0
		})
		for _, check := range []string{"serving", "processor"} {
			if away[fmt.Sprintf(ready, check)] != 1 {
				t.Errorf("while only the store is away, the check %s fails", check)
			}
		}
		for name := range busy {
			value, there := away[name]
			stored := strings.Contains(name, "waiting") || strings.Contains(name, "_age_seconds") || strings.Contains(name, "outbox")
			if !there || stored && !math.IsNaN(value) {
				t.Errorf("while the store is away %s is %v, there: %v", name, value, there)
			}
		}
		firing(t, "1m", course(nothing(60), phase{away, away, 30}), at("89m", `alertname="ProviderCheckoutNotReady",check="store"`))
	})
}

// ringEach has each alert ring that the other cases leave out, alone.
func ringEach(t *testing.T, busy samples) {
	const p = "provider_checkout_"
	tried := map[string]bool{"NotReady": true, "Errors": true, "NoCreates": true, "NoConfirms": true}
	for _, tt := range []struct {
		alert, labels string
		change        map[string]string
	}{
		{"Down", `instance="a"`, map[string]string{`up{job="provider-checkout",instance="a"}`: "0x120"}},
		{"EventsWait", "", map[string]string{p + "outbox_oldest_pending_age_seconds": "61x120"}},
		{"MandatesEnded", `status="cancelled"`, map[string]string{p + `mandates_ended_total{status="cancelled"}`: "0x100 1x20"}},
		{"CRMWaits", "", map[string]string{p + "crm_oldest_age_seconds": "301x120"}},
		{"EndsWait", "", map[string]string{p + "ends_oldest_age_seconds": "301x120"}},
		{"CRMRefuses", "", map[string]string{p + "crm_refusals_total": "0+1x120"}},
		{"NoPDF", "", map[string]string{p + `unprinted_total{provider="KOWHAI"}`: "0x100 1x20"}},
		{"SignerEnds", "", map[string]string{p + "signer_not_after_timestamp_seconds": "2592000x120"}},
	} {
		tried[tt.alert] = true
		t.Run(tt.alert, func(t *testing.T) {
			series := course(phase{busy, busy, 120})
			for name, values := range tt.change {
				if _, exported := series[name]; !exported {
					t.Errorf("the server exports no %s", name)
				}
				series[name] = values
			}
			alert := `alertname="ProviderCheckout` + tt.alert + `"`
			if tt.labels != "" {
				alert += "," + tt.labels
			}
			firing(t, "1m", series, at("119m", alert))
		})
	}
	for _, r := range rules(t) {
		if !tried[strings.TrimPrefix(r.Alert, "ProviderCheckout")] {
			t.Errorf("no case rings %s", r.Alert)
		}
	}
}

// Every alert says how urgent it is, what it is and what to do, on a page that exists, and names nobody.
func TestAlertsHaveRunbooks(t *testing.T) {
	testlevel.Full(t)
	const home = "https://github.com/provider-checkout/provider-checkout/blob/main/"
	label := regexp.MustCompile(`\$labels\.(\w+)`)
	for _, r := range rules(t) {
		if s := r.Labels["severity"]; s != "page" && s != "ticket" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
			t.Errorf("%s does not say how urgent it is, what it is, and what to do", r.Alert)
		}
		path, heading, _ := strings.Cut(strings.TrimPrefix(r.Annotations["runbook_url"], home), "#")
		page, err := os.ReadFile(filepath.Join("../../..", path))
		if err != nil || heading != strings.ToLower(r.Alert) || !strings.Contains(string(page), "\n### "+r.Alert+"\n\n") {
			t.Errorf("the runbook of %s is %s, %v", r.Alert, r.Annotations["runbook_url"], err)
		}
		for _, m := range label.FindAllStringSubmatch(fmt.Sprint(r.Annotations), -1) {
			if !slices.Contains([]string{"instance", "check", "method", "route", "status"}, m[1]) {
				t.Errorf("%s names the label %s", r.Alert, m[1])
			}
		}
	}
	if said, err := judge(t, "promtool", "check", "rules", "alerts.yaml"); err != nil {
		t.Errorf("promtool: %v\n%s", err, said)
	}
}
