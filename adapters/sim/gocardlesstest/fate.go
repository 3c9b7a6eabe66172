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

// fates has the fates of account holders and family names.
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
}

// fateOf returns the fate of an account and its owner's family name.
func fateOf(a *bankAccount, familyName string) fate {
	for _, name := range []string{a.holder, familyName} {
		if f, ok := fates[strings.ToUpper(name)]; ok {
			return f
		}
	}
	switch f := a.number.Fate(); {
	case f.SetupFails:
		return fate{setup: setupFails}
	case f.Mandate != "":
		return fate{moves: []move{{string(f.Mandate), f.Reason}}}
	}
	return fate{}
}
