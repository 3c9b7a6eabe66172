package gocardlesstest

import (
	"strings"
	"time"
)

// fateAfter is the time between the mandate, or the fulfilled billing request, and what its fate has in store.
const fateAfter = time.Minute

// How the setup of a billing request ends.
const (
	setupWaits     = "waits"     // it stays ready_to_fulfil
	setupHangs     = "hangs"     // it stays fulfilling
	setupCancelled = "cancelled" // it is cancelled after the payer confirmed
	setupFails     = "fails"     // the same, with an event that says that it failed
	setupLate      = "late"      // it is fulfilled a minute before there is a mandate
)

// fate is the course of a billing request and its mandate after the payer confirmed. The zero fate is a mandate that
// stays pending_submission.
type fate struct {
	setup string
	moves []move // a minute between them
}

// move is one change of a mandate.
type move struct {
	action string // of the event
	reason string // a scheme's code, or ""
}

// blockedName is the family name of payers who are where GoCardless does not serve.
const blockedName = "GEO BLOCKED"

// fatefulAccount is the account whose suffix is its fate.
const fatefulAccount = "01-0902-0068389"

// fates has the fates of account holders and family names, and of accounts.
var fates = map[string]fate{
	"MANDATE FAILS":     {moves: []move{{"failed", "NEGATIVE_ACKNOWLEDGEMENT-AC05"}}},
	"MANDATE CANCELLED": {moves: []move{{"cancelled", "DISHONOUR-AG01"}}},
	"MANDATE BLOCKED":   {moves: []move{{"blocked", ""}}},
	"MANDATE EXPIRED":   {moves: []move{{"expired", ""}}},
	"MANDATE ACTIVE":    {moves: []move{{"submitted", ""}, {"active", ""}}},
	"MANDATE REPLACED":  {moves: []move{{"replaced", ""}}},
	"MANDATE RETURNS":   {moves: []move{{"cancelled", "DISHONOUR-AG01"}, {"reinstated", ""}}},
	"MANDATE LATE":      {setup: setupLate},
	"SETUP CANCELLED":   {setup: setupCancelled},
	"SETUP FAILS":       {setup: setupFails},
	"SETUP HANGS":       {setup: setupHangs},
	"SETUP WAITS":       {setup: setupWaits},

	fatefulAccount + "-01": {moves: []move{{"failed", "NEGATIVE_ACKNOWLEDGEMENT-AC05"}}},
	fatefulAccount + "-02": {moves: []move{{"failed", "DISHONOUR-AC05"}}},
	fatefulAccount + "-03": {moves: []move{{"failed", "DISHONOUR-AC03"}}},
	fatefulAccount + "-04": {moves: []move{{"cancelled", "DISHONOUR-AC04"}}},
	fatefulAccount + "-05": {moves: []move{{"cancelled", "DISHONOUR-AC05"}}},
	fatefulAccount + "-06": {moves: []move{{"cancelled", "DISHONOUR-AG01"}}},
	fatefulAccount + "-07": {moves: []move{{"cancelled", "DISHONOUR-BE05"}}},
	fatefulAccount + "-08": {moves: []move{{"cancelled", "DISHONOUR-AM04"}}},
	fatefulAccount + "-09": {moves: []move{{"cancelled", "DISHONOUR-MS01"}}},
	fatefulAccount + "-10": {moves: []move{{"blocked", ""}}},
	fatefulAccount + "-11": {moves: []move{{"expired", ""}}},
}

// fateOf returns the fate of an account and its owner's family name. Of a suffix of three digits the last two count.
func fateOf(a *bankAccount, familyName string) fate {
	n := a.number
	n.Suffix = n.Suffix[len(n.Suffix)-2:]
	for _, name := range []string{a.holder, familyName, written(n)} {
		if f, ok := fates[strings.ToUpper(name)]; ok {
			return f
		}
	}
	return fate{}
}
