package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/ops"
	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/adapters/out/smtp"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/ports"
)

// site checks that the settings fit together, and returns the site that they describe, without its store, its listeners and its log. The
// error names everything that is missing or wrong, a line each.
func (s *server) site() (site.Config, error) {
	cfg := site.Config{
		Service: service.Config{Environment: s.Environment, Terms: s.Terms.Terms, Agency: s.Terms.Agency, Recipients: s.Terms.Recipients,
			Retention: checkout.Retention{AbandonedDays: s.EraseAbandonedDays, AgreedYears: s.EraseAgreedYears}},
		SetupLifetime:  s.SetupLifetime,
		AllowPrivate:   s.AllowPrivate,
		TrustedProxies: s.TrustedProxies,
		RateLimit:      s.RateLimit,
		DrainDelay:     s.DrainDelay,
		Registry:       ops.NewRegistry(),
	}
	cfg.Metrics = ops.NewMetrics(cfg.Registry)
	var wrongProcessor, wrongCRM, wrongMail, wrongSigner error
	cfg.GoCardless, wrongProcessor = s.gocardless()
	if s.CRM == salesforceName {
		s.crm, wrongCRM = s.salesforce(s.call, s.Environment)
		cfg.Service.CRM = s.crm
	}
	cfg.Service.Notifier, wrongMail = s.notifier()
	secrets, wrongSecrets := s.secrets()
	if cfg.Signer, wrongSigner = s.signer(); cfg.Signer != nil {
		if s.TSA != "" {
			client := &http.Client{Timeout: organisationTimeout, // which never follows an answer to another address
				CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			cfg.Signer.Stamper = &pdf.Stamper{URL: s.TSA, Client: client, Count: cfg.Metrics.CountStamps()}
		}
	} else if s.TSA != "" && wrongSigner == nil {
		wrongSigner = usageError(s.name("tsa") + " needs a signer (" + namesOf(signerVariable) + ")")
	}
	_, _, wrongStore := s.place()
	reasons := []error{wrongStore, s.checkDeployment(), wrongProcessor, wrongCRM, wrongMail, wrongSecrets, wrongSigner, s.checkDesk()}
	for _, a := range s.addresses() {
		reasons = append(reasons, s.checkAddress(a.flag, a.value))
	}
	for _, part := range []struct {
		flag string
		checkout.Retention
	}{
		{"erase-abandoned-days", checkout.Retention{AbandonedDays: s.EraseAbandonedDays}},
		{"erase-agreed-years", checkout.Retention{AgreedYears: s.EraseAgreedYears}},
	} {
		if err := part.Check(); err != nil {
			reasons = append(reasons, usageError(s.name(part.flag)+": "+err.Error()))
		}
	}
	if s.Environment == catalogue.Production {
		if secrets == nil && wrongSecrets == nil {
			reasons = append(reasons, missing(secretVariable))
		}
		if cfg.Signer == nil && wrongSigner == nil {
			reasons = append(reasons, missing(signerVariable))
		}
		reasons = append(reasons, s.checkProduction()...)
	}
	return cfg, errors.Join(reasons...)
}

// checkProduction returns everything that is wrong with the terms and the destinations of a server of production.
func (s *server) checkProduction() (reasons []error) {
	for _, sentence := range s.lacking() {
		reasons = append(reasons, fmt.Errorf("%s: %s (profile %s)", s.name("terms"), sentence, s.Terms.Chosen()))
	}
	if s.Terms.Agency == (agreement.Agency{}) && !s.refused["terms"] {
		reasons = append(reasons, errors.New("the agency that the privacy notice names is missing (privacy.agency in the file of "+s.name("terms")+")"))
	}
	if s.AllowPrivate {
		reasons = append(reasons, errors.New(s.name("allow-private-destinations")+" is for the sandbox"))
	}
	return reasons
}

// signer returns the signer of agreements, or nil without one.
func (s *server) signer() (*pdf.Signer, error) {
	return parsed(s.call, signerVariable, func(l setting) (*pdf.Signer, error) {
		signer, err := parseSigner(l)
		switch {
		case signer == nil:
			return nil, err
		case !signer.Signs():
			return nil, errors.New("the private key is missing")
		}
		return signer, signer.Valid(time.Now())
	})
}

// parseSigner reads a signer, whose private key may be missing; it returns nil for an empty text.
func parseSigner(l setting) (*pdf.Signer, error) {
	if strings.TrimSpace(l.text) == "" { // a file that is always mounted
		return nil, nil
	}
	return pdf.ParseSigner([]byte(l.text))
}

// checkDeployment checks the base URL and the processor for the environment.
func (s *server) checkDeployment() error {
	if s.Environment == catalogue.Production {
		return errors.Join(
			about(s.name("base-url"), service.CheckDeployment(s.Environment, s.BaseURL, checkout.ProcessorInfo{Environment: s.Environment})),
			about(s.name("processor"), service.CheckDeployment(s.Environment, "https://localhost", s.processorInfo())))
	}
	if err := service.CheckDeployment(s.Environment, cmp.Or(s.BaseURL, "http://localhost"), s.processorInfo()); err != nil {
		return usageError(s.name("base-url") + ": " + oneLine(err.Error()))
	}
	return nil
}

// gocardlessName is the value of --processor for GoCardless.
const gocardlessName = "gocardless"

const (
	tokenVariable   = "PROVIDER_CHECKOUT_GOCARDLESS_TOKEN"
	webhookVariable = "PROVIDER_CHECKOUT_GOCARDLESS_WEBHOOK_SECRET"
)

// processorInfo returns the description of the processor that the flags name.
func (s *server) processorInfo() checkout.ProcessorInfo {
	if s.Processor == gocardlessName {
		return checkout.ProcessorInfo{Name: gocardlessName, Environment: s.Environment}
	}
	return (*fakeprocessor.Processor)(nil).Info()
}

// gocardless returns GoCardless as the settings describe it, or nil where the processor is another. Its
// error names everything that is missing or wrong.
func (s *server) gocardless() (*site.GoCardless, error) {
	if s.Processor != gocardlessName {
		return nil, nil
	}
	var g site.GoCardless
	token, wrong := s.required(tokenVariable)
	if wrong == nil {
		g.Processor, wrong = gocardless.New(gocardless.Options{Environment: s.Environment, Token: strings.TrimSpace(token.text),
			URL: s.GoCardlessURL})
		wrong = about(s.names("gocardless-url", "gocardless-token"), wrong)
	}
	list, noSecret := s.required(webhookVariable)
	if noSecret == nil {
		// GoCardless' own secrets have neither of these in them.
		for part := range strings.FieldsFuncSeq(list.text, func(r rune) bool { return r == ',' || r == '\n' }) {
			if secret := strings.TrimSpace(part); secret != "" {
				g.WebhookSecrets = append(g.WebhookSecrets, []byte(secret))
			}
		}
		if noSecret = gocardless.CheckWebhookSecrets(g.WebhookSecrets); noSecret != nil {
			noSecret = fmt.Errorf("%s: %w", list.source, noSecret)
		}
	}
	if err := errors.Join(wrong, noSecret); err != nil {
		return nil, err
	}
	return &g, nil
}

const (
	smtpUserVariable     = "PROVIDER_CHECKOUT_SMTP_USER"
	smtpPasswordVariable = "PROVIDER_CHECKOUT_SMTP_PASSWORD"
)

// noMail is the value of --smtp for an operator who sends the agreements to payers by other means.
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
	user, wrongUser := s.setting(smtpUserVariable)
	password, wrongPassword := s.setting(smtpPasswordVariable)
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
func line(list setting) string { return strings.TrimRight(list.text, "\r\n") }
