package postgres

import (
	"context"
	"errors"
	"io"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

const (
	selectOwnSecret = `SELECT coalesce(own_secret, '') FROM @.store WHERE id = 1`
	updateOwnSecret = `UPDATE @.store SET own_secret = ? WHERE id = 1`
	forgetOwnSecret = `UPDATE @.store SET own_secret = NULL WHERE id = 1
		AND (own_secret <> encode(?, 'escape') OR CAST(? AS bool))`
)

// ownSecret implements [sqlstore.OwnSecret] in the store's row about itself.
type ownSecret struct{ rand io.Reader }

func (o ownSecret) Secret(ctx context.Context, t sqlstore.Tx, b *sqlstore.Batch, isNew bool) ([]byte, error) {
	secret, err := sqlstore.One(ctx, t, sqlstore.ScanValue[string], selectOwnSecret)
	switch {
	case err != nil || secret != "":
		return []byte(secret), err
	case !isNew:
		return nil, errors.New("it is encrypted under the operator's secret, and none was given")
	}
	secret, err = secrets.NewSecret(o.rand)
	b.Write(updateOwnSecret, secret)
	return []byte(secret), err
}

func (o ownSecret) Forget(b *sqlstore.Batch, g secrets.Grant) {
	b.Write(forgetOwnSecret, g.Secrets[0], g.Stamp.Environment == catalogue.Production)
}
