package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/internal/seal"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

// stamp is what a store says of itself.
type stamp struct {
	environment catalogue.Environment
	fingerprint string // of the secret that seals
	ownSecret   string // "" where there is none
}

func (s *stamp) read(r pgx.Row) error { return r.Scan(&s.environment, &s.fingerprint, &s.ownSecret) }

const updateStamp = `UPDATE store SET environment = $1, secret_fingerprint = $2, own_secret = nullif($3, '') WHERE id = 1`

// admit lets the caller in if environment and secret are the store's, and stamps a store
// that has none yet. It may run again: what it decides follows from what is on record.
func (db *DB) admit(ctx context.Context, o Options) error {
	return db.do(ctx, func(ctx context.Context, t *try) error {
		var was stamp
		if err := t.begin(ctx, was.read, lockStore); err != nil {
			return fmt.Errorf("read stamp: %w", err)
		}
		now := was
		var err error
		if now.environment, err = seal.Enter(was.environment, o.Environment); err != nil {
			return err
		}
		var b pgx.Batch
		if err := db.unlock(ctx, t, &b, &now, o); err != nil {
			return err
		}
		if now == was {
			return nil
		}
		b.Queue(updateStamp, now.environment, now.fingerprint, now.ownSecret)
		return t.commit(ctx, &b)
	})
}

// unlock takes the operator's secrets into use, or the store's own, and puts into the stamp what
// becomes of it. A secret of its own that the operator's replaces is forgotten, and so is any in production.
func (db *DB) unlock(ctx context.Context, t *try, b *pgx.Batch, s *stamp, o Options) (err error) {
	secrets := o.Secrets
	if len(secrets) == 0 {
		if s.ownSecret, err = ownSecret(*s, o.Rand); err != nil {
			return err
		}
		secrets = [][]byte{[]byte(s.ownSecret)}
	} else if s.environment == catalogue.Production || s.ownSecret != string(secrets[0]) {
		s.ownSecret = ""
	}
	box, err := seal.New(secrets, o.Rand)
	if err != nil {
		return err
	}
	db.secrets, db.box = secrets, box
	var anew bool
	if s.fingerprint, anew, err = box.Unlocks(s.fingerprint); err != nil || !anew {
		return err
	}
	if err := db.sealAnew(ctx, t, b); err != nil {
		return fmt.Errorf("seal anew: %w", err)
	}
	return nil
}

// ownSecret returns the secret that the store keeps for itself. A store that has no secret yet gets
// one.
func ownSecret(s stamp, rand io.Reader) (string, error) {
	switch {
	case s.environment == catalogue.Production:
		return "", seal.ErrNoSecret
	case s.ownSecret != "":
		return s.ownSecret, nil
	case s.fingerprint != "":
		return "", errors.New("it is sealed under the operator's secret, and none was given")
	}
	return seal.NewSecret(rand)
}

// sealAnew queues the sealing of every webhook secret under the first of the operator's secrets.
func (db *DB) sealAnew(ctx context.Context, t *try, b *pgx.Batch) error {
	providers, err := rows(ctx, t.conn, db.scanProvider, selectProviders)
	if err != nil {
		return err
	}
	for _, p := range providers {
		if p.Destination.Secret == "" {
			continue
		}
		sealed, err := db.box.Seal([]byte(p.Destination.Secret), sealedAt(p.Code))
		if err != nil {
			return err
		}
		b.Queue(`UPDATE providers SET webhook_secret = $1 WHERE code = $2`, sealed, p.Code)
	}
	return nil
}
