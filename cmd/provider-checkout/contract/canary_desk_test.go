package contract_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/desk"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/in/ops"
)

// atTheDesk has an agent open every page of the desk and look at the student's data. The pages that mask the data are searched with
// the payer's pages, the log too, and here the routes of the metrics.
func (m *mine) atTheDesk(t *testing.T) {
	registry, server := ops.NewRegistry(), httptest.NewUnstartedServer(nil)
	at := "http://" + server.Listener.Addr().String()
	handler, err := desk.New(desk.Options{Settings: desk.Settings{URL: at}, Store: m.Store, Keyring: m.Config.Keyring, Sandbox: true,
		SetupLifetime: time.Hour, Log: httpserver.NewLog(m.Log), Now: m.Clock.Now, Observe: ops.NewMetrics(registry).ObserveRequest})
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = handler
	server.Start()
	t.Cleanup(server.Close)

	get := func(path string) response {
		return m.Send(t, http.MethodGet, at+path, "", "Referer", at+"/find?q="+canaryEmail)
	}
	post := func(path string, fields url.Values) response {
		return m.Send(t, http.MethodPost, at+path, fields.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Origin", at)
	}
	one := get("/find?q=GOOD").Header.Get("Location")
	if !strings.HasPrefix(one, "/checkouts/KOWHAI-") {
		t.Fatalf("the order leads to %q", one)
	}
	shown := []response{get("/"), get("/find"), get("/find?q=" + canaryLast), get("/find?trouble=events"), get("/providers"),
		get("/providers/KOWHAI"), get(one), get("/checkouts/" + strings.Repeat("x", 99)), post(one+"/reveal", nil),
		post(one+"/reveal", url.Values{"reason": {"two\nlines"}})}
	for _, page := range shown {
		if leaks(page, canaryHolder) {
			t.Errorf("a page of the desk shows the account holder: %d %s", page.Status, page.Body)
		}
	}
	m.pages = append(m.pages, shown...)
	get("/find?q=" + canaryEmail) // leads to the checkouts; none of it may be logged
	if page := post(one+"/reveal", url.Values{"reason": {canaryEmail}}); page.Status != http.StatusUnprocessableEntity {
		t.Errorf("a reason that has the student's address is answered %d", page.Status)
	}
	if page := post(one+"/reveal", url.Values{"reason": {"ticket 7"}}); !leaks(page, canaryEmail) || !leaks(page, canaryHolder) {
		t.Errorf("what an agent asks to see is not shown: %d %s", page.Status, page.Body)
	}
	metrics, err := registry.Gather()
	if all := fmt.Sprint(metrics); err != nil || !strings.Contains(all, "/checkouts/{id}") || leaks(response{Body: all}, person...) {
		t.Errorf("the metrics are %s, %v; want the desk's routes, and nothing of a person", all, err)
	}
}
