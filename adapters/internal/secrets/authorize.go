package secrets

import (
	"cmp"
	"crypto/rand"
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
	Fingerprint string                // of the secret that encrypts; "" before there is one
}

// Request is a request to open a store.
type Request struct {
	Environment catalogue.Environment // "" for an operator's command
	Secrets     [][]byte              // the operator's; empty for the store's own secret
	Rand        io.Reader             // crypto/rand if nil
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
	if g.Stamp, err = r.bind(stamp); err != nil {
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
	all := g.Encrypter.Fingerprints()
	recorded := slices.Index(all, stamp.Fingerprint)
	if stamp.Fingerprint != "" && recorded < 0 {
		return g, errors.New("it is encrypted under another secret than the operator's: " +
			"give the secret that it was opened with before, or a new one followed by that one")
	}
	g.Stamp.Fingerprint, g.Reencrypt = all[0], recorded > 0
	return g, nil
}

// bind returns the stamp with the environment to record. A new store is bound to the environment that it is first served for. A command
// binds nothing.
func (r Request) bind(stamp Stamp) (Stamp, error) {
	switch {
	case r.Environment == "":
		return stamp, nil
	case stamp.Environment != "" && stamp.Environment != r.Environment:
		return Stamp{}, fmt.Errorf("it belongs to the %s environment, and cannot be opened for %s", stamp.Environment, r.Environment)
	}
	stamp.Environment = r.Environment
	return stamp, nil
}

// NewSecret generates a store's own secret: the hexadecimal text of 32 random bytes, of crypto/rand if random is nil.
func NewSecret(random io.Reader) (string, error) {
	secret := make([]byte, checkout.MinSecret)
	if _, err := io.ReadFull(cmp.Or(random, rand.Reader), secret); err != nil {
		return "", fmt.Errorf("make a secret: %w", err)
	}
	return hex.EncodeToString(secret), nil
}
