package smtp

import (
	"context"
	"errors"
	"fmt"
	"net/textproto"
	"regexp"
	"strings"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// redactor replaces what no record and no log may have: the payer's address, in any case of its letters, and the credentials.
type redactor []*regexp.Regexp

func (n *Notifier) redactor(address string) (r redactor) {
	for _, secret := range []string{address, n.user, n.password} {
		if secret != "" {
			r = append(r, regexp.MustCompile("(?i)"+regexp.QuoteMeta(secret)))
		}
	}
	return r
}

// Replace returns the text without them.
func (r redactor) Replace(text string) string {
	for _, secret := range r {
		text = secret.ReplaceAllLiteralString(text, "…")
	}
	return text
}

// said returns what an error says in one line, and whether it is an answer of the server, with its code.
func said(err error) (text string, code int) {
	if answer, ok := errors.AsType[*textproto.Error](err); ok {
		return oneLine(fmt.Sprintf("%d %s", answer.Code, answer.Msg)), answer.Code
	}
	return oneLine(err.Error()), 0
}

// unreachable is the error of a step that fails whatever the notice is.
func unreachable(ctx context.Context, secret redactor, step string, err error) error {
	text, _ := said(err)
	if ctx.Err() != nil {
		text = ctx.Err().Error()
	}
	return fmt.Errorf("%s: %s: %w", step, secret.Replace(text), ports.ErrBusy)
}

// policy matches answers about the sender or the server, by their enhanced codes (RFC 3463): relaying is denied, say, which
// its operator can change.
var policy = regexp.MustCompile(`^5[0-9]{2}[ -]5\.7\.`)

// refused is the error of a step that concerns the notice: a *checkout.NoticeRefusal where the server refuses it for good.
func refused(ctx context.Context, secret redactor, step string, err error) error {
	text, code := said(err)
	if ctx.Err() != nil {
		text = ctx.Err().Error()
	}
	text = secret.Replace(text)
	if code >= 500 && code != 530 && !policy.MatchString(text) {
		return &checkout.NoticeRefusal{Answer: strings.TrimSpace(text)}
	}
	return fmt.Errorf("%s: %s", step, text)
}
