package hostedpages

import "github.com/provider-checkout/provider-checkout/checkout"

// notice is what a payer reads before anything else.
type notice struct {
	Title, Text string
	Failure     bool // something went wrong
	Ask         bool // the provider, if it happens again
	Look        bool // the same page a little later
}

const (
	nothingDone = " Nothing is set up, and nothing was collected."
	setUpAgain  = " Please set it up again; nothing was collected under it."
	noLonger    = "Your earlier bank setup is no longer valid."
)

// notices says what became of a payer's last try, and what to do now.
var notices = map[checkout.LastTry]notice{
	checkout.TryUnfinished: {Title: "Your bank setup is not finished",
		Text: "You have not finished giving your bank details." + nothingDone + " You can go on whenever you are ready."},
	checkout.TryUnknown: {Title: "We cannot see whether your bank setup is finished",
		Text: "The payment processor does not answer at the moment. If you have given your bank details, wait a minute and look again.",
		Look: true},
	checkout.TryNotServed: {Title: "The bank page cannot be used where you are",
		Text: "The payment processor does not serve the place that your connection seems to come from." + nothingDone +
			" Try again tomorrow from New Zealand, without a VPN.", Failure: true, Ask: true},
	checkout.TryFailed: {Title: "The bank setup did not work",
		Text:    "The payment processor could not set up the direct debit." + nothingDone + " Check your bank details and try again, or use another account.",
		Failure: true, Ask: true},
	checkout.TryCancelled: {Title: "The bank setup was cancelled",
		Text: "It was not finished." + nothingDone + " You can start it again whenever you are ready."},
	checkout.TryMandateFailed: {Title: "The bank setup failed",
		Text: noLonger + " Your bank or the payment processor did not accept it. Check that the account takes direct debits, " +
			"or use another one." + setUpAgain, Failure: true, Ask: true},
	checkout.TryMandateCancelled: {Title: "The direct debit was cancelled", Text: noLonger + setUpAgain},
	checkout.TryMandateBlocked: {Title: "The direct debit was stopped",
		Text:    noLonger + " The payment processor does not accept it. Use another account." + setUpAgain,
		Failure: true, Ask: true},
	checkout.TryMandateExpired: {Title: "The direct debit has ended", Text: noLonger + setUpAgain},
}
