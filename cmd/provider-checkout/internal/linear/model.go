// Package linear records what clients were told about a few orders that many of them share, and judges whether one
// server that handles one request at a time could have told them the same.
package linear

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// request is a client's request about one order.
type request struct {
	verb   verb
	intent string // of a create
}

type verb string

const (
	toCreate  verb = "create"
	toGet     verb = "get"
	toSetUp   verb = "set up" // the payer goes through the pages
	toConfirm verb = "confirm"
)

// response is the response as the client got it. A lost response never arrived, or was a 5xx: the request may have taken
// effect, may take effect later, or never will.
type response struct {
	lost bool

	status           int
	code             string // of a refusal
	first            bool   // not a replay, not confirmed already
	setUp, confirmed bool
	facts            facts // in this response
}

// facts are values that never change once a response contains them.
type facts [7]string

const (
	factCheckout = iota
	factContact
	factOpportunity
	factDDA
	factPair // while there is one: its token, which names the epoch
	factAgreement
	factNumber
)

// orderState is the state of one order as the contract lets a client observe it. The facts of a commit whose response was
// lost are empty until the next response contains them.
type orderState struct {
	exists, setUp, confirmed bool
	intent                   string
	facts                    facts
}

// after returns the state of an order after a request, and whether this response is allowed in the state before
// it.
//
// A process caches the processor's answer for 2 seconds, during which a get may still report that the setup is not
// complete. So a setup takes effect within 2 seconds of its end, and once a response reports it all later ones do.
func (s orderState) after(q request, a response) (next orderState, allowed bool) {
	was := s
	switch {
	case a.lost:
		return s.afterLost(q), true
	case q.verb == toCreate && a.status == http.StatusCreated:
		s = orderState{exists: true, intent: q.intent}
		allowed = !was.exists && a.first
	case q.verb == toCreate && a.status == http.StatusOK:
		shows := a.facts[factPair] != ""
		allowed = s.exists && q.intent == s.intent && !a.first && shows != s.confirmed
	case q.verb == toGet && a.status == http.StatusOK:
		allowed = s.exists
	case q.verb == toConfirm && a.status == http.StatusOK:
		s.confirmed = true
		allowed = s.setUp && a.first != was.confirmed && a.facts[factAgreement] != "" && a.facts[factNumber] != ""
	case q.verb == toSetUp && a.status == http.StatusOK:
		s.setUp = true
		return s, s.exists
	case q.verb == toCreate && a.status == http.StatusConflict:
		return s, s.exists && q.intent != s.intent && a.code == "IDEMPOTENCY_CONFLICT"
	case q.verb == toConfirm && a.status == http.StatusConflict:
		return s, s.exists && !s.setUp && a.code == "DIRECT_DEBIT_SETUP_INCOMPLETE"
	}
	return s, allowed && s.agrees(a)
}

// afterLost returns the state of the order if the request takes effect now. A request that never takes effect is
// the same as a request that takes effect after everything else.
func (s orderState) afterLost(q request) orderState {
	switch {
	case q.verb == toCreate && !s.exists:
		return orderState{exists: true, intent: q.intent}
	case q.verb == toSetUp && s.exists:
		s.setUp = true
	case q.verb == toConfirm && s.setUp:
		s.confirmed = true
	}
	return s
}

// agrees reports whether a response fits the state of the order, and adds the facts that no earlier response had.
func (s *orderState) agrees(a response) bool {
	for i, fact := range a.facts {
		if s.facts[i] == "" {
			s.facts[i] = fact
		}
		if fact != "" && fact != s.facts[i] {
			return false
		}
	}
	return a.setUp == s.setUp && a.confirmed == s.confirmed
}

// orderModel is the sequential model of one order: a history of concurrent requests is allowed if they fit the
// model in some sequential order.
func orderModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return orderState{} },
		Step: func(state, input, output any) (bool, any) {
			next, allowed := state.(orderState).after(input.(request), output.(response))
			return allowed, next
		},
	}
}

// exchange is a request and its response.
type exchange struct {
	request
	response
}

func exchangeOf(op porcupine.Operation) exchange {
	return exchange{op.Input.(request), op.Output.(response)}
}

// endOfTime is when an exchange whose response was lost ends.
const endOfTime = math.MaxInt64

// checkHistory checks whether a history of one order is linearizable. It searches for at most a minute.
func checkHistory(history []porcupine.Operation) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(orderModel(), simplify(history), time.Minute)
}

// simplify removes exchanges that cannot change the result. A lost one is open until the end of time, and a setup for seconds, so
// porcupine would try every subset of them at every point of the history:
//
//   - Of lost exchanges with the same request, all but the earliest, which may take effect whenever another could.
//   - Every lost create if a client got the response to the first create, because then no lost one was the first.
//     The same holds for confirms.
//   - Of setups all but one, which takes effect after the first of them was called and before any of them ends. The others
//     come after it, and change nothing.
func simplify(history []porcupine.Operation) (kept []porcupine.Operation) {
	claimed := make(map[verb]bool) // a client got the response to the first
	lost := make(map[request]porcupine.Operation)
	var setUp *porcupine.Operation
	for _, op := range history {
		d := exchangeOf(op)
		if d.verb == toSetUp {
			if setUp == nil {
				setUp = &op
			}
			setUp.Call = min(setUp.Call, op.Call)
			if op.Return < setUp.Return {
				setUp.Return, setUp.Output = op.Return, op.Output
			}
		} else if !d.lost {
			claimed[d.verb] = claimed[d.verb] || d.first
			kept = append(kept, op)
		} else if earlier, known := lost[d.request]; !known || op.Call < earlier.Call {
			lost[d.request] = op
		}
	}
	for q, op := range lost {
		if !claimed[q.verb] {
			kept = append(kept, op)
		}
	}
	if setUp != nil {
		kept = append(kept, *setUp)
	}
	return kept
}

// formatHistory formats a history in the order of its requests.
func formatHistory(history []porcupine.Operation) string {
	earliestFirst := slices.SortedFunc(slices.Values(history), func(a, b porcupine.Operation) int {
		return cmp.Compare(a.Call, b.Call)
	})
	var text strings.Builder
	for _, op := range earliestFirst {
		fmt.Fprintf(&text, "%12v to %12v  %+v -> %+v\n", time.Duration(op.Call), time.Duration(op.Return), op.Input, op.Output)
	}
	return text.String()
}
