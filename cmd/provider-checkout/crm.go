package main

import (
	"cmp"
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
)

// Names of CRMs.
const (
	embeddedName   = "embedded"
	salesforceName = "salesforce"
)

const (
	clientIDVariable     = "PROVIDER_CHECKOUT_SALESFORCE_CLIENT_ID"
	clientSecretVariable = "PROVIDER_CHECKOUT_SALESFORCE_CLIENT_SECRET"
	jwtKeyVariable       = "PROVIDER_CHECKOUT_SALESFORCE_JWT_KEY"
)

// salesforce returns the CRM that the settings describe, or nil where it is the embedded CRM. Its error
// names everything that is missing or wrong.
func (s *systems) salesforce() (*salesforce.CRM, error) {
	if s.crm != salesforceName {
		return nil, nil
	}
	o := salesforce.Options{Environment: s.environment, URL: s.salesforceURL, User: s.salesforceUser, Mapping: s.salesforceMapping}
	var noURL, noUser, noSecret error
	if o.URL == "" {
		noURL = errors.New("the URL of the Salesforce organisation is missing (" + s.name("salesforce-url") + ")")
	}
	id, noID := s.required(clientIDVariable)
	secret, wrongSecret := s.secretList(clientSecretVariable)
	key, wrongKey := parsed(s.call, jwtKeyVariable, parseKey)
	o.ClientID, o.ClientSecret, o.JWTKey = strings.TrimSpace(id.text), strings.TrimSpace(secret.text), key
	switch {
	case key != nil && o.User == "":
		noUser = errors.New("the user as whom the JWT key signs in is missing (" + s.name("salesforce-user") + ")")
	case key == nil && o.ClientSecret == "" && wrongSecret == nil && wrongKey == nil:
		noSecret = fmt.Errorf("%w, and so is a JWT key (%s)", missing(clientSecretVariable), namesOf(jwtKeyVariable))
	}
	crm, err := salesforce.New(withoutGaps(o))
	settings := []string{"salesforce-url"}
	if key != nil {
		settings = append(settings, "salesforce-jwt-key")
	}
	err = about(s.names(settings...), err)
	if err := errors.Join(noURL, noID, wrongSecret, wrongKey, noUser, noSecret, err); err != nil {
		return nil, err
	}
	return crm, nil
}

// withoutGaps returns options in which nothing is missing, so that other faults are found too.
func withoutGaps(o salesforce.Options) salesforce.Options {
	o.URL = cmp.Or(o.URL, "https://missing.example")
	o.ClientID = cmp.Or(o.ClientID, "missing")
	if o.JWTKey == nil {
		o.ClientSecret = cmp.Or(o.ClientSecret, "missing")
	}
	o.User = cmp.Or(o.User, "missing")
	return o
}

// parseKey reads an RSA private key from PEM; it returns nil for an empty text. Its error repeats nothing of the text.
func parseKey(l secretList) (*rsa.PrivateKey, error) {
	if strings.TrimSpace(l.text) == "" { // a file that is always mounted
		return nil, nil
	}
	if block, _ := pem.Decode([]byte(l.text)); block != nil {
		if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
			return key, nil
		}
		if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if key, ok := key.(*rsa.PrivateKey); ok {
				return key, nil
			}
		}
	}
	return nil, errors.New("must be an RSA private key in PEM, PKCS #1 or PKCS #8, without a password")
}

// crmTimeout bounds a command's wait for the CRM.
const crmTimeout = 2 * time.Minute

// organisation returns the CRM for a command that is about it.
func (s *systems) organisation() (*salesforce.CRM, error) {
	crm, err := s.salesforce()
	if crm == nil && err == nil {
		return nil, cli.UsageError("the embedded CRM is the store: this needs --crm salesforce")
	}
	return crm, err
}

// checkCRM prints every object and field that the organisation lacks.
func checkCRM(c *call) action {
	s := &systems{call: c}
	c.configFlag()
	s.environmentFlag()
	s.crmFlags(salesforceName)
	c.flags.AllowVariables()
	return func(ctx context.Context) error {
		crm, err := s.organisation()
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, crmTimeout)
		defer cancel()
		lacks, err := crm.CheckMetadata(ctx)
		if err != nil {
			return fmt.Errorf("ask the organisation: %w", err)
		}
		if len(lacks) == 0 {
			_, err := fmt.Fprintln(c.Stdout, "nothing is missing")
			return err
		}
		for _, line := range lacks {
			fmt.Fprintln(c.Stdout, line)
		}
		return errors.New("the organisation does not have what is needed: deploy adapters/out/salesforce/metadata (sf project deploy start in that " +
			"folder) and assign its permission set Provider_Checkout, or say by --salesforce-mapping what it calls things")
	}
}

// pullProviders stores the organisation's configuration, and prints the changes.
func pullProviders(c *call) action {
	s := &systems{call: c}
	s.processorFlags()
	s.crmFlags(salesforceName)
	c.storeFlag()
	s.privateSetting()
	c.flags.AllowVariables()
	prune := c.flags.Bool("prune", false, "remove providers that the organisation does not have (their keys and checkouts stay)")
	dryRun := c.flags.Bool("dry-run", false, "print what a pull would change, and store nothing; without a store, what a new one would get")
	c.reasonFlag()
	return func(ctx context.Context) error {
		crm, err := s.organisation()
		if err != nil {
			return err
		}
		asked, cancel := context.WithTimeout(ctx, crmTimeout)
		defer cancel()
		named, err := configured(asked, crm)
		if err != nil {
			return fmt.Errorf("read the organisation's providers: %w", err)
		}
		if len(named) == 0 && *prune {
			return errors.New("the user sees no provider in the organisation: nothing is removed")
		} else if len(named) == 0 {
			fmt.Fprintln(c.Stderr, "the user sees no provider in the organisation")
		}
		return s.configure(ctx, "crm pull", operate.Change{Named: named, Prune: *prune, KeepDestinations: true, DryRun: *dryRun})
	}
}

// syncCRM has servers compare the CRM with what has changed since a time.
func syncCRM(c *call) action {
	c.changeFlags()
	var since time.Time
	c.sinceFlag(&since, "checkouts that changed at this `TIME` or later")
	c.check = func([]string) error {
		if since.IsZero() {
			return cli.UsageError("say by --since from when on")
		}
		return nil
	}
	return c.operating(func(ctx context.Context, _ records, operator operate.Operator) error {
		queued, err := operator.Sync(ctx, since)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.Stdout, "%s queued\n", counted(queued, "checkout"))
		return err
	})
}

// configured returns every provider that the organisation configures. They have passed their Check.
func configured(ctx context.Context, crm *salesforce.CRM) ([]catalogue.Configuration, error) {
	file, places, faults, err := crm.ProviderFile(ctx)
	if err != nil {
		return nil, err
	}
	return providerfile.ParseRecords(file, places, faults)
}

// organisationTimeout bounds a server's wait for each system outside of its store at its start.
const organisationTimeout = 5 * time.Second

// checkOrganisation returns an error if the organisation is for another environment. An organisation that does not answer is
// logged: most calls can be served without it.
func checkOrganisation(ctx context.Context, crm *salesforce.CRM, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, organisationTimeout)
	defer cancel()
	err := crm.CheckEnvironment(ctx)
	if err == nil || errors.Is(err, salesforce.ErrOtherEnvironment) {
		return err
	}
	log.Warn("the CRM cannot be asked whether it is for this environment", slog.Any("error", err))
	return nil
}
