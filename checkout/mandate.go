package checkout

import "strings"

// endings has, by the scheme's code of a reason, what the payer reads of a mandate that has ended for it.
var endings = map[string]string{
	"AC03": "The bank says that the account has moved to another bank.",
	"AC04": "The bank says that the account is closed.",
	"AC05": "The bank says that there is no such account.",
	"AG01": "The account holder or the bank has cancelled it.",
	"AM04": "It was cancelled because a payment failed.",
	"BE05": "The bank was told that the account holder did not agree to it.",
	"MS01": "It was cancelled because a payment failed.",
}

// Ending says in a sentence for the payer why the mandate is dead; "" while it lives. The processor's code for the reason ends in
// the code of the scheme, such as DISHONOUR-AC04.
func (o Observation) Ending() string {
	if !o.Mandate.Dead() {
		return ""
	}
	if words, known := endings[o.MandateReason[strings.LastIndexByte(o.MandateReason, '-')+1:]]; known {
		return words
	}
	switch o.Mandate {
	case MandateFailed:
		return "The bank or the payment processor did not accept it."
	case MandateCancelled:
		return "It was cancelled: by the account holder, by the bank or by the payment processor."
	case MandateBlocked:
		return "The payment processor has stopped it."
	}
	return "It has expired."
}
