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

// redactor returns what replaces the text that no record and no log may have: the payer's address, in any case of its letters and also
// in ASCII, and the credentials.
func (n *Notifier) redactor(address string) func(text string) string {
	secrets := []string{regexp.QuoteMeta(address), regexp.QuoteMeta(inASCII(address))}
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

// Answers that refuse a mailbox for good (RFC 3463). Any other refusal is the operator's to mend: a limit of the day, a name in EHLO,
// relaying, a list of senders. badMailbox is of any command. 5.1.7 and 5.1.8 are about the sender. noMailbox has also the codes that
// a server without enhanced codes has for a recipient (RFC 5321).
var (
	badMailbox = regexp.MustCompile(`^5[0-9]{2}[ -]5\.(1\.[0-69]|1\.1[0-9]|2)`)
	noMailbox  = regexp.MustCompile(badMailbox.String() + `|^55[013][ -]($|[^5]|5($|[^.]))`)
)

// refused is the error of a step that concerns the notice: a *checkout.NoticeRefusal where the server refuses the mailbox for good.
func refused(ctx context.Context, redact func(string) string, step string, final *regexp.Regexp, err error) error {
	text, code := said(ctx, err)
	text = redact(text)
	if code >= 500 && final.MatchString(text) {
		return &checkout.NoticeRefusal{Answer: strings.TrimSpace(text)}
	}
	return fmt.Errorf("%s: %s", step, text)
}
