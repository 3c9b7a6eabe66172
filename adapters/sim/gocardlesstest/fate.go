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

// namedFates has the fates of account holders and family names.
var namedFates = map[string]fate{
	"MANDATE FAILS":     {moves: []move{{action: "failed", reason: "NEGATIVE_ACKNOWLEDGEMENT-AC05"}}},
	"MANDATE CANCELLED": {moves: []move{{action: "cancelled", reason: "DISHONOUR-AG01"}}},
	"MANDATE BLOCKED":   {moves: []move{{action: "blocked"}}},
	"MANDATE EXPIRED":   {moves: []move{{action: "expired"}}},
	"MANDATE ACTIVE":    {moves: []move{{action: "submitted"}, {action: "active"}}},
	"MANDATE REPLACED":  {moves: []move{{action: "replaced"}}},
	"MANDATE RETURNS":   {moves: []move{{action: "cancelled", reason: "DISHONOUR-AG01"}, {action: "reinstated"}}},
	"MANDATE LATE":      {setup: setupLate},
	"SETUP CANCELLED":   {setup: setupCancelled},
	"SETUP FAILS":       {setup: setupFails},
	"SETUP HANGS":       {setup: setupHangs},
	"SETUP WAITS":       {setup: setupWaits},
}

// blockedName is the family name of payers who are where GoCardless does not serve.
const blockedName = "GEO BLOCKED"

// fatefulAccount is the account whose suffix is its fate.
const fatefulAccount = "01-0902-0068389"

// accountFates has the fates of fatefulAccount by its suffix.
var accountFates = map[string]move{
	"01": {action: "failed", reason: "NEGATIVE_ACKNOWLEDGEMENT-AC05"},
	"02": {action: "failed", reason: "DISHONOUR-AC05"},
	"03": {action: "failed", reason: "DISHONOUR-AC03"},
	"04": {action: "cancelled", reason: "DISHONOUR-AC04"},
	"05": {action: "cancelled", reason: "DISHONOUR-AC05"},
	"06": {action: "cancelled", reason: "DISHONOUR-AG01"},
	"07": {action: "cancelled", reason: "DISHONOUR-BE05"},
	"08": {action: "cancelled", reason: "DISHONOUR-AM04"},
	"09": {action: "cancelled", reason: "DISHONOUR-MS01"},
	"10": {action: "blocked"},
	"11": {action: "expired"},
}

// fateOf returns the fate of an account and its owner's family name.
func fateOf(a *bankAccount, familyName string) fate {
	for _, name := range []string{a.holder, familyName} {
		if f, ok := namedFates[strings.ToUpper(name)]; ok {
			return f
		}
	}
	n := a.number
	if n.Bank+"-"+n.Branch+"-"+n.Base != fatefulAccount {
		return fate{}
	}
	suffix := n.Suffix[len(n.Suffix)-2:]
	if m, ok := accountFates[suffix]; ok {
		return fate{moves: []move{m}}
	}
	return fate{}
}
