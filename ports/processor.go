package ports

import (
	"context"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Processor is the direct debit payment processor. Its calls may go far away: callers bound them by ctx and make
// them outside any transaction. A payer's setup goes through Begin, the processor's own page, and then Observe: the
// payer's return to ReturnURL is only a hint. A processor that sends notifications has its receiver call
// Service.Notified, and repeats a notification for which that fails.
type Processor interface {
	// Info describes the processor. It never changes.
	Info() checkout.ProcessorInfo

	// Begin makes a billing request, or finds the billing request of the same start.Key, also in concurrent calls, and
	// returns the address at which the payer's browser fulfils it. The address may differ each time; it leads back to the
	// ReturnURL of its own start. Once the payer is done, the key gives the same billing request or an error.
	Begin(ctx context.Context, start checkout.SetupStart) (checkout.BillingRequest, error)

	// Observe returns the processor's state of a setup that was begun: of q.Setup.BillingRequestID, and of its mandate. Before the
	// payer is done the observation has BillingPending, MandateNone and CustomerInProgress; while the processor makes the mandate,
	// a status between BillingPending and BillingFulfilled. Once it has BillingFulfilled, all fields but MandateSince,
	// MandateReason and FirstCharge must be set, or the setup does not count as complete. AccountMask is the account as the
	// processor masks it, with agreement.HiddenDigit for each hidden digit: at most 32 characters, and no digits but bank and
	// branch, the last two of the base and the suffix; or, where bank and branch are hidden, the last four. From then on only
	// Authorisation and the fields of the mandate change. If MandateSince is zero, a mandate never returns to an earlier status,
	// and a dead mandate stays dead. Otherwise the status with the later MandateSince counts, and operators are shown which
	// mandates ended. Authorised comes when money may be collected. A billing request that the processor never made is an error.
	//
	// It is called by polls and by the setup page, at most every two seconds by each for a billing request, before a confirm,
	// and now and then for setups whose outcome is not final. After an error a poll is answered from the record, and a confirm
	// is refused with BUSY.
	Observe(ctx context.Context, q checkout.SetupQuery) (checkout.Observation, error)

	// Cancel ends a setup for good: no payment can be collected by it once Cancel has returned nil, whatever the payer does. Its
	// billing request is cancelled, and its mandate if there is one. It may be called again, and by many processes at once: what
	// has ended is no error. After an error it is called again. If a setup cannot be ended yet, for example because its mandate is
	// being made, Cancel returns an error.
	Cancel(ctx context.Context, q checkout.SetupQuery) error

	// Ready returns nil if the processor can be reached and would take a Begin. It changes nothing there.
	Ready(ctx context.Context) error
}

// AccountChecker is implemented by a processor that knows who debits for an account. The service is not ready while no payment can
// be collected for a provider that may be used, or while that gives too little notice of them.
type AccountChecker interface {
	// CheckAccount returns the party that debits for the account, or the reason why no payment can be collected for it. What the
	// answer leaves empty, the operator's terms say. It is called for each provider once a minute or so, and with every check of
	// readiness: an answer may be a minute old.
	CheckAccount(ctx context.Context, a checkout.Account) (checkout.Creditor, error)
}

// SetupEraser is implemented by a processor whose records of setups are the service's own, and are erased with the checkout.
// The records of an outside processor are erased there.
type SetupEraser interface {
	// EraseSetups removes every record of the billing requests that were begun under these keys (SetupStart.Key), and nothing
	// is recorded of them any more. It may be called again.
	EraseSetups(ctx context.Context, keys []string) error
}
