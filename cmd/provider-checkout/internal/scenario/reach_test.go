package scenario_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/sim/bankaccount"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

const reference = "../../../../adapters/in/httpapi/"

// reach is a row of the table that says how a provider reaches an error, an event, or a word of a status.
var reach = regexp.MustCompile(`(?m)^\| (error-|on|getCheckout-|listEvents-)(\S+) ?(.*?) \| (.*) \|$`)

// What the reference says to do leads to each error, event and status.
func TestReferenceSaysHowEverythingIsReached(t *testing.T) {
	text, err := os.ReadFile(reference + "reach.md")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, memory.New(), func(c *site.Config) { c.RateLimit = 1000 })
	for i, row := range reach.FindAllStringSubmatch(string(text), -1) {
		kind, place, word, how := row[1], row[2], row[3], row[4]
		name := strings.TrimSpace(kind + place + " " + word)
		t.Run(name, func(t *testing.T) {
			order := fmt.Sprint("reach-", i)
			switch kind {
			case "error-":
				var got sandbox.Response
				if call := errorsReached[place]; call != nil {
					got = call(w, t, order)
				} else {
					got = w.Get(t, "KOWHAI", w.does(t, order, how).CheckoutPath())
				}
				if got.String("error.code") != place {
					t.Errorf("%s leads to %d %s", how, got.Status, got.Body)
				}
			case "on":
				w.does(t, order, how)
				if got := w.Get(t, "KOWHAI", "/v1/events?provider_order_id="+order); !strings.Contains(got.Body, `"event":"`+eventOf(place)+`"`) {
					t.Errorf("%s leads to the events %s", how, got.Body)
				}
			case "getCheckout-":
				path := w.does(t, order, how).CheckoutPath()
				if got := w.Get(t, "KOWHAI", path); got.String(place) != word {
					t.Errorf("%s leads to %s", how, got.Body)
				}
			case "listEvents-":
				var doing sync.WaitGroup
				doing.Go(func() { w.does(t, order, how) })
				found := false
				// An event is pending only meanwhile.
				for end := time.Now().Add(2 * time.Minute); !found && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
					got := w.Get(t, "KOWHAI", "/v1/events?provider_order_id="+order)
					found = strings.Contains(got.Body, `"status":"`+word+`"`)
				}
				if doing.Wait(); !found {
					t.Errorf("%s leads to no event that is %s", how, word)
				}
			}
		})
	}
}

// eventOf returns the name of an event by its place in the reference: checkout.created of CheckoutCreated.
func eventOf(place string) string {
	return strings.TrimPrefix(strings.ToLower(regexp.MustCompile(`[A-Z]`).ReplaceAllString(place, ".$0")), ".")
}

var steps = regexp.MustCompile("`([a-z0-9_]+)`|, (?:then )?(confirm)|^(Cancel)")

// does creates a checkout, and does with it what the first sentence of a row says, or the first of two ways. It returns the answer of
// the create.
func (w *world) does(t *testing.T, order, how string) sandbox.Response {
	t.Helper()
	created := w.Create(t, order)
	how, _, _ = strings.Cut(how, ". ")
	how, _, _ = strings.Cut(how, ", or ")
	for _, step := range steps.FindAllStringSubmatch(how, -1) {
		switch {
		case slices.Contains(scenario.All(), scenario.Scenario(step[1])):
			w.play(t, created, step[1])
		case step[2] != "":
			if r := w.Confirm(t, created); r.Status != http.StatusOK {
				t.Errorf("confirm: %d %s", r.Status, r.Body)
			}
		case step[3] != "":
			w.cancels(t, created)
		}
	}
	return created
}

func (w *world) cancels(t *testing.T, created sandbox.Response) {
	t.Helper()
	if r := w.Post(t, "KOWHAI", created.CheckoutPath()+"/cancel", `{"reason": "a test"}`); r.Status != http.StatusOK {
		t.Errorf("cancel: %d %s", r.Status, r.Body)
	}
}

// errorsReached does what the reference says of an error that needs no scenario.
var errorsReached = map[string]func(w *world, t *testing.T, order string) sandbox.Response{
	"VALIDATION_ERROR": func(w *world, t *testing.T, order string) sandbox.Response {
		return w.creates(t, sandbox.Set(t, sandbox.Order(sandbox.CatalogueCreate, order), "student.email", ""))
	},
	"MISSING_API_KEY": func(w *world, t *testing.T, order string) sandbox.Response {
		return w.Send(t, http.MethodGet, "/v1/events", "")
	},
	"INVALID_API_KEY": func(w *world, t *testing.T, order string) sandbox.Response {
		return w.Send(t, http.MethodGet, "/v1/events", "", "Authorization", "Bearer wrong")
	},
	"PROVIDER_KEY_MISMATCH": func(w *world, t *testing.T, order string) sandbox.Response {
		return w.creates(t, sandbox.Set(t, sandbox.Order(sandbox.CatalogueCreate, order), "provider.provider_code", `"OTHER"`))
	},
	"CHECKOUT_NOT_FOUND": func(w *world, t *testing.T, order string) sandbox.Response {
		return w.Get(t, "KOWHAI", apiclient.CheckoutsPath+"/none")
	},
	"EVENT_NOT_FOUND": func(w *world, t *testing.T, order string) sandbox.Response {
		return w.Post(t, "KOWHAI", "/v1/events/none/redeliver", "")
	},
	"NOT_FOUND": func(w *world, t *testing.T, order string) sandbox.Response { return w.Get(t, "KOWHAI", "/v1/none") },
	"METHOD_NOT_ALLOWED": func(w *world, t *testing.T, order string) sandbox.Response {
		return w.Send(t, http.MethodDelete, "/v1/events", "", "Authorization", "Bearer "+w.Keys["KOWHAI"])
	},
	"CONFLICT": func(w *world, t *testing.T, order string) sandbox.Response {
		created := w.Create(t, order)
		return w.Post(t, "KOWHAI", created.CheckoutPath()+"/confirm", sandbox.Set(t, created.ConfirmBody(), "checkout.dda_id", `"another"`))
	},
	"IDEMPOTENCY_CONFLICT": func(w *world, t *testing.T, order string) sandbox.Response {
		w.Create(t, order)
		return w.creates(t, sandbox.Set(t, sandbox.Order(sandbox.CatalogueCreate, order), "plan.first_payment_date", `"2027-02-02"`))
	},
	"DIRECT_DEBIT_SETUP_INCOMPLETE": func(w *world, t *testing.T, order string) sandbox.Response {
		return w.Confirm(t, w.Create(t, order))
	},
	"CHECKOUT_CANCELLED": func(w *world, t *testing.T, order string) sandbox.Response {
		created := w.Create(t, order)
		w.cancels(t, created)
		return w.Confirm(t, created)
	},
	"REQUEST_TOO_LARGE": func(w *world, t *testing.T, order string) sandbox.Response {
		return w.creates(t, strings.Repeat(" ", 64<<10)+sandbox.Order(sandbox.CatalogueCreate, order))
	},
	"UNSUPPORTED_MEDIA_TYPE": func(w *world, t *testing.T, order string) sandbox.Response {
		return w.Send(t, http.MethodPost, apiclient.CheckoutsPath, sandbox.Order(sandbox.CatalogueCreate, order),
			"Authorization", "Bearer "+w.Keys["KOWHAI"], "Content-Type", "text/plain")
	},
	"RATE_LIMITED": func(w *world, t *testing.T, order string) sandbox.Response {
		w.Create(t, order)
		events := w.Get(t, "KOWHAI", "/v1/events?provider_order_id="+order).At("events").([]any)
		path := "/v1/events/" + events[0].(map[string]any)["event_id"].(string) + "/redeliver"
		answer := w.Post(t, "KOWHAI", path, "")
		for tries := 1; tries < 20 && answer.Status == http.StatusAccepted; tries++ { // one a second is allowed
			answer = w.Post(t, "KOWHAI", path, "")
		}
		return answer
	},
}

func (w *world) creates(t *testing.T, body string) sandbox.Response {
	t.Helper()
	return w.Post(t, "KOWHAI", apiclient.CheckoutsPath, body)
}

// The reference names every scenario, and what becomes of each account.
func TestReferenceNamesEveryScenario(t *testing.T) {
	text, err := os.ReadFile(reference + "docs.markdown")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| Scenario | What happens |")
	table, rest, _ := strings.Cut(table, "\n\n")
	for _, s := range scenario.All() {
		if !strings.Contains(table, "`"+string(s)+"`") {
			t.Errorf("the reference does not name %s", s)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^[|] (`.*?) [|]").FindAllStringSubmatch(table, -1) {
		for name := range strings.SplitSeq(strings.ReplaceAll(row[1], "`", ""), ", ") {
			if !slices.Contains(scenario.All(), scenario.Scenario(name)) {
				t.Errorf("the reference names %s, which is no scenario", name)
			}
		}
	}
	for n := 1; n < 13; n++ {
		number, err := bankaccount.Parse(fmt.Sprintf("01-0902-0068389-%02d", n))
		if err != nil {
			t.Fatal(err)
		}
		mandate, reason := "none: the setup fails at once", "none"
		if fate := number.Fate(); fate.Mandate != "" {
			mandate = "`" + string(fate.Mandate) + "`"
			if fate.Reason != "" {
				reason = "`" + fate.Reason + "`"
			}
		}
		if row := fmt.Sprintf("| `%02d` | %s | %s |", n, mandate, reason); !strings.Contains(rest, row) {
			t.Errorf("the reference lacks %s", row)
		}
	}
}
