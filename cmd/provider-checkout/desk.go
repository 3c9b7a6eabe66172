package main

import (
	"context"
	"errors"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/in/desk"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

// deskFlags defines the flags of the web desk.
func (s *server) deskFlags() {
	fs := s.flags
	fs.StringVar(&s.deskAddr, "desk-addr", "", "`HOST:PORT` to answer the operator's web desk on; nowhere unless given")
	fs.StringVar(&s.desk.URL, "desk-url", "", "`URL` under which browsers reach the desk (default http://<desk-addr>)")
	fs.StringVar(&s.desk.Issuer, "desk-oidc-issuer", "", "`URL` of the OpenID Connect issuer of the operators' ID tokens")
	fs.StringVar(&s.desk.Audience, "desk-oidc-audience", "", "`ID` for which these tokens are issued: that of the proxy's client")
	fs.StringVar(&s.desk.TokenHeader, "desk-token-header", "", "`HEADER` with the ID token (default Authorization: Bearer)")
	cli.Var(fs, &s.desk.Roles, "desk-roles", "", parseFile(fs.Stdin, desk.ParseRoles),
		"`FILE` that says which groups of the issuer have which roles at the desk")
}

// checkDesk completes the settings of the desk, and returns everything that is missing or wrong.
func (s *server) checkDesk() error {
	if s.deskAddr == "" {
		for _, flag := range []string{"desk-url", "desk-oidc-issuer", "desk-oidc-audience", "desk-token-header", "desk-roles"} {
			if s.flags.Lookup(flag).Value.String() != "" {
				return s.needs(flag, "desk-addr")
			}
		}
		return nil
	}
	faults := []error{s.checkAddress("desk-addr", s.deskAddr)}
	s.desk.URL = strings.TrimRight(s.desk.URL, "/")
	for _, needed := range []struct{ flag, value string }{{"desk-url", s.desk.URL}, {"desk-oidc-issuer", s.desk.Issuer},
		{"desk-oidc-audience", s.desk.Audience}, {"desk-roles", s.desk.Roles.Claim}} {
		if needed.value == "" && !s.refused[needed.flag] {
			faults = append(faults, s.needs("desk-addr", needed.flag))
		}
	}
	if errors.Join(faults...) == nil {
		faults = s.desk.Check(s.environment)
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
	return &site.Desk{Settings: s.desk, Listener: s.deskListener}
}
