package secrets

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// ErrNoSecret: a store of production does not open without the operator's secret.
var ErrNoSecret = errors.New("production needs the operator's secret: none was given")

// Stamp is a store's record of the servers that may open it. A new store has the zero Stamp.
type Stamp struct {
	Environment catalogue.Environment // of the first server; "" before
	CRM         string                // of the first server; "" before
	Fingerprint string                // of the secret that encrypts; "" before there is one
}

// Request is a request to open a store.
type Request struct {
	Environment catalogue.Environment // "" for an operator's command
	CRM         string                // outside of the store; "" where the store is the CRM
	Secrets     [][]byte              // the operator's; empty for the store's own secret
	Rand        io.Reader
}

// Grant is the result of an authorized Request.
type Grant struct {
	Stamp     Stamp // to be recorded
	Secrets   [][]byte
	Encrypter *Encrypter
	Reencrypt bool // what is encrypted must be encrypted again under the first secret
}

// Check returns an error for a request that no store can grant.
func (r Request) Check() error {
	switch {
	case r.Environment != "" && !r.Environment.Valid():
		return fmt.Errorf("%q is not an environment", r.Environment)
	case len(r.Secrets) == 0 && r.Environment == catalogue.Production:
		return ErrNoSecret
	case len(r.Secrets) == 0:
		return nil
	}
	_, err := New(r.Secrets, nil)
	return err
}

// Authorize grants the request for the store with this stamp, or returns the reason for refusing it. own returns the
// store's own secret. It is called if the request has no secret and the store is not of production, and it generates
// a secret for a new store.
func (r Request) Authorize(stamp Stamp, own func(isNew bool) ([]byte, error)) (g Grant, err error) {
	if g.Stamp.Environment, err = CheckEnvironment(stamp.Environment, r.Environment); err != nil {
		return g, err
	}
	if g.Stamp.CRM, err = r.checkCRM(stamp.CRM); err != nil {
		return g, err
	}
	g.Secrets = r.Secrets
	if len(g.Secrets) == 0 {
		if g.Stamp.Environment == catalogue.Production {
			return g, ErrNoSecret
		}
		secret, err := own(stamp.Fingerprint == "")
		if err != nil {
			return g, err
		}
		g.Secrets = [][]byte{secret}
	}
	if g.Encrypter, err = New(g.Secrets, r.Rand); err != nil {
		return g, err
	}
	g.Stamp.Fingerprint, g.Reencrypt, err = g.Encrypter.MatchKey(stamp.Fingerprint)
	return g, err
}

// CheckEnvironment returns the environment to record in a store. A new store is bound to the first environment that
// it is opened for, and cannot be opened for the other from then on.
func CheckEnvironment(recorded, requested catalogue.Environment) (catalogue.Environment, error) {
	switch {
	case recorded == "":
		return requested, nil
	case requested != "" && requested != recorded:
		return "", fmt.Errorf("it belongs to the %s environment, and cannot be opened for %s", recorded, requested)
	}
	return recorded, nil
}

// Embedded is the CRM of a store that is the CRM itself.
const Embedded = "embedded"

// checkCRM returns the CRM to record in a store. A new store is bound to the first CRM that it is served with: the
// records of its checkouts are there.
func (r Request) checkCRM(recorded string) (string, error) {
	requested := cmp.Or(r.CRM, Embedded)
	switch {
	case r.Environment == "":
		return recorded, nil
	case recorded != "" && recorded != requested:
		return "", fmt.Errorf("its records are in the %s CRM, and it cannot be opened for %s: serve it with --crm %[1]s, or another store", recorded, requested)
	}
	return requested, nil
}

// MatchKey returns the fingerprint to record in a store with this recorded fingerprint ("" for a new store), and whether
// the encrypted values of the store must be encrypted again under the first secret. It returns an error if the store's
// secret is not among the Encrypter's.
func (e *Encrypter) MatchKey(recorded string) (fingerprint string, reencrypt bool, err error) {
	all := e.Fingerprints()
	switch {
	case recorded == "" || recorded == all[0]:
		return all[0], false, nil
	case slices.Contains(all, recorded):
		return all[0], true, nil
	}
	return "", false, errors.New("it is encrypted under another secret than the operator's: " +
		"give the secret that it was opened with before, or a new one followed by that one")
}

// NewSecret generates a store's own secret: the hexadecimal text of 32 random bytes.
func NewSecret(rand io.Reader) (string, error) {
	secret := make([]byte, checkout.MinSecret)
	if _, err := io.ReadFull(rand, secret); err != nil {
		return "", fmt.Errorf("make a secret: %w", err)
	}
	return hex.EncodeToString(secret), nil
}
