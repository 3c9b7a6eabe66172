package seal

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/provider-checkout/provider-checkout/catalogue"
)

// ErrNoSecret is why a store of production does not open without the operator's secret.
var ErrNoSecret = errors.New("production needs the operator's secret: none was given")

// Check returns an error for an environment ("" for an operator's command, which has none) and secrets that no store can
// be opened with. Without secrets a store of the sandbox uses one of its own.
func Check(env catalogue.Environment, secrets [][]byte) error {
	switch {
	case env != "" && !env.Valid():
		return fmt.Errorf("%q is not an environment", env)
	case len(secrets) == 0 && env == catalogue.Production:
		return ErrNoSecret
	case len(secrets) == 0:
		return nil
	}
	_, err := New(secrets, nil)
	return err
}

// Enter returns the environment of a store that is opened for another, or for none: a store without one takes
// that which it is opened for first, and is refused to the other from then on.
func Enter(store, opened catalogue.Environment) (catalogue.Environment, error) {
	switch {
	case store == "":
		return opened, nil
	case opened != "" && opened != store:
		return "", fmt.Errorf("it belongs to the %s environment, and cannot be opened for %s", store, opened)
	}
	return store, nil
}

// Unlocks returns the fingerprint of the secret that seals from now on in a store whose secret has the given one, ""
// where it has none yet. anew says that what is sealed must be sealed anew. A store whose
// secret is not in the box is refused.
func (b *Box) Unlocks(fingerprint string) (sealing string, anew bool, err error) {
	prints := b.Fingerprints()
	switch {
	case fingerprint == "" || fingerprint == prints[0]:
		return prints[0], false, nil
	case slices.Contains(prints, fingerprint):
		return prints[0], true, nil
	}
	return "", false, errors.New("the operator's secret is not the one that seals it: " +
		"give that one, or a new one followed by that one")
}

// NewSecret returns a secret for a store of its own: the hexadecimal text of 32 random bytes.
func NewSecret(rand io.Reader) (string, error) {
	secret := make([]byte, MinSecret)
	if _, err := io.ReadFull(rand, secret); err != nil {
		return "", fmt.Errorf("make secret: %w", err)
	}
	return hex.EncodeToString(secret), nil
}
