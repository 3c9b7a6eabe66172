package checkout

import (
	"errors"
	"time"
)

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
	sent, payer := q.sent(), q.Actor == ActorPayer
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
	n := c.linkNotice(q, sent)
	return Change{At: q.Now, Next: c, Jobs: []Job{n}, Moments: []Moment{{ID: "link " + n.ID, At: q.Now, Kind: MomentLinkRenewed,
		Actor: q.Actor, RequestID: q.RequestID, Detail: "by e-mail"}}}, nil
}

// sent returns the notices with a link that were asked for before, the newest first.
func (q LinkRequest) sent() (links []Job) {
	for _, n := range q.Notices {
		if NoticeKind(n.Job.Name) == NoticeOfLink {
			links = append(links, n.Job)
		}
	}
	return links
}

// linkNotice returns the job to send a link. Its id follows from the notice before, so that two requests at once send one.
func (c Checkout) linkNotice(q LinkRequest, sent []Job) Job {
	n, before := c.notice(NoticeOfLink, q.RequestID, q.Now), ""
	if len(sent) > 0 {
		before = sent[0].ID
	}
	n.ID = "ntc_" + hash(c.ID, string(NoticeOfLink), before)
	return n
}
