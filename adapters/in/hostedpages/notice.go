package hostedpages

import "github.com/provider-checkout/provider-checkout/checkout"

// notice is the message at the top of a page, which a payer reads before anything else.
type notice struct {
	Title, Text string
	Failure     bool // something went wrong
	Ask         bool // the provider, if it happens again
	Way         way  // optional
}

type way struct{ Text, To string }

var (
	goOn      = way{"Go on below", "#go-on"} // past the plan, which the payer has seen
	lookAgain = way{"Look again", ""}
)

const (
	nothingDone = "Nothing is set up, and no payment was taken."
	setUpAgain  = " Please set it up again. No payment was taken."
	noLonger    = "Your earlier bank setup is no longer valid."
)

// termsChanged is the notice to a payer who went on from a page that showed other terms.
var termsChanged = notice{Title: "The terms have changed", Text: "The terms, or the dates of the plan, have changed since you " +
	"opened this page. Please read them again, and continue if you accept them. Nothing was set up."}

// notStarted is the notice to a payer who went on while the processor was away. An earlier try may have succeeded.
var notStarted = notice{Title: "We could not start your bank setup", Text: "A service that it needs does not answer at the moment. " +
	"No payment was taken. Wait a minute, then go on below.", Failure: true, Ask: true, Way: goOn}

// notices tells the outcome of a payer's last try, and what to do now.
var notices = map[checkout.LastTry]notice{
	checkout.TryUnfinished: {Title: "Your bank setup is not finished",
		Text: nothingDone + " You can go on whenever you are ready.", Way: goOn},
	checkout.TryBegun: {Title: "You have started your bank setup",
		Text: "If you have given your bank details, this page may need a minute to show it. You can go on in any case: we look first, " +
			"and nothing is set up twice.", Way: goOn},
	checkout.TryUnknown: {Title: "We cannot see whether your bank setup is finished",
		Text: "The payment processor does not answer at the moment. If you have given your bank details, wait a minute and look again.",
		Way:  lookAgain},
	checkout.TryCancelled: {Title: "The bank setup did not go through",
		Text: nothingDone + " You can start it again whenever you are ready.", Ask: true, Way: goOn},
	checkout.TryMandateFailed: {Title: "The bank setup failed",
		Text: noLonger + " Your bank or the payment processor did not accept it. Check that the account takes direct debits, " +
			"or use another one." + setUpAgain, Failure: true, Ask: true, Way: goOn},
	checkout.TryMandateCancelled: {Title: "The direct debit was cancelled", Text: noLonger + setUpAgain, Way: goOn},
	checkout.TryMandateBlocked: {Title: "The direct debit was stopped",
		Text:    noLonger + " The payment processor has stopped it. Please set it up again with another account. No payment was taken.",
		Failure: true, Ask: true, Way: goOn},
	checkout.TryMandateExpired: {Title: "The direct debit has ended", Text: noLonger + setUpAgain, Way: goOn},
}
