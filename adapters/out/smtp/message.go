package smtp

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	netmail "net/mail"
	"net/textproto"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/wneessen/go-mail"
	"golang.org/x/net/idna"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// message writes a notice as a message: the text, the same as HTML, and the files that go with it.
func (n *Notifier) message(notice checkout.PayerNotice) *mail.Msg {
	m := mail.NewMsg(mail.WithNoDefaultUserAgent())
	m.FromMailAddress(&n.from)
	if standsAsItIs(notice.To.Name) {
		m.ToMailAddress(&netmail.Address{Name: notice.To.Name, Address: notice.To.Email})
	} else {
		m.SetGenHeaderPreformatted(mail.Header(mail.HeaderTo), encodedWords(notice.To.Name)+"\r\n "+envelope(notice.To.Email))
	}
	if notice.ReplyTo != "" && (ascii(notice.ReplyTo) || !ascii(notice.To.Email)) {
		m.ReplyToMailAddress(&netmail.Address{Address: notice.ReplyTo})
	}
	if subject := oneLine(notice.Subject); standsAsItIs(subject) {
		m.Subject(subject)
	} else {
		m.SetGenHeaderPreformatted(mail.HeaderSubject, encodedWords(subject))
	}
	m.SetMessageIDWithValue(strings.Trim(n.messageID(notice.ID), "<>"))
	m.SetDateWithValue(notice.At)
	m.SetGenHeader("Auto-Submitted", "auto-generated") // a mailbox's own answer must not come back
	m.SetBodyString(mail.TypeTextPlain, notice.Text)
	m.AddAlternativeString(mail.TypeTextHTML, notice.HTML)
	for _, a := range notice.Attachments {
		// Bytes can always be read.
		_ = m.AttachReader(a.Name, bytes.NewReader(a.Bytes), mail.WithFileContentType(mail.ContentType(a.MediaType)))
	}
	return m
}

func (n *Notifier) messageID(id string) string {
	return "<" + id + n.from.Address[strings.LastIndexByte(n.from.Address, '@'):] + ">"
}

// inASCII returns an address with its domain in ASCII, as every mail server takes it. A domain that has no such form stays.
func inASCII(address string) string {
	at := strings.LastIndexByte(address, '@')
	if host, err := idna.Lookup.ToASCII(address[at+1:]); err == nil && at >= 0 {
		return address[:at+1] + host
	}
	return address
}

// maxEncoded is the largest number of bytes in an encoded word (RFC 2047), so that a line with the name of its field has no more than
// 76 characters.
const maxEncoded = 39

// encodedWords returns a text as a header holds it, in lines of which the first is not empty: before an encoded word of full length
// the mail package begins a new line, and some mailboxes mistrust a field that begins with an empty line.
func encodedWords(text string) string {
	var words []string
	for text = strings.ToValidUTF8(text, "\uFFFD"); text != ""; {
		n := min(len(text), maxEncoded)
		for n < len(text) && !utf8.RuneStart(text[n]) {
			n--
		}
		words = append(words, "=?UTF-8?B?"+base64.StdEncoding.EncodeToString([]byte(text[:n]))+"?=")
		text = text[n:]
	}
	return strings.Join(words, "\r\n ")
}

// envelope returns an address as SMTP's commands have it, with a local part in quotes where it must be.
func envelope(address string) string { return (&netmail.Address{Address: address}).String() }

// oneLine returns a text with a space for every control character, so that it ends no line of a header or an answer.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
}

// standsAsItIs reports whether a text means itself in a header: it is ASCII and has nothing that a mail program would decode.
func standsAsItIs(text string) bool { return ascii(text) && !strings.Contains(text, "=?") }

func ascii(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > 0x7f })
}

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

// Answers that refuse a mailbox for good (RFC 3463). Any other refusal is the operator's to mend: a limit of the day, a name in EHLO,
// relaying, a list of senders. badMailbox is of any command. 5.1.7 and 5.1.8 are about the sender. noMailbox has also the codes that
// a server without enhanced codes has for a recipient (RFC 5321).
var (
	badMailbox = regexp.MustCompile(`^5[0-9]{2}[ -]5\.(1\.[0-69]|1\.1[0-9]|2)`)
	noMailbox  = regexp.MustCompile(badMailbox.String() + `|^55[013][ -]($|[^5]|5($|[^.]))`)
)

// failure is the error of a step. Without a pattern the step fails whatever the notice is; with the pattern of a final answer the step
// concerns the notice, and the error is a *checkout.NoticeRefusal where the server refuses the mailbox for good.
func failure(ctx context.Context, redact func(string) string, step string, final *regexp.Regexp, err error) error {
	text := err.Error()
	if answer, ok := errors.AsType[*textproto.Error](err); ok {
		text = fmt.Sprintf("%d %s", answer.Code, answer.Msg)
	}
	if ctx.Err() != nil {
		text = ctx.Err().Error()
	}
	switch text = redact(oneLine(text)); {
	case final == nil:
		return fmt.Errorf("%s: %s: %w", step, text, ports.ErrBusy)
	case final.MatchString(text):
		return &checkout.NoticeRefusal{Answer: strings.TrimSpace(text)}
	}
	return fmt.Errorf("%s: %s", step, text)
}
