package smtp

import (
	"bytes"
	"encoding/base64"
	netmail "net/mail"
	"strings"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/wneessen/go-mail"
	"golang.org/x/net/idna"
)

// message writes a notice as a message: the text, the same as HTML, and the files that go with it.
func (n *Notifier) message(notice checkout.PayerNotice) (*mail.Msg, error) {
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
		err := m.AttachReader(a.Name, bytes.NewReader(a.Bytes), mail.WithFileContentType(mail.ContentType(a.MediaType)))
		if err != nil {
			return nil, err
		}
	}
	return m, nil
}

// messageID returns the Message-ID of a notice. The domain is the sender's.
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
		n := 0
		for i, r := range text {
			if i+utf8.RuneLen(r) > maxEncoded {
				break
			}
			n = i + utf8.RuneLen(r)
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
