package smtp

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	netmail "net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

var header mime.WordDecoder

// parts returns the parts of a message that are no multipart themselves, decoded, by their media type.
func parts(t *testing.T, contentType string, body io.Reader) map[string]string {
	t.Helper()
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]string)
	if !strings.HasPrefix(media, "multipart/") {
		text, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		all[media] = string(text)
		return all
	}
	for r := multipart.NewReader(body, params["boundary"]); ; {
		p, err := r.NextRawPart()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		var decoded io.Reader = p
		switch p.Header.Get("Content-Transfer-Encoding") {
		case "quoted-printable":
			decoded = quotedprintable.NewReader(p)
		case "base64":
			decoded = base64.NewDecoder(base64.StdEncoding, p)
		}
		for media, text := range parts(t, p.Header.Get("Content-Type"), decoded) {
			all[media] = text
			if name := p.FileName(); name != "" {
				all["name of "+media] = name
			}
		}
	}
}

func read(t *testing.T, d delivery) *netmail.Message {
	t.Helper()
	m, err := netmail.ReadMessage(bytes.NewReader(d.text))
	if err != nil {
		t.Fatalf("%v:\n%s", err, d.text)
	}
	return m
}

func TestAMessageArrivesAsItWasWritten(t *testing.T) {
	s := serve(t)
	n := s.through(t, Options{User: "plans", Password: "s3cret"})
	receipt, err := n.Notify(t.Context(), notice())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(receipt, "<ntc_0123@lender.example> 250 2.0.0 OK: queued") {
		t.Errorf("receipt %q", receipt)
	}
	got := s.take()
	if len(got) != 1 {
		t.Fatalf("%d messages arrived, want one", len(got))
	}
	d := got[0]
	if d.from != "plans@lender.example" || d.to != "anaru@student.example" || d.user != "plans" || !d.tls || d.utf8 {
		t.Errorf("the envelope is %+v; want TLS and the user, and no SMTPUTF8, which these addresses do not need", d)
	}
	m := read(t, d)
	for name, want := range map[string]string{
		"Subject": notice().Subject, "Message-Id": "<ntc_0123@lender.example>", "Date": "Sun, 22 Nov 2026 08:00:00 +0000",
		"Auto-Submitted": "auto-generated",
	} {
		if got, err := header.DecodeHeader(m.Header.Get(name)); err != nil || got != want {
			t.Errorf("%s is %q, %v; want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]netmail.Address{
		"From": {Name: "Kōwhai payments", Address: "plans@lender.example"}, "To": {Name: "Ānaru 李小龙", Address: "anaru@student.example"},
		"Reply-To": {Address: "help@kowhai.example"},
	} {
		if got, err := m.Header.AddressList(name); err != nil || len(got) != 1 || *got[0] != want {
			t.Errorf("%s is %v, %v; want %v", name, got, err, want)
		}
	}
	all := parts(t, m.Header.Get("Content-Type"), m.Body)
	for media, want := range map[string]string{
		"text/plain": notice().Text, "text/html": notice().HTML, "application/pdf": string(notice().Attachments[0].Bytes),
		"name of application/pdf": "PPA-2026-1.pdf",
	} {
		if got := strings.ReplaceAll(all[media], "\r\n", "\n"); got != strings.ReplaceAll(want, "\r\n", "\n") {
			t.Errorf("%s is %q, want %q", media, got, want)
		}
	}
	if strings.ContainsFunc(string(d.text), func(r rune) bool { return r > 0x7e }) {
		t.Error("the message has bytes that an old server changes")
	}
}

func TestTheConnectionIsEncryptedBeforeAnythingIsSaid(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change []func(*mailServer)
		url    string
		trusts bool
		sent   bool
		user   string
	}{
		{"STARTTLS", nil, "smtp://mail.example:587", true, true, "plans"},
		{"no STARTTLS, and no user either", []func(*mailServer){withoutTLS}, "smtp://mail.example", true, false, ""},
		{"TLS from the first byte", []func(*mailServer){implicitTLS}, "smtps://mail.example", true, true, "plans"},
		{"no STARTTLS", []func(*mailServer){withoutTLS}, "smtp://mail.example", true, false, "plans"},
		{"no TLS where there must be", []func(*mailServer){withoutTLS}, "smtps://mail.example", true, false, "plans"},
		{"a certificate that is not trusted", nil, "smtp://mail.example", false, false, "plans"},
		{"a certificate of another host", nil, "smtp://mail2.example", true, false, "plans"},
		{"on loopback", []func(*mailServer){withoutTLS}, "smtp://127.0.0.1:2525", true, true, "plans"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, tt.change...)
			o := Options{URL: tt.url, User: tt.user}
			if tt.user != "" {
				o.Password = "s3cret"
			}
			n := s.through(t, o)
			if !tt.trusts {
				n.tls.RootCAs = nil
			}
			n.step = 10 * time.Second
			_, err := n.Notify(t.Context(), notice())
			if sent := err == nil; sent != tt.sent || !sent && !errors.Is(err, ports.ErrBusy) {
				t.Errorf("Notify: %v; want it sent %t, and else ErrBusy", err, tt.sent)
			}
			got := s.take()
			if sent := len(got) == 1 && got[0].user == "plans"; sent != tt.sent {
				t.Errorf("%d messages arrived: %+v", len(got), got)
			}
		})
	}
}

// A refusal for good is one of the recipient or of the message; what an operator can mend is attempted again.
func TestAnswersOfTheServer(t *testing.T) {
	s := serve(t)
	const final, again, waits = "final", "again", "waits"
	for _, tt := range []struct {
		name             string
		mail, rcpt, data error
		want             string
		says             string
	}{
		{"no such mailbox", nil, says(550, [3]int{5, 1, 1}, "<Anaru@Student.example>: no such user"), nil, final, "550 5.1.1 <…>: no such user"},
		{"greylisted", nil, says(451, [3]int{4, 7, 1}, "greylisted"), nil, again, "name the recipient: 451 4.7.1 greylisted"},
		{"mailbox full", nil, says(452, [3]int{4, 2, 2}, "full"), nil, again, "452"},
		{"relaying denied", nil, says(550, [3]int{5, 7, 1}, "relaying denied for anaru@student.example"), nil, again, "relaying denied for …"},
		{"taken for spam", nil, nil, says(554, [3]int{5, 6, 0}, "spam"), again, "554 5.6.0 spam"},
		{"no such mailbox, without an enhanced code", nil, says(550, noEnhanced, "no such user"), nil, final, "550 no such user"},
		{"a full mailbox, for good", nil, nil, says(552, [3]int{5, 2, 2}, "over quota"), final, "552 5.2.2 over quota"},
		{"a name in EHLO that it does not like", nil, says(504, [3]int{5, 5, 2}, "<box>: Helo command rejected: need fully-qualified hostname"), nil,
			again, "504 5.5.2 <box>: Helo"},
		{"the day's limit", nil, nil, says(550, [3]int{5, 4, 5}, "Daily user sending limit exceeded"), again, "550 5.4.5 Daily"},
		{"the sender's domain", nil, says(550, [3]int{5, 1, 8}, "sender not found"), nil, again, "550 5.1.8"},
		{"a list of senders, without an enhanced code", nil, nil, says(554, noEnhanced, "listed"), again, "554 listed"},
		{"no room", nil, nil, says(452, [3]int{4, 3, 1}, "no room"), again, "hand over the message: 452 4.3.1 no room"},
		{"sender refused", says(553, [3]int{5, 1, 8}, "not you"), nil, nil, waits, "name the sender: 553 5.1.8 not you"},
		{"shutting down", says(421, [3]int{4, 3, 2}, "later"), nil, nil, waits, "421"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s.answer(tt.mail, tt.rcpt, tt.data)
			_, err := s.through(t, Options{}).Notify(t.Context(), notice())
			_, refused := errors.AsType[*checkout.NoticeRefusal](err)
			got := again
			switch {
			case refused:
				got = final
			case errors.Is(err, ports.ErrBusy):
				got = waits
			}
			if err == nil || got != tt.want || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Notify: %v, which is %s; want %s, and that it says %q", err, got, tt.want, tt.says)
			}
			if len(s.take()) != 0 {
				t.Error("a message arrived")
			}
		})
	}
}

// Neither a record nor a log gets an address or a password, whatever the server repeats.
func TestNothingPersonalIsRepeated(t *testing.T) {
	s := serve(t)
	s.answer(nil, nil, says(250, [3]int{2, 0, 0}, "queued for ANARU@student.example"))
	receipt, err := s.through(t, Options{}).Notify(t.Context(), notice())
	if err != nil || receipt != "<ntc_0123@lender.example> 250 2.0.0 queued for …" {
		t.Errorf("receipt %q, %v", receipt, err)
	}
	_, err = s.through(t, Options{User: "plans", Password: "wr0ng"}).Notify(t.Context(), notice())
	if err == nil || !errors.Is(err, ports.ErrBusy) || !strings.Contains(err.Error(), "535 5.7.8 not … with …") {
		t.Errorf("a wrong password: %v; want ErrBusy without the user and the password", err)
	}
}

// A name and a subject are read as they were written, whatever they look like: they add no field to the header, and no field begins with an
// empty line.
func TestNamesAndSubjectsStayInTheirFields(t *testing.T) {
	s := serve(t)
	for _, text := range []string{
		"A\r\nBcc: all@evil.example", "A\nB", "A\rB", `"x" <other@evil.example>, y`, `back\slash "quoted"`, "a, b; c: d", "Ā\u2028B\x00C",
		strings.Repeat("李小龙 ", 80), "", "=?utf-8?q?=0D=0ABcc:evil@x?=", "For =?utf-8?q?=0D=0ABcc:evil@x?=", "Your plan at Kōwhai",
		strings.Repeat("Ā", 60), "一年制護理學文憑課程的付款計劃協議書已經簽訂", "李 " + strings.Repeat("a", 80),
		"Your payment plan at a school with a name that is long, but in ASCII alone from beginning to end", "🧑🏽‍🎓" + strings.Repeat("é🧑", 20),
	} {
		n := notice()
		n.To.Name, n.Subject = text, text
		if _, err := s.through(t, Options{}).Notify(t.Context(), n); err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		d := s.take()[0]
		m := read(t, d)
		fields := slices.Sorted(maps.Keys(m.Header))
		if want := []string{"Auto-Submitted", "Content-Type", "Date", "From", "Message-Id", "Mime-Version", "Reply-To", "Subject", "To"}; !slices.Equal(fields, want) {
			t.Errorf("%q: the header has %q, want %q", text, fields, want)
		}
		want := strings.Fields(oneLine(text))
		to, err := m.Header.AddressList("To")
		if err != nil || len(to) != 1 || to[0].Address != n.To.Email || d.to != n.To.Email || !slices.Equal(strings.Fields(oneLine(to[0].Name)), want) {
			t.Errorf("%q: it goes to %q, %v, by the envelope to %s", text, to, err, d.to)
		}
		if got, err := header.DecodeHeader(m.Header.Get("Subject")); err != nil || !slices.Equal(strings.Fields(got), want) {
			t.Errorf("subject %q, %v; want %q", got, err, text)
		}
		head, _, _ := strings.Cut(string(d.text), "\r\n\r\n")
		for line := range strings.SplitSeq(head, "\r\n") {
			if strings.HasSuffix(line, ":") || strings.TrimSpace(line) == "" || len(line) > 78 {
				t.Errorf("%q: the header has a line %q", text, line)
			}
		}
	}
}

// The settings name the client, and not the machine.
func TestTheHostOfTheServiceIsTheNameInEHLO(t *testing.T) {
	s := serve(t)
	for host, want := range map[string]string{"pay.lender.example": "pay.lender.example", "": "localhost", "127.0.0.1": "[127.0.0.1]", "::1": "[IPv6:::1]"} {
		if _, err := s.through(t, Options{Host: host}).Notify(t.Context(), notice()); err != nil {
			t.Fatal(err)
		}
		if d := s.take()[0]; d.hello != want {
			t.Errorf("for the host %q EHLO has %q", host, d.hello)
		}
	}
}

// A domain in letters with macrons has a form in ASCII, which every server takes in every command and field. A mailbox has no such form.
func TestAServerWithoutSMTPUTF8GetsASCIIAlone(t *testing.T) {
	s := serve(t, func(s *mailServer) { s.EnableSMTPUTF8 = false })
	n := notice()
	n.To.Email, n.ReplyTo = "aroha@kōrero.nz", "help@pūtea.nz"
	through := s.through(t, Options{From: "Pūtea <plans@pūtea.nz>"})
	if _, err := through.Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	d := s.take()[0]
	head, _, _ := bytes.Cut(d.text, []byte("\r\n\r\n"))
	if d.to != "aroha@xn--krero-g9a.nz" || d.from != "plans@xn--ptea-v7a.nz" || d.hello != "localhost" || d.utf8 || !ascii(string(head)) ||
		!bytes.Contains(head, []byte("help@xn--ptea-v7a.nz")) {
		t.Errorf("the envelope is %+v, and the header\n%s", d, head)
	}
	s.answer(nil, says(550, [3]int{5, 1, 1}, "no aroha@xn--krero-g9a.nz here"), nil)
	n.To.Email = "aroha@kōrero.nz"
	if _, err := through.Notify(t.Context(), n); err == nil || strings.Contains(err.Error(), "aroha") {
		t.Errorf("an answer with the address in ASCII: %v", err)
	}
	n.To.Email = "ārōha@korero.nz"
	if _, err := through.Notify(t.Context(), n); err == nil || !strings.Contains(err.Error(), "SMTPUTF8") {
		t.Errorf("for a mailbox with macrons: %v", err)
	} else if _, refused := errors.AsType[*checkout.NoticeRefusal](err); !refused {
		t.Errorf("for a mailbox with macrons: %v, want a refusal", err)
	}
}

func TestAnAddressInAnotherScriptNeedsSMTPUTF8(t *testing.T) {
	s := serve(t)
	n := notice()
	n.To.Email = "ānaru@student.example"
	if _, err := s.through(t, Options{}).Notify(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	if d := s.take()[0]; !d.utf8 || d.to != n.To.Email {
		t.Errorf("the envelope is %+v, want SMTPUTF8", d)
	}
}

func TestNewSaysAllThatIsWrong(t *testing.T) {
	for _, tt := range []struct {
		o    Options
		says []string
	}{
		{Options{}, []string{"smtp://host:port", "sender"}},
		{Options{URL: "https://mail.example", From: "a@b.example"}, []string{"smtp://host:port"}},
		{Options{URL: "smtp://user:s3cret@mail.example", From: "a@b.example"}, []string{"must not have the user"}},
		{Options{URL: "smtp://mail.example/x", From: "a@b.example"}, []string{"nothing after"}},
		{Options{URL: "smtp://mail.example:0", From: "a@b.example"}, []string{"port"}},
		{Options{URL: "smtp://mail.example:99999", From: "a@b.example"}, []string{"port"}},
		{Options{URL: "smtp://mail.example", From: "Lender"}, []string{"sender"}},
		{Options{URL: "smtp://mail.example", From: "a@b.example", User: "u"}, []string{"password"}},
		{Options{URL: "smtp://mail.example", From: "a@b.example", Password: "p"}, []string{"user"}},
	} {
		_, err := New(tt.o)
		for _, says := range tt.says {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("New(%+v): %v, want it to say %q", tt.o, err, says)
			}
		}
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the password is in %v", err)
		}
	}
}

func TestTheEndOfTheContextEndsAnAttempt(t *testing.T) {
	n := silent(t, "220 mail.example\r\n")
	n.step = time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := n.Notify(ctx, notice()); err == nil || testlevel.Elapsed(start) > 5*time.Second {
		t.Errorf("Notify: %v after %s", err, time.Since(start))
	}
}
