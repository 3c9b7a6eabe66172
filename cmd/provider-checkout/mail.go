package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/out/smtp"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	smtpUserVariable     = "PROVIDER_CHECKOUT_SMTP_USER"
	smtpPasswordVariable = "PROVIDER_CHECKOUT_SMTP_PASSWORD"
)

// noMail is the value of --smtp with which somebody else sends payers their agreements.
const noMail = "none"

// notifier returns the notifier of payers, or nil without --smtp, which production must say. Its error names everything that is missing or wrong.
func (s *server) notifier() (ports.PayerNotifier, error) {
	switch none := s.SMTP == "" || s.SMTP == noMail; {
	case none && s.MailFrom != "":
		return nil, s.needs("mail-from", "smtp")
	case s.SMTP == "" && s.Environment == catalogue.Production:
		return nil, fmt.Errorf("the mail server is missing (%s): nobody would send payers their agreement. %[1]s %s says that somebody else does",
			s.name("smtp"), noMail)
	case none:
		return nil, nil
	case s.MailFrom == "":
		return nil, s.needs("smtp", "mail-from")
	}
	user, wrongUser := s.secretList(smtpUserVariable)
	password, wrongPassword := s.secretList(smtpPasswordVariable)
	base, err := url.Parse(s.BaseURL)
	if err != nil {
		base = &url.URL{} // which is refused elsewhere
	}
	n, err := smtp.New(smtp.Options{URL: s.SMTP, From: s.MailFrom, User: line(user), Password: line(password), Host: base.Hostname()})
	err = about(s.names("smtp", "mail-from", "smtp-user", "smtp-password"), err)
	if err := errors.Join(wrongUser, wrongPassword, err); err != nil {
		return nil, err
	}
	return n, nil
}

// line returns a credential without the line feed at its end that a file has.
func line(list secretList) string { return strings.TrimRight(list.text, "\r\n") }
