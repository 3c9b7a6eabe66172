package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/in/desk"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

// desk returns the settings of the desk.
func (s *server) desk() desk.Settings {
	return desk.Settings{URL: s.DeskURL, Issuer: s.DeskOIDCIssuer, Audience: s.DeskOIDCAudience, TokenHeader: s.DeskTokenHeader, Roles: s.DeskRoles}
}

// checkDesk completes the settings of the desk, and returns everything that is missing or wrong.
func (s *server) checkDesk() error {
	if s.DeskAddr == "" {
		for _, name := range slices.Sorted(maps.Keys(s.flags)) {
			if from, _ := s.source(variableOf(name)); strings.HasPrefix(name, "desk-") && from != (source{}) {
				return s.needs(name, "desk-addr")
			}
		}
		return nil
	}
	faults := []error{s.checkAddress("desk-addr", s.DeskAddr)}
	s.DeskURL = strings.TrimRight(s.DeskURL, "/")
	for _, needed := range []struct{ flag, value string }{{"desk-url", s.DeskURL}, {"desk-oidc-issuer", s.DeskOIDCIssuer},
		{"desk-oidc-audience", s.DeskOIDCAudience}, {"desk-roles", s.DeskRoles.Claim}} {
		if needed.value == "" && !s.refused[needed.flag] {
			faults = append(faults, s.needs("desk-addr", needed.flag))
		}
	}
	if errors.Join(faults...) == nil {
		faults = s.desk().Check(s.Environment)
	}
	if err := errors.Join(faults...); err != nil {
		return usageError(err.Error())
	}
	return nil
}

// listenDesk listens for the desk, if there is one.
func (s *server) listenDesk(ctx context.Context) (err error) {
	if s.DeskAddr == "" {
		return nil
	}
	if s.deskListener, err = s.listen(ctx, "desk-addr", s.DeskAddr); err == nil && s.DeskURL == "" {
		s.DeskURL = localURL(s.DeskAddr, s.deskListener)
	}
	return err
}

// siteDesk returns the desk as the site serves it, or nil.
func (s *server) siteDesk() *site.Desk {
	if s.deskListener == nil {
		return nil
	}
	return &site.Desk{Settings: s.desk(), Listener: s.deskListener}
}
