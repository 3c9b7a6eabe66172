package checkout

import "time"

// Limits of the links that are sent to one payer by e-mail.
const (
	linkPause   = 10 * time.Minute
	linksPerDay = 5
)

// LinkRequest is the request of a payer, whose link has expired, for a new link by e-mail.
type LinkRequest struct {
	RequestID string
	Epoch     int // of the expired token
	Now       time.Time
	Lifetime  time.Duration // of a new token
	Sent      []Job         // the notices with a link that the payer asked for before, the newest first
}

// MailLink returns the checkout with a token for the payer, and the notice that carries it to the address on record. The token
// that was sent before is sent again while it is fresh. Nothing changes where there is nothing to set up, the link still opens, or
// the payer has asked too often. A confirm still carries the provider's token.
func (c Checkout) MailLink(r Keyring, q LinkRequest) Change {
	switch sent := q.Sent; {
	case c.Erased(), c.SetupComplete(), c.Setup.Settling(), !c.TokenExpired(q.Epoch, q.Now):
		return Change{Next: c}
	case len(sent) > 0 && q.Now.Sub(sent[0].CreatedAt) < linkPause,
		len(sent) >= linksPerDay && q.Now.Sub(sent[linksPerDay-1].CreatedAt) < 24*time.Hour:
		return Change{Next: c}
	}
	mailed := c.latest(true)
	if _, known := r.find(mailed.KID); !known || mailed.Expires.Sub(q.Now) < minTokenLife {
		next := r.Issue(c.Newest().Epoch+1, q.Now.Add(q.Lifetime))
		next.Mailed = true
		c.Tokens = c.withToken(next, q.Now)
	}
	n := c.linkNotice(q)
	return Change{Next: c, Jobs: []Job{n}, Moments: []Moment{{At: q.Now, Kind: MomentLinkRenewed, Actor: ActorPayer,
		RequestID: q.RequestID, Detail: "by e-mail", Once: n.ID, Times: 1}}}
}

// linkNotice returns the job to send the link that a payer asks for. Its id follows from the notice before, so that two requests
// at once send one.
func (c Checkout) linkNotice(q LinkRequest) Job {
	n, before := c.notice(NoticeOfLink, q.RequestID, q.Now), ""
	if len(q.Sent) > 0 {
		before = q.Sent[0].ID
	}
	n.ID = "ntc_" + hash(c.ID, string(NoticeOfLink), before)
	return n
}
