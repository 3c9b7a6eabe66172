package cluster_test

import (
	"net/http"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

// but returns the deed with another answer.
func (d deed) but(change func(*told)) deed {
	change(&d.told)
	return d
}

// lose returns the deed with its answer lost.
func (d deed) lose() deed {
	d.told = told{lost: true}
	return d
}

// asked returns the deed with another intent.
func (d deed) asked(intent string) deed {
	d.intent = intent
	return d
}

// oneByOne is the history in which each deed is done before the next begins, unless its answer is lost.
func oneByOne(deeds []deed) (history []porcupine.Operation) {
	for i, d := range deeds {
		op := porcupine.Operation{Input: d.question, Output: d.told, Call: int64(2 * i), Return: int64(2*i + 1)}
		if d.lost {
			op.Return = endOfTime
		}
		history = append(history, op)
	}
	return history
}

// deedsOfAnOrder are those from which a history is made up.
func deedsOfAnOrder() (create, replay, conflict, get, early, setUp, confirm deed) {
	all := facts{"KOWHAI-1", "contact", "opportunity", "dda", "pair"}
	agreed := facts{factCheckout: "KOWHAI-1", factAgreement: "agreement", factNumber: "PPA-2027-1"}
	create = deed{question{toCreate, weekly}, told{status: http.StatusCreated, first: true, facts: all}}
	replay = deed{question{toCreate, weekly}, told{status: http.StatusOK, facts: all}}
	conflict = deed{question{toCreate, monthly}, told{status: http.StatusConflict, code: "IDEMPOTENCY_CONFLICT"}}
	get = deed{question{verb: toGet}, told{status: http.StatusOK, facts: facts{factCheckout: "KOWHAI-1", factDDA: "dda"}}}
	early = deed{question{verb: toConfirm}, told{status: http.StatusConflict, code: "DIRECT_DEBIT_SETUP_INCOMPLETE"}}
	setUp = deed{question{verb: toSetUp}, told{status: http.StatusOK}}
	confirm = deed{question{verb: toConfirm},
		told{status: http.StatusOK, first: true, setUp: true, confirmed: true, facts: agreed}}
	return create, replay, conflict, get, early, setUp, confirm
}

const weekly, monthly = "weekly", "monthly"

func isAgain(a *told)     { a.first = false }
func isSetUp(a *told)     { a.setUp = true }
func isConfirmed(a *told) { a.setUp, a.confirmed, a.facts[factPair] = true, true, "" }

// The model that judges a cluster accepts what the contract allows, and nothing that it forbids.
func TestModelOfAnOrder(t *testing.T) {
	create, replay, conflict, get, early, setUp, confirm := deedsOfAnOrder()
	other := func(fact int) func(*told) { return func(a *told) { a.facts[fact] = "other" } }
	failed := func(a *told) { a.status = http.StatusBadRequest }

	for _, tt := range []struct {
		name    string
		history []deed
		allowed bool
	}{
		{"everything once, and again", []deed{create, replay, conflict, get, early, setUp, get.but(isSetUp), replay.but(isSetUp),
			setUp, confirm, confirm.but(isAgain), get.but(isConfirmed), replay.but(isConfirmed), conflict, setUp}, true},
		{"every commit is known by the next answer alone", []deed{create.lose(), replay, setUp.lose(), get.but(isSetUp),
			confirm.lose(), get.but(isConfirmed), confirm.but(isAgain)}, true},
		{"what got no answer was never done", []deed{create.asked(monthly).lose(), create, setUp.lose(), get, early,
			confirm.lose(), setUp, get.but(isSetUp), confirm}, true},
		{"what got no answer is done late", []deed{create, setUp, confirm.lose(), get.but(isSetUp), get.but(isConfirmed)}, true},
		{"of two intents without an answer one wins", []deed{create.lose(), create.asked(monthly).lose(), conflict, replay}, true},

		{"two are the first to create", []deed{create, create}, false},
		{"two intents are the first to create", []deed{create, create.asked(monthly)}, false},
		{"an order is replayed that nobody created", []deed{replay}, false},
		{"an order is seen that nobody created", []deed{get}, false},
		{"a replay has another checkout", []deed{create, replay.but(other(factCheckout))}, false},
		{"a replay has another contact", []deed{create, replay.but(other(factContact))}, false},
		{"a replay has another setup pair", []deed{create, replay.but(other(factPair))}, false},
		{"a replay has no setup pair", []deed{create, replay.but(func(a *told) { a.facts[factPair] = "" })}, false},
		{"two replays of a lost create differ", []deed{create.lose(), replay, replay.but(other(factOpportunity))}, false},
		{"another intent is replayed", []deed{create, replay.asked(monthly)}, false},
		{"both intents win", []deed{create.lose(), create.asked(monthly).lose(), replay, replay.asked(monthly)}, false},
		{"the same intent conflicts", []deed{create, conflict.asked(weekly)}, false},
		{"a create is refused", []deed{create.but(failed)}, false},
		{"a get has another DDA", []deed{create, get.but(other(factDDA))}, false},
		{"the setup is complete though no payer came", []deed{create, get.but(isSetUp)}, false},
		{"the setup is forgotten", []deed{create, setUp, get}, false},
		{"the setup was seen and is forgotten", []deed{create, setUp.lose(), get.but(isSetUp), get}, false},
		{"a confirm comes before the setup", []deed{create, confirm}, false},
		{"a confirm is refused after the setup", []deed{create, setUp, early}, false},
		{"a confirm is refused for another reason", []deed{create, early.but(func(a *told) { a.code = "CONFLICT" })}, false},
		{"two are the first to confirm", []deed{create, setUp, confirm, confirm}, false},
		{"nobody is the first to confirm", []deed{create, setUp, confirm.but(isAgain)}, false},
		{"a confirm has another agreement", []deed{create, setUp, confirm, confirm.but(isAgain).but(other(factAgreement))}, false},
		{"a confirm has another number", []deed{create, setUp, confirm.lose(), confirm.but(isAgain),
			confirm.but(isAgain).but(other(factNumber))}, false},
		{"a confirm has no agreement", []deed{create, setUp, confirm.but(func(a *told) { a.facts[factAgreement] = "" })}, false},
		{"a confirm is lost", []deed{create, setUp, confirm, get.but(isSetUp)}, false},
		{"a confirm was seen and is lost", []deed{create, setUp, confirm.lose(), get.but(isConfirmed), get.but(isSetUp)}, false},
		{"a confirmed order has a setup pair", []deed{create, setUp, confirm, replay.but(func(a *told) { a.setUp, a.confirmed = true, true })}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := verdictOn(oneByOne(tt.history)) == porcupine.Ok; got != tt.allowed {
				t.Errorf("allowed is %v, want %v", got, tt.allowed)
			}
		})
	}
}

// What is done at the same time may be done in either order, but what was answered comes before what
// is asked then.
func TestModelKnowsWhatCameFirst(t *testing.T) {
	get := func(call, end int64, confirmed bool) porcupine.Operation {
		return porcupine.Operation{Input: question{verb: toGet}, Call: call, Return: end,
			Output: told{status: http.StatusOK, setUp: true, confirmed: confirmed}}
	}
	history := []porcupine.Operation{
		{Input: question{toCreate, "weekly"}, Output: told{status: http.StatusCreated, first: true}, Call: 0, Return: 1},
		{Input: question{verb: toSetUp}, Output: told{status: http.StatusOK}, Call: 2, Return: 3},
		{Input: question{verb: toConfirm}, Call: 4, Return: 20, Output: told{status: http.StatusOK, first: true, setUp: true,
			confirmed: true, facts: facts{factAgreement: "agreement", factNumber: "PPA-2027-1"}}},
		get(5, 12, true), get(6, 10, false),
	}
	if verdictOn(history) != porcupine.Ok {
		t.Error("two gets during the confirm may see it or not, and are refused")
	}
	if verdictOn(append(history, get(13, 14, false))) == porcupine.Ok {
		t.Error("a get saw the confirm, and one that began later did not; that is allowed")
	}
}

// Of many histories, which are allowed and which are not, the verdict is the same as on the whole.
func TestDistilledHistoryHasTheSameVerdict(t *testing.T) {
	create, replay, conflict, get, early, setUp, confirm := deedsOfAnOrder()
	story := []deed{create, replay, conflict, get, early, setUp, setUp, get.but(isSetUp), setUp, confirm,
		confirm.but(isAgain), get.but(isConfirmed), replay.but(isConfirmed), conflict}
	rng := workload.NewRand(t)
	verdicts := make(map[bool]int)
	for range 2000 {
		var history []porcupine.Operation
		for range 10 {
			at := rng.IntN(len(story))
			d, call := story[at], int64(10*at+rng.IntN(20))
			op := porcupine.Operation{Call: call, Return: call + 1 + rng.Int64N(60)}
			if d.verb != toGet && rng.IntN(4) == 0 {
				d, op.Return = d.lose(), endOfTime
			}
			op.Input, op.Output = d.question, d.told
			history = append(history, op)
		}
		want := porcupine.CheckOperations(modelOfAnOrder(), history)
		if got := verdictOn(history) == porcupine.Ok; got != want {
			t.Fatalf("allowed is %v, want %v of\n%s", got, want, tale(history))
		}
		verdicts[want]++
	}
	t.Logf("%d histories were allowed, %d were not", verdicts[true], verdicts[false])
	if verdicts[true] < 100 || verdicts[false] < 100 {
		t.Error("void: there were not enough of either")
	}
}
