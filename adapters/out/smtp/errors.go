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

// redactor returns what replaces the text that no record and no log may have: the payer's address, in any case of its letters, and
// the credentials.
func (n *Notifier) redactor(address string) func(text string) string {
	secrets := []string{regexp.QuoteMeta(address)}
	if n.user != "" {
		secrets = append(secrets, regexp.QuoteMeta(n.user), regexp.QuoteMeta(n.password))
	}
	secret := regexp.MustCompile("(?i)" + strings.Join(secrets, "|"))
	return func(text string) string { return secret.ReplaceAllLiteralString(text, "…") }
}

// said returns what an error says in one line, or why ctx has ended, and the code of an answer of the server; 0 for another error.
func said(ctx context.Context, err error) (text string, code int) {
	text = err.Error()
	if answer, ok := errors.AsType[*textproto.Error](err); ok {
		text, code = fmt.Sprintf("%d %s", answer.Code, answer.Msg), answer.Code
	}
	if ctx.Err() != nil {
		text = ctx.Err().Error()
	}
	return oneLine(text), code
}

// unreachable is the error of a step that fails whatever the notice is.
func unreachable(ctx context.Context, redact func(string) string, step string, err error) error {
	text, _ := said(ctx, err)
	return fmt.Errorf("%s: %s: %w", step, redact(text), ports.ErrBusy)
}

// policy matches answers about the sender or the server, by their enhanced codes (RFC 3463): relaying is denied, say, which
// its operator can change.
var policy = regexp.MustCompile(`^5[0-9]{2}[ -]5\.7\.`)

// refused is the error of a step that concerns the notice: a *checkout.NoticeRefusal where the server refuses it for good.
func refused(ctx context.Context, redact func(string) string, step string, err error) error {
	text, code := said(ctx, err)
	text = redact(text)
	if code >= 500 && code != 530 && !policy.MatchString(text) {
		return &checkout.NoticeRefusal{Answer: strings.TrimSpace(text)}
	}
	return fmt.Errorf("%s: %s", step, text)
}
