package ports

import (
	"context"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// PayerNotifier notifies payers of what they have set up and agreed: by e-mail, say. It may be called concurrently.
//
// A notice is sent at least once. After an attempt whose outcome is unknown, or could not be stored, the same notice comes
// again. The message must carry its ID, as the Message-ID of an e-mail does, so that copies can be recognised.
type PayerNotifier interface {
	// Notify makes one attempt, and returns nil once another system has taken the notice over and answers for its delivery. It
	// returns when ctx ends at the latest. A *NoticeRefusal says that the same notice would be refused again. ErrBusy says
	// that no notice can be sent now, because the other system cannot be reached, say: nothing was sent, and it was no attempt.
	// After any other error it is attempted later, a bounded number of times. Neither errors nor receipts repeat the address, a
	// name or a credential: both are logged, and kept on record for longer than personal data.
	Notify(ctx context.Context, n checkout.PayerNotice) (checkout.Receipt, error)
}
