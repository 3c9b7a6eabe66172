package bankaccount

import "github.com/provider-checkout/provider-checkout/checkout"

// Fate is the end of what is set up on an account for tests.
type Fate struct {
	SetupFails bool                   // there is no mandate
	Mandate    checkout.MandateStatus // a minute after the setup; "" for an account without a fate
	Reason     string                 // the scheme's code, or ""
}

// fates has the fates of the suffixes of Example's account.
var fates = map[string]Fate{
	"01": {Mandate: checkout.MandateFailed, Reason: "NEGATIVE_ACKNOWLEDGEMENT-AC05"},
	"02": {Mandate: checkout.MandateFailed, Reason: "DISHONOUR-AC05"},
	"03": {Mandate: checkout.MandateFailed, Reason: "DISHONOUR-AC03"},
	"04": {Mandate: checkout.MandateCancelled, Reason: "DISHONOUR-AC04"},
	"05": {Mandate: checkout.MandateCancelled, Reason: "DISHONOUR-AC05"},
	"06": {Mandate: checkout.MandateCancelled, Reason: "DISHONOUR-AG01"},
	"07": {Mandate: checkout.MandateCancelled, Reason: "DISHONOUR-BE05"},
	"08": {Mandate: checkout.MandateCancelled, Reason: "DISHONOUR-AM04"},
	"09": {Mandate: checkout.MandateCancelled, Reason: "DISHONOUR-MS01"},
	"10": {Mandate: checkout.MandateBlocked},
	"11": {Mandate: checkout.MandateExpired},
	"12": {SetupFails: true},
}

// Fate returns the fate of an account. Of a suffix of three digits the last two count.
func (n Number) Fate() Fate {
	if example, _ := Parse(Example); n.Bank != example.Bank || n.Branch != example.Branch || n.Base != example.Base {
		return Fate{}
	}
	return fates[n.Suffix[len(n.Suffix)-2:]]
}
