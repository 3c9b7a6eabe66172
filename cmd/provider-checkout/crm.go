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
)

// salesforceName is the value of --crm for Salesforce.
const salesforceName = "salesforce"

const (
	clientIDVariable     = "PROVIDER_CHECKOUT_SALESFORCE_CLIENT_ID"
	clientSecretVariable = "PROVIDER_CHECKOUT_SALESFORCE_CLIENT_SECRET"
	jwtKeyVariable       = "PROVIDER_CHECKOUT_SALESFORCE_JWT_KEY"
)

// salesforce returns the CRM that the settings describe. Its error names everything that is missing or wrong.
func (f *SalesforceFlags) salesforce(c *call, environment catalogue.Environment) (*salesforce.CRM, error) {
	o := salesforce.Options{Environment: environment, URL: f.SalesforceURL, User: f.SalesforceUser, Mapping: f.SalesforceMapping}
	var noURL, noUser, noSecret error
	if o.URL == "" {
		noURL = errors.New("the URL of the Salesforce organisation is missing (" + c.name("salesforce-url") + ")")
	}
	id, noID := c.required(clientIDVariable)
	secret, wrongSecret := c.setting(clientSecretVariable)
	key, wrongKey := parsed(c, jwtKeyVariable, parseKey)
	o.ClientID, o.ClientSecret, o.JWTKey = strings.TrimSpace(id.text), strings.TrimSpace(secret.text), key
	switch {
	case key != nil && o.User == "":
		noUser = errors.New("the user as whom the JWT key signs in is missing (" + c.name("salesforce-user") + ")")
	case key == nil && o.ClientSecret == "" && wrongSecret == nil && wrongKey == nil:
		noSecret = fmt.Errorf("%w, and so is a JWT key (%s)", missing(clientSecretVariable), namesOf(jwtKeyVariable))
	}
	// Without gaps other faults are found too.
	o.URL, o.ClientID, o.User = cmp.Or(o.URL, "https://missing.example"), cmp.Or(o.ClientID, "missing"), cmp.Or(o.User, "missing")
	if key == nil {
		o.ClientSecret = cmp.Or(o.ClientSecret, "missing")
	}
	crm, err := salesforce.New(o)
	settings := []string{"salesforce-url"}
	if key != nil {
		settings = append(settings, "salesforce-jwt-key")
	}
	err = about(c.names(settings...), err)
	if err := errors.Join(noURL, noID, wrongSecret, wrongKey, noUser, noSecret, err); err != nil {
		return nil, err
	}
	return crm, nil
}

// parseKey reads an RSA private key from PEM; it returns nil for an empty text. Its error repeats nothing of the text.
func parseKey(l setting) (*rsa.PrivateKey, error) {
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

// checkCRM prints every object and field that the organisation lacks.
type checkCRM struct {
	ConfigFlag
	EnvironmentFlag
	SalesforceFlags
}

func (f *checkCRM) Run(ctx context.Context, c *call) error {
	crm, err := f.salesforce(c, f.Environment)
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
	return errors.New("the organisation does not have what is needed: deploy adapters/out/salesforce/metadata (sf project deploy start " +
		"--metadata-dir) and assign its permission set Provider_Checkout, or say by --salesforce-mapping what it calls things")
}

// pullProviders stores the organisation's configuration, and prints the changes.
type pullProviders struct {
	StoreFlags
	EnvironmentFlag
	SalesforceFlags
	Prune  bool `help:"remove providers that the organisation does not have (their keys and checkouts stay)"`
	DryRun bool `help:"print what a pull would change, and store nothing; without a store, what a new one would get"`
	ReasonFlag
}

func (f *pullProviders) Run(ctx context.Context, c *call) error {
	crm, err := f.salesforce(c, f.Environment)
	if err != nil {
		return err
	}
	asked, cancel := context.WithTimeout(ctx, crmTimeout)
	defer cancel()
	named, err := configured(asked, crm)
	if err != nil {
		return fmt.Errorf("read the organisation's providers: %w", err)
	}
	if len(named) == 0 && f.Prune {
		return errors.New("the user sees no provider in the organisation: nothing is removed")
	} else if len(named) == 0 {
		fmt.Fprintln(c.Stderr, "the user sees no provider in the organisation")
	}
	change := operate.Change{Named: named, Prune: f.Prune, KeepDestinations: true, DryRun: f.DryRun}
	return c.configure(ctx, "crm pull", change)
}

// syncCRM has servers compare the CRM with what has changed since a time.
type syncCRM struct {
	ChangeFlags
	Since time.Time `type:"since" required:"" placeholder:"TIME" help:"checkouts that changed at this time or later (required): 2026-12-01 (UTC), 2026-12-01T03:00:00+13:00, or 2h for two hours ago"`
}

func (f *syncCRM) Run(ctx context.Context, c *call, operator operate.Operator) error {
	queued, err := operator.Sync(ctx, f.Since)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Stdout, "%s queued\n", counted(queued, "checkout"))
	return err
}

// configured returns every provider that the organisation configures. They have passed their Check.
func configured(ctx context.Context, crm *salesforce.CRM) ([]catalogue.Configuration, error) {
	file, places, faults, err := crm.ProviderFile(ctx)
	if err != nil {
		return nil, err
	}
	return providerfile.ParseRecords(file, places, faults)
}

// organisationTimeout bounds a server's wait for the CRM at its start, and for an answer of the time-stamp authority.
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
