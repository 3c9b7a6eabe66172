package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/out/smtp"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	smtpUserVariable     = "PROVIDER_CHECKOUT_SMTP_USER"
	smtpPasswordVariable = "PROVIDER_CHECKOUT_SMTP_PASSWORD"

	mailHelp = "With --smtp and --mail-from payers get two e-mails: that the direct debit is set up, and the agreement with\n" +
		"the dates and amounts. The server's user and password, if it asks for them, come from " + smtpUserVariable + "\n" +
		"and " + smtpPasswordVariable + ", or each from the file that the same name with _FILE names.\n" +
		"\"go doc ./adapters/out/smtp\" says what is sent, how it is secured, and what is kept as proof."
)

func mailFlags(fs *cli.Flags, s *settings) {
	fs.StringVar(&s.smtp, "smtp", "", "`URL` of the mail server through which payers are notified, smtp://HOST:587 or smtps://HOST:465; unset: they are not")
	fs.StringVar(&s.mailFrom, "mail-from", "", "`ADDRESS` that these e-mails are from, such as \"Lender <plans@lender.example>\"")
}

// notifier returns the notifier of payers, or nil without --smtp. Its error names everything that is missing or wrong.
func (c *call) notifier() (ports.PayerNotifier, error) {
	switch {
	case c.smtp == "" && c.mailFrom != "":
		return nil, cli.UsageError("--mail-from needs --smtp")
	case c.smtp == "":
		return nil, nil
	case c.mailFrom == "":
		return nil, cli.UsageError("--smtp needs --mail-from")
	}
	user, wrongUser := c.secretList(smtpUserVariable)
	password, wrongPassword := c.secretList(smtpPasswordVariable)
	n, err := smtp.New(smtp.Options{URL: c.smtp, From: c.mailFrom, User: line(user), Password: line(password)})
	if err != nil {
		err = fmt.Errorf("--smtp and --mail-from: %w", err)
	}
	if err := errors.Join(wrongUser, wrongPassword, err); err != nil {
		return nil, err
	}
	return n, nil
}

// line returns a credential without the line feed at its end that a file has.
func line(list secretList) string { return strings.TrimRight(list.text, "\r\n") }
