package ports

import (
	"context"
	"time"
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
	Notify(ctx context.Context, n PayerNotice) (Receipt, error)
}

// PayerNotice is a message to one payer. Every attempt has the same text, as long as the checkout does not change.
type PayerNotice struct {
	ID          string    // ntc_…
	At          time.Time // of the event that it tells of
	To          Addressee
	ReplyTo     string // the provider's address for questions, or ""
	Subject     string // one line
	Text        string // the whole in plain text, lines separated by "\n"
	HTML        string // the same as a page of HTML that loads nothing
	Attachments []Attachment
}

// Addressee is the student, whose address is the only address on record. The payer may be another person.
type Addressee struct {
	Name  string // in any script
	Email string
}

// Attachment is a file that goes with a notice.
type Attachment struct {
	Name      string // of visible ASCII
	MediaType string
	Bytes     []byte
}

// NoticeRefusal is the definite refusal of a notice: sending it again is of no use.
type NoticeRefusal struct {
	Answer string // as of a Receipt
}

func (e *NoticeRefusal) Error() string { return "the notice is refused: " + e.Answer }
