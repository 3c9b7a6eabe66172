package cluster_test

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

// question is what a client asks of one order.
type question struct {
	verb   verb
	intent string // of a create
}

type verb string

const (
	toCreate  verb = "create"
	toGet     verb = "get"
	toSetUp   verb = "set up" // the payer's way through the pages
	toConfirm verb = "confirm"
)

// told is the answer. A lost one never came, or was a 5xx: what was asked may have been done, or may
// still be, or never will.
type told struct {
	lost bool

	status           int
	code             string // of a refusal
	first            bool   // not a replay, not confirmed already
	setUp, confirmed bool
	facts            facts // those that this answer has
}

// facts are what never changes once an answer had it.
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

// standing is all that the contract lets anybody know of one order. The facts of a commit whose answer was
// lost are empty until the next answer tells them.
type standing struct {
	exists, setUp, confirmed bool
	intent                   string
	facts                    facts
}

// after returns the state of an order after a question, and whether the question may have had this answer in the
// state before.
//
// A process believes the processor for 2 seconds after it asked, so that a get may show for so long that the setup is
// not complete: a setup has its effect within 2 seconds of its end. Once an answer shows it none forgets it.
func (s standing) after(q question, a told) (next standing, allowed bool) {
	was := s
	switch {
	case a.lost:
		return s.afterLost(q), true
	case q.verb == toCreate && a.status == http.StatusCreated:
		s = standing{exists: true, intent: q.intent}
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

// afterLost returns how the order stands if the question has its effect now. One that never has it is the same
// as one that has it after everything else.
func (s standing) afterLost(q question) standing {
	switch {
	case q.verb == toCreate && !s.exists:
		return standing{exists: true, intent: q.intent}
	case q.verb == toSetUp && s.exists:
		s.setUp = true
	case q.verb == toConfirm && s.setUp:
		s.confirmed = true
	}
	return s
}

// agrees reports whether an answer fits the state of the order, and adds the facts that no answer had before.
func (s *standing) agrees(a told) bool {
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

// modelOfAnOrder is the sequential model of one order: a history of concurrent requests is allowed if some order of
// them, one after the other, fits the model.
func modelOfAnOrder() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return standing{} },
		Step: func(state, input, output any) (bool, any) {
			next, allowed := state.(standing).after(input.(question), output.(told))
			return allowed, next
		},
	}
}

// deed is a question with its answer.
type deed struct {
	question
	told
}

func deedOf(op porcupine.Operation) deed { return deed{op.Input.(question), op.Output.(told)} }

// endOfTime is when a deed ends whose answer was lost.
const endOfTime = math.MaxInt64

// verdictOn reports whether a history of one order is linearizable. It searches for a minute at most.
func verdictOn(history []porcupine.Operation) porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(modelOfAnOrder(), distil(history), time.Minute)
}

// distil leaves out of a history what cannot change the verdict, and would have the search for it try
// every order of deeds that are all the same:
//
//   - A deed that changes nothing, if the same was asked and told within its time: wherever that one has
//     its place, this one may follow at once.
//   - Of lost deeds that ask the same, all but the earliest: what one does at any time, the earliest may do then.
//   - Every lost create where somebody was told to be the first, for then none of them was; so with confirms.
func distil(history []porcupine.Operation) (kept []porcupine.Operation) {
	latestFirst := slices.SortedFunc(slices.Values(history), func(a, b porcupine.Operation) int {
		return cmp.Or(cmp.Compare(b.Call, a.Call), cmp.Compare(a.Return, b.Return))
	})
	claimed := make(map[verb]bool) // that somebody was the first
	lost := make(map[question]porcupine.Operation)
	ended := make(map[deed]int64) // when the first of those ended that were begun later
	for _, op := range latestFirst {
		d := deedOf(op)
		end, known := ended[d]
		switch {
		case d.lost:
			lost[d.question] = op
		case d.first, d.verb == toSetUp:
			claimed[d.verb] = claimed[d.verb] || d.first
			kept = append(kept, op)
		case !known || op.Return < end:
			ended[d] = op.Return
			kept = append(kept, op)
		}
	}
	for q, op := range lost {
		if !claimed[q.verb] {
			kept = append(kept, op)
		}
	}
	return kept
}

// tale prints a history in the order of its questions.
func tale(history []porcupine.Operation) string {
	earliestFirst := slices.SortedFunc(slices.Values(history), func(a, b porcupine.Operation) int {
		return cmp.Compare(a.Call, b.Call)
	})
	var text strings.Builder
	for _, op := range earliestFirst {
		fmt.Fprintf(&text, "%12v to %12v  %+v -> %+v\n", time.Duration(op.Call), time.Duration(op.Return), op.Input, op.Output)
	}
	return text.String()
}
