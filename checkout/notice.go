package checkout

import (
	"errors"
	"slices"
	"strconv"
	"time"
)

// NoticeKind is the subject of a notice to the payer: the Name of its job.
type NoticeKind string

const (
	NoticeOfSetup     NoticeKind = "setup"     // the direct debit is set up
	NoticeOfAgreement NoticeKind = "agreement" // the agreement is concluded: its figures, and the dates and amounts of the payments
	NoticeOfLink      NoticeKind = "link"      // a new link to the setup page, for which the payer or an operator asked

	NoticeOfMandateEnd NoticeKind = "mandate_ended" // no payment can be taken under the agreement's mandate any more

	NoticeOfCancel     NoticeKind = "cancelled" // the checkout for which bank details were given is cancelled
	NoticeOfWithdrawal NoticeKind = "withdrawn" // the agreement is withdrawn, and its direct debit cancelled
)

// notice returns the job to send the payer a notice about the checkout, which follows from a request or, where that is "", from what
// the processor said. Its id, ntc_…, follows from the checkout, the kind
// and the try, so that nothing is sent twice. The job has no personal data: the address and the words are read from the
// checkout when the notice is sent.
func (c Checkout) notice(kind NoticeKind, requestID string, at time.Time) Job {
	return Job{ID: "ntc_" + hash(c.ID, string(kind), strconv.Itoa(c.Setup.Try)), Kind: JobNotify, ProviderCode: c.ProviderCode,
		CheckoutID: c.ID, RequestID: requestID, Name: string(kind), Try: c.Setup.Try, CreatedAt: at}
}

// NoticeNeeded reports whether the notice of a job should still be sent. Once the personal data is erased, no notice is. After an
// end, only the notice of that end is. Otherwise it is dropped if its setup failed or was tried again, if the notice of the
// agreement covers it, if the mandate is valid again, or if it has a link and the setup is complete.
func (c Checkout) NoticeNeeded(j Job) bool {
	switch {
	case c.Erased():
		return false
	case c.Ended():
		return j.Name == string(NoticeOfCancel) || j.Name == string(NoticeOfWithdrawal)
	case NoticeKind(j.Name) == NoticeOfSetup:
		return c.Setup.Try == j.Try && c.Setup.complete() && c.Status != Confirmed
	case NoticeKind(j.Name) == NoticeOfMandateEnd:
		return c.Status == Confirmed && c.Setup.Mandate.Dead()
	case NoticeKind(j.Name) == NoticeOfLink:
		return !c.SetupComplete() && !c.Setup.Settling()
	}
	return c.Status == Confirmed
}

// noticePauses are the pauses between attempts to send a notice, 24 hours in all: an address may be greylisted for minutes, and a
// mailbox full for hours.
var noticePauses = [...]time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, 39 * time.Minute, 2 * time.Hour, 3 * time.Hour,
	6 * time.Hour, 12 * time.Hour}

// NoticePause returns the pause before the next attempt to send a notice, after the attempt with this number, from 1, has
// failed; false if that was the last.
func NoticePause(attempt int) (pause time.Duration, again bool) {
	if attempt < 1 || attempt > len(noticePauses) {
		return 0, false
	}
	return noticePauses[attempt-1], true
}

// PayerNotice is a message to one payer. Every attempt has the same text, as long as neither the checkout changes nor, before the
// confirm, the days on which its payments are planned.
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

// Addressee is the student, whose address is the only address on record, for the payer may be another person.
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
	Answer string // the other system's words
}

func (e *NoticeRefusal) Error() string { return "the notice is refused: " + e.Answer }

// Limits of the links that are sent to one payer by e-mail.
const (
	linkPause   = 10 * time.Minute
	linksPerDay = 5
	// RecentNotices is the number of a checkout's latest notices that are searched for earlier links.
	RecentNotices = 50
)

// LinkRequest is the request of a payer, whose link has expired, or of an operator for a new link by e-mail.
type LinkRequest struct {
	RequestID string
	Actor     Actor
	Epoch     int // of the payer's expired token
	Now       time.Time
	Lifetime  time.Duration // of a new token
	Notices   []JobRecord   // the latest notices of the checkout, the newest first
}

var (
	// ErrNoLink: there is nothing to set up, or the payer's link still opens.
	ErrNoLink = errors.New("there is nothing to set up: no link is needed")
	// ErrLinkSent: a link was sent just now, or too often to this payer.
	ErrLinkSent = errors.New("a link was sent less than ten minutes ago")
)

// MailLink returns the checkout with a token for the payer, and the notice that carries it to the address on record. The token
// that was sent before is sent again while it is fresh. A confirm still carries the provider's token. The errors are ErrNoLink and
// ErrLinkSent.
func (c Checkout) MailLink(r Keyring, q LinkRequest) (Change, error) {
	payer := q.Actor == ActorPayer
	sent := slices.DeleteFunc(slices.Clone(q.Notices), func(r JobRecord) bool { return NoticeKind(r.Name) != NoticeOfLink })
	switch {
	case c.Status != SetupRequired, c.Erased(), c.SetupComplete(), c.Setup.Settling(), payer && !c.TokenExpired(q.Epoch, q.Now):
		return unchanged(c), ErrNoLink
	case len(sent) > 0 && q.Now.Sub(sent[0].CreatedAt) < linkPause,
		payer && len(sent) >= linksPerDay && q.Now.Sub(sent[linksPerDay-1].CreatedAt) < 24*time.Hour:
		return unchanged(c), ErrLinkSent
	}
	mailed := c.latest(true)
	if _, known := r.find(mailed.KID); !known || mailed.Expires.Sub(q.Now) < minTokenLife {
		next := r.Issue(c.Newest().Epoch+1, q.Now.Add(q.Lifetime))
		next.Mailed = true
		c.Tokens = c.withToken(next, q.Now)
	}
	n, before := c.notice(NoticeOfLink, q.RequestID, q.Now), ""
	if len(sent) > 0 {
		before = sent[0].ID
	}
	n.ID = "ntc_" + hash(c.ID, n.Name, before) // two requests at once send one
	return Change{At: q.Now, Next: c, Jobs: []Job{n}, Moments: []Moment{{ID: "link " + n.ID, At: q.Now, Kind: MomentLinkRenewed,
		Actor: q.Actor, RequestID: q.RequestID, Detail: "by e-mail"}}}, nil
}
