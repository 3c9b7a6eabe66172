package contract_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/desk"
	"github.com/provider-checkout/provider-checkout/adapters/in/ops"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	listed   = regexp.MustCompile(`href="(/checkouts/[^"]+)"`)
	withdraw = regexp.MustCompile(`action="(/checkouts/[^"]+/withdraw)"`)
	approve  = regexp.MustCompile(`action="(/approvals/[^"]+/approve)"`)
)

// operators has operators of every role look for the student at the desk, and at everything that they find. Their pages are searched
// with the payer's, and so are the log, the addresses, the cookies and the routes of the metrics.
func (m *mine) operators(t *testing.T) {
	registry := ops.NewRegistry()
	srv := httptest.NewUnstartedServer(nil)
	srv.Start()
	t.Cleanup(srv.Close)
	handler, err := desk.New(desk.Options{Settings: desk.Settings{URL: srv.URL, Idle: time.Hour, Session: time.Hour}, Store: m.Store,
		Secrets: [][]byte{[]byte(operatorSecret)}, Sandbox: true, Log: slog.New(slog.NewJSONHandler(m.Log, nil)),
		Sender:  func(catalogue.Environment) ports.Sender { return nil },
		Export:  site.WriteStudent,
		Observe: ops.NewMetrics(registry).ObserveRequest})
	if err != nil {
		t.Fatal(err)
	}
	srv.Config.Handler = handler
	for _, role := range []string{"support", "finance", "compliance", "engineer", "auditor"} {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		m.operator(t, &http.Client{Jar: jar}, srv.URL, role)
		at, _ := url.Parse(srv.URL)
		for _, c := range jar.Cookies(at) {
			if leaks(response{Body: c.Value}, append(person, role)...) {
				t.Errorf("a cookie leaks: %s", c.Value)
			}
		}
	}
	metrics, err := registry.Gather()
	if all := fmt.Sprint(metrics); err != nil || !strings.Contains(all, "/checkouts/{id}") || leaks(response{Body: all}, person...) {
		t.Errorf("the metrics are %s, %v; want the desk's routes, and nothing of a person", all, err)
	}
}

func (m *mine) operator(t *testing.T, client *http.Client, base, role string) {
	visit := func(path string, form url.Values) response {
		method, body := http.MethodGet, io.Reader(nil)
		if form != nil {
			method, body = http.MethodPost, strings.NewReader(form.Encode())
		}
		r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, base+path, body)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Referer", base+"/find?q="+canaryEmail)
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response{Status: resp.StatusCode, Header: resp.Header, Body: string(text)}
	}
	name := "Ben"
	if role == "support" {
		name = "Aroha"
	}
	visit("/sign-in", url.Values{"name": {name}, "role": {role}})
	all := visit("/find?provider=KOWHAI", nil)
	checkouts := listed.FindAllStringSubmatch(all.Body, 2)
	if len(checkouts) != 2 {
		t.Fatalf("an operator finds %d: %s", all.Status, all.Body)
	}
	for _, path := range []string{"/", "/funnel", "/providers", "/providers/KOWHAI", "/approvals", "/audit", "/months/2027-02", "/months/2027-02.csv",
		checkouts[0][1], checkouts[1][1], checkouts[0][1] + "/proof.json", checkouts[1][1] + "/proof.json",
		checkouts[0][1] + "/agreement.pdf", "/?done=link", "/checkouts/" + strings.Repeat("x", 99), "/find?provider=KOWHAI", "/find?trouble=events"} {
		m.pages = append(m.pages, visit(path, nil))
	}
	visit("/find?q="+canaryEmail, nil) // which the page repeats to who has typed it
	visit("/find?q="+canaryFirst, nil)
	for _, form := range []url.Values{{}, {"reason": {canaryEmail}}, {"reason": {"ticket 7"}}} {
		visit(checkouts[0][1]+"/export", form) // a file for whoever may have it
		revealed := visit(checkouts[0][1]+"/reveal", form)
		if shown := strings.Contains(revealed.Body, canaryEmail); shown && form.Get("reason") != "ticket 7" {
			t.Errorf("%s sees the address for %v", role, form)
		}
	}
	send := func(form *regexp.Regexp, page response, fields url.Values) response {
		found := form.FindStringSubmatch(page.Body)
		if found == nil {
			t.Fatalf("%s has no form to %s: %d %s", role, form, page.Status, page.Body)
		}
		return visit(found[1], fields)
	}
	switch role { // on every store
	case "support":
		m.pages = append(m.pages, send(withdraw, visit("/find?q=GOOD", nil), url.Values{"ground": {"error"}, "reason": {"ticket 7"}}))
	case "compliance":
		m.pages = append(m.pages, send(approve, visit("/approvals", nil), url.Values{}))
		if page := visit("/find?q=GOOD", nil); !strings.Contains(page.Body, "<h1>Withdrawn</h1>") {
			t.Errorf("the agreement that two people withdrew: %d %s", page.Status, page.Body)
		}
	}
}
