package linear

import (
	"net/http"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

// but returns the exchange with a changed response.
func (d exchange) but(change func(*response)) exchange {
	change(&d.response)
	return d
}

// lose returns the exchange with its response lost.
func (d exchange) lose() exchange {
	d.response = response{lost: true}
	return d
}

// withIntent returns the exchange with another intent.
func (d exchange) withIntent(intent string) exchange {
	d.intent = intent
	return d
}

// oneByOne returns the history in which each exchange ends before the next begins, unless its response is lost.
func oneByOne(exchanges []exchange) (history []porcupine.Operation) {
	for i, d := range exchanges {
		op := porcupine.Operation{Input: d.request, Output: d.response, Call: int64(2 * i), Return: int64(2*i + 1)}
		if d.lost {
			op.Return = endOfTime
		}
		history = append(history, op)
	}
	return history
}

// orderExchanges returns the exchanges that histories are made of.
func orderExchanges() (create, replay, conflict, get, early, setUp, confirm exchange) {
	all := facts{"KOWHAI-1", "contact", "opportunity", "dda", "pair"}
	agreed := facts{factCheckout: "KOWHAI-1", factAgreement: "agreement", factNumber: "PPA-2027-1"}
	create = exchange{request{toCreate, weekly}, response{status: http.StatusCreated, first: true, facts: all}}
	replay = exchange{request{toCreate, weekly}, response{status: http.StatusOK, facts: all}}
	conflict = exchange{request{toCreate, monthly}, response{status: http.StatusConflict, code: "IDEMPOTENCY_CONFLICT"}}
	get = exchange{request{verb: toGet}, response{status: http.StatusOK, facts: facts{factCheckout: "KOWHAI-1", factDDA: "dda"}}}
	early = exchange{request{verb: toConfirm}, response{status: http.StatusConflict, code: "DIRECT_DEBIT_SETUP_INCOMPLETE"}}
	setUp = exchange{request{verb: toSetUp}, response{status: http.StatusOK}}
	confirm = exchange{request{verb: toConfirm},
		response{status: http.StatusOK, first: true, setUp: true, confirmed: true, facts: agreed}}
	return create, replay, conflict, get, early, setUp, confirm
}

const weekly, monthly = "weekly", "monthly"

func isAgain(a *response)     { a.first = false }
func isSetUp(a *response)     { a.setUp = true }
func isConfirmed(a *response) { a.setUp, a.confirmed, a.facts[factPair] = true, true, "" }

// The model that judges a cluster accepts what the contract allows, and nothing that it forbids.
func TestModelOfAnOrder(t *testing.T) {
	create, replay, conflict, get, early, setUp, confirm := orderExchanges()
	other := func(fact int) func(*response) { return func(a *response) { a.facts[fact] = "other" } }
	failed := func(a *response) { a.status = http.StatusBadRequest }

	for _, tt := range []struct {
		name    string
		history []exchange
		allowed bool
	}{
		{"everything once, and repeated", []exchange{create, replay, conflict, get, early, setUp, get.but(isSetUp), replay.but(isSetUp),
			setUp, confirm, confirm.but(isAgain), get.but(isConfirmed), replay.but(isConfirmed), conflict, setUp}, true},
		{"every commit is known only from the next response", []exchange{create.lose(), replay, setUp.lose(), get.but(isSetUp),
			confirm.lose(), get.but(isConfirmed), confirm.but(isAgain)}, true},
		{"a request without a response never took effect", []exchange{create.withIntent(monthly).lose(), create, setUp.lose(), get, early,
			confirm.lose(), setUp, get.but(isSetUp), confirm}, true},
		{"a request without a response takes effect late", []exchange{create, setUp, confirm.lose(), get.but(isSetUp), get.but(isConfirmed)}, true},
		{"one of two intents without a response wins", []exchange{create.lose(), create.withIntent(monthly).lose(), conflict, replay}, true},

		{"two are the first to create", []exchange{create, create}, false},
		{"two intents are the first to create", []exchange{create, create.withIntent(monthly)}, false},
		{"an order that was never created is replayed", []exchange{replay}, false},
		{"an order that was never created is found", []exchange{get}, false},
		{"a replay has another checkout", []exchange{create, replay.but(other(factCheckout))}, false},
		{"a replay has another contact", []exchange{create, replay.but(other(factContact))}, false},
		{"a replay has another setup pair", []exchange{create, replay.but(other(factPair))}, false},
		{"a replay has no setup pair", []exchange{create, replay.but(func(a *response) { a.facts[factPair] = "" })}, false},
		{"two replays of a lost create differ", []exchange{create.lose(), replay, replay.but(other(factOpportunity))}, false},
		{"another intent is replayed", []exchange{create, replay.withIntent(monthly)}, false},
		{"both intents win", []exchange{create.lose(), create.withIntent(monthly).lose(), replay, replay.withIntent(monthly)}, false},
		{"the same intent conflicts", []exchange{create, conflict.withIntent(weekly)}, false},
		{"a create is refused", []exchange{create.but(failed)}, false},
		{"a get has another DDA", []exchange{create, get.but(other(factDDA))}, false},
		{"the setup is complete though no payer came", []exchange{create, get.but(isSetUp)}, false},
		{"the setup is forgotten", []exchange{create, setUp, get}, false},
		{"the setup was seen and is forgotten", []exchange{create, setUp.lose(), get.but(isSetUp), get}, false},
		{"a confirm comes before the setup", []exchange{create, confirm}, false},
		{"a confirm is refused after the setup", []exchange{create, setUp, early}, false},
		{"a confirm is refused for another reason", []exchange{create, early.but(func(a *response) { a.code = "CONFLICT" })}, false},
		{"two are the first to confirm", []exchange{create, setUp, confirm, confirm}, false},
		{"no confirm is the first", []exchange{create, setUp, confirm.but(isAgain)}, false},
		{"a confirm has another agreement", []exchange{create, setUp, confirm, confirm.but(isAgain).but(other(factAgreement))}, false},
		{"a confirm has another number", []exchange{create, setUp, confirm.lose(), confirm.but(isAgain),
			confirm.but(isAgain).but(other(factNumber))}, false},
		{"a confirm has no agreement", []exchange{create, setUp, confirm.but(func(a *response) { a.facts[factAgreement] = "" })}, false},
		{"a confirm is lost", []exchange{create, setUp, confirm, get.but(isSetUp)}, false},
		{"a confirm was seen and is lost", []exchange{create, setUp, confirm.lose(), get.but(isConfirmed), get.but(isSetUp)}, false},
		{"a confirmed order has a setup pair", []exchange{create, setUp, confirm, replay.but(func(a *response) { a.setUp, a.confirmed = true, true })}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := checkHistory(oneByOne(tt.history)) == porcupine.Ok; got != tt.allowed {
				t.Errorf("allowed is %v, want %v", got, tt.allowed)
			}
		})
	}
}

// Concurrent requests may take effect in either order, but a request that was answered comes before a request that
// is sent afterwards.
func TestModelKnowsWhatCameFirst(t *testing.T) {
	get := func(call, end int64, confirmed bool) porcupine.Operation {
		return porcupine.Operation{Input: request{verb: toGet}, Call: call, Return: end,
			Output: response{status: http.StatusOK, setUp: true, confirmed: confirmed}}
	}
	history := []porcupine.Operation{
		{Input: request{toCreate, "weekly"}, Output: response{status: http.StatusCreated, first: true}, Call: 0, Return: 1},
		{Input: request{verb: toSetUp}, Output: response{status: http.StatusOK}, Call: 2, Return: 3},
		{Input: request{verb: toConfirm}, Call: 4, Return: 20, Output: response{status: http.StatusOK, first: true, setUp: true,
			confirmed: true, facts: facts{factAgreement: "agreement", factNumber: "PPA-2027-1"}}},
		get(5, 12, true), get(6, 10, false),
	}
	if checkHistory(history) != porcupine.Ok {
		t.Error("two gets during the confirm may see it or not, and are refused")
	}
	if checkHistory(append(history, get(13, 14, false))) == porcupine.Ok {
		t.Error("a get saw the confirm, and one that began later did not; that is allowed")
	}
}

// The result for a simplified history is the same as for the whole one, allowed or not.
func TestSimplifiedHistoryHasTheSameVerdict(t *testing.T) {
	create, replay, conflict, get, early, setUp, confirm := orderExchanges()
	all := []exchange{create, replay, conflict, get, early, setUp, setUp, get.but(isSetUp), setUp, confirm,
		confirm.but(isAgain), get.but(isConfirmed), replay.but(isConfirmed), conflict}
	rng := workload.NewRand(t)
	verdicts := make(map[bool]int)
	for range 2000 {
		var history []porcupine.Operation
		for range 10 {
			at := rng.IntN(len(all))
			d, call := all[at], int64(10*at+rng.IntN(20))
			op := porcupine.Operation{Call: call, Return: call + 1 + rng.Int64N(60)}
			if d.verb != toGet && rng.IntN(4) == 0 {
				d, op.Return = d.lose(), endOfTime
			}
			op.Input, op.Output = d.request, d.response
			history = append(history, op)
		}
		want := porcupine.CheckOperations(orderModel(), history)
		if got := checkHistory(history) == porcupine.Ok; got != want {
			t.Fatalf("allowed is %v, want %v of\n%s", got, want, formatHistory(history))
		}
		verdicts[want]++
	}
	t.Logf("%d histories were allowed, %d were not", verdicts[true], verdicts[false])
	if verdicts[true] < 100 || verdicts[false] < 100 {
		t.Error("void: there were not enough of either")
	}
}
