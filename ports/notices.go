package ports

import (
	"context"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// PayerNotifier notifies payers of what they have set up and agreed: by e-mail, say. It may be called concurrently.
//
// A notice is sent at least once. After an attempt whose outcome is unknown, or could not be stored, the same notice comes
// again, with the same ID: what is sent must carry that, as the Message-ID of an e-mail does, so that two copies are known for
// one.
type PayerNotifier interface {
	// Notify makes one attempt, and returns nil once another system has taken the notice over and answers for its delivery. It
	// returns when ctx ends at the latest. A *NoticeRefusal says that the same notice would be refused again. With ErrBusy no notice
	// can be sent now, because the other system cannot be reached, say: this one was not, and it was no attempt. After any other
	// error it is attempted later, a bounded number of times. Neither errors nor receipts repeat the address, a name or a credential, for both are kept on
	// record for longer than those, and are logged.
	Notify(ctx context.Context, n PayerNotice) (Receipt, error)
}

// PayerNotice is what one payer is told. Every attempt has the same text, as long as the checkout does not change.
type PayerNotice struct {
	ID          string    // ntc_…
	At          time.Time // when what it is about happened
	To          Addressee
	ReplyTo     string // the provider's address for questions; "" if there is none
	Subject     string // one line
	Text        string // the whole in plain text, lines separated by "\n"
	HTML        string // the same as a page of HTML that loads nothing
	Attachments []Attachment
}

// Addressee is to whom a notice goes: the student, whose address is the only one on record. Who pays may be another.
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

// Receipt is the proof that a notice was taken over.
type Receipt struct {
	Reference string // under which the other system knows it: the Message-ID of an e-mail
	Answer    string // what that said: "250 2.0.0 queued as 4F1A"
}

// NoticeRefusal is a definite no to a notice: sending it again is of no use.
type NoticeRefusal struct {
	Answer string // as of a Receipt
}

func (e *NoticeRefusal) Error() string { return "the notice is refused: " + e.Answer }

// Notices leases notices to those who send them. They enter the store with a Change, due from when they were made, at epoch
// 0. An attempt leases its notice first; the epoch is the fencing token, which rises with every lease.
type Notices interface {
	// DueNotices returns at most limit pending notices that are due at a time, those that have been due for longest first; of
	// one time, in the order in which they were stored.
	DueNotices(ctx context.Context, now time.Time, limit int) ([]DueNotice, error)

	// LeaseNotice leases a pending notice to the caller until the given time, if its epoch still is the given one, and returns
	// the new epoch. ErrNotFound if the epoch is another or the notice is no longer pending.
	LeaseNotice(ctx context.Context, id string, epoch int64, until time.Time) (int64, error)

	// SettleNotice records what the attempt of the holder of the lease with this epoch came to. ErrNotFound if the epoch is
	// another or the notice is no longer pending; nothing changes then.
	SettleNotice(ctx context.Context, id string, epoch int64, o NoticeOutcome) error

	// NoticeBacklog returns how many notices are pending, leased or not, and when the oldest of them was made: the zero time if
	// there is none.
	NoticeBacklog(ctx context.Context) (pending int, oldest time.Time, err error)
}

// DueNotice is a notice that is to be sent.
type DueNotice struct {
	Notice   checkout.Notice
	Attempts int // that were made
	Epoch    int64
}

// NoticeOutcome is what an attempt to send a notice came to.
type NoticeOutcome struct {
	Status   checkout.NoticeStatus
	Attempts int       // 1, or 0 where it was none; they add to those on record
	Due      time.Time // of NoticePending: when it is attempted again
	SentAt   time.Time // of NoticeSent, like Receipt
	Receipt  Receipt
	Failure  Failure // of the others; the zero value leaves the one on record
}

// NoticeRecord is a notice and what became of it.
type NoticeRecord struct {
	Notice   checkout.Notice
	Status   checkout.NoticeStatus
	Attempts int
	SentAt   time.Time
	Receipt  Receipt
	Failure  Failure // of the latest attempt that failed
}
