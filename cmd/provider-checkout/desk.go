package main

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/in/desk"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

const deskSecretVariable = "PROVIDER_CHECKOUT_DESK_OIDC_CLIENT_SECRET"

// deskFlags defines the flags of the web desk.
func (s *server) deskFlags() {
	fs := s.flags
	fs.StringVar(&s.deskAddr, "desk-addr", "", "`HOST:PORT` to answer the operator's web desk on; nowhere unless given")
	fs.StringVar(&s.desk.URL, "desk-url", "", "`URL` under which browsers reach the desk (default http://<desk-addr>)")
	fs.StringVar(&s.desk.Issuer, "desk-oidc-issuer", "", "`URL` of the OpenID Connect issuer that signs operators in at the desk")
	fs.StringVar(&s.desk.ClientID, "desk-oidc-client-id", "", "`ID` of the desk at the issuer")
	cli.Var(fs, &s.desk.Roles, "desk-roles", "", parseFile(fs.Stdin, desk.ParseRoles),
		"`FILE` that says which groups of the issuer have which roles at the desk")
	cli.Var(fs, &s.desk.Idle, "desk-idle", "30m", parseLifetime,
		"`DURATION` after which somebody who does nothing at the desk is signed out")
	cli.Var(fs, &s.desk.Session, "desk-session", "8h", parseLifetime, "`DURATION` after which everybody signs in to the desk again")
}

// checkDesk completes the settings of the desk, and returns everything that is missing or wrong.
func (s *server) checkDesk() error {
	if s.deskAddr == "" {
		for _, flag := range []string{"desk-url", "desk-oidc-issuer", "desk-oidc-client-id", "desk-roles"} {
			if s.flags.Lookup(flag).Value.String() != "" {
				return s.needs(flag, "desk-addr")
			}
		}
		return nil
	}
	faults := []error{s.checkAddress("desk-addr", s.deskAddr)}
	s.desk.URL = strings.TrimRight(s.desk.URL, "/")
	given, err := s.secretList(deskSecretVariable)
	s.desk.ClientSecret = strings.TrimSpace(given.text)
	if s.desk.Issuer != "" || s.environment == catalogue.Production {
		faults = append(faults, err)
		for _, needed := range []struct{ flag, value string }{{"desk-url", s.desk.URL}, {"desk-oidc-issuer", s.desk.Issuer},
			{"desk-oidc-client-id", s.desk.ClientID}, {"desk-roles", s.desk.Roles.Claim}} {
			if needed.value == "" && !s.refused[needed.flag] {
				faults = append(faults, s.needs("desk-addr", needed.flag))
			}
		}
		if s.desk.ClientSecret == "" && err == nil {
			faults = append(faults, missing(deskSecretVariable))
		}
	}
	if errors.Join(faults...) == nil {
		settings := s.desk
		settings.URL = cmp.Or(settings.URL, "http://"+s.deskAddr)
		faults = append(faults, settings.Check(s.environment)...)
	}
	if err := errors.Join(faults...); err != nil {
		return cli.UsageError(err.Error())
	}
	return nil
}

// listenDesk listens for the desk, if there is one.
func (s *server) listenDesk(ctx context.Context) (err error) {
	if s.deskAddr == "" {
		return nil
	}
	if s.deskListener, err = s.listen(ctx, "desk-addr", s.deskAddr); err == nil && s.desk.URL == "" {
		s.desk.URL = localURL(s.deskAddr, s.deskListener)
	}
	return err
}

// siteDesk returns the desk as the site serves it, or nil.
func (s *server) siteDesk() *site.Desk {
	if s.deskListener == nil {
		return nil
	}
	links := desk.Links{}
	if s.processor == gocardlessName && s.gocardlessURL == "" {
		links.Mandate = map[catalogue.Environment]string{catalogue.Production: "https://manage.gocardless.com/mandates/",
			catalogue.Sandbox: "https://manage-sandbox.gocardless.com/mandates/"}[s.environment]
	}
	if s.crm == salesforceName {
		links.Record = strings.TrimRight(s.salesforceURL, "/") + "/"
	}
	return &site.Desk{Settings: s.desk, Links: links, Listener: s.deskListener}
}
