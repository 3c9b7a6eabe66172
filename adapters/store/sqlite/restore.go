package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/adapters/store/migration"
)

// Restore makes a new store at path from a backup, with the operator's secrets or, without any, the store's own, which is
// beside the place of the store already or else beside the backup, under its name with .secret. It fails, and makes no
// store, if there is a store or what belongs to one, if the backup is damaged or of a program that is two
// versions newer, or if none of the secrets is the store's.
//
// Nothing is given a name that was given before: the numbers of agreements and the ids of checkouts are random, and that
// of an event follows from its body.
func Restore(ctx context.Context, backup, path string, operators [][]byte) (Contents, error) {
	contents, err := restore(ctx, backup, path, operators)
	if err != nil {
		return Contents{}, fmt.Errorf("restore store %s from %s: %w", path, backup, err)
	}
	return contents, nil
}

func restore(ctx context.Context, backup, path string, operators [][]byte) (Contents, error) {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if _, err := os.Lstat(path + suffix); err == nil {
			return Contents{}, fmt.Errorf("%s%s is there, and may be of a live store: stop its server, and move every file of the store away but %s%s", path, suffix, path, secretSuffix)
		}
	}
	return copyStore(ctx, backup, "ro", path, checkVersion, func(ctx context.Context, copied *sql.DB) error {
		return placeSecret(ctx, copied, backup, path, operators)
	})
}

// checkVersion returns an error if this program cannot open a store with the schema that the copy has.
func checkVersion(ctx context.Context, copied *sql.DB) error {
	own, err := ownMigrations()
	if err != nil {
		return err
	}
	ran, err := ranMigrations(ctx, newPool(copied))
	if err != nil {
		return err
	}
	_, err = migration.Pending(own, ran)
	return err
}

// placeSecret checks that a secret opens the copy. If it is the one beside the backup, it is put beside the store.
func placeSecret(ctx context.Context, copied *sql.DB, backup, path string, operators [][]byte) error {
	var stamp secrets.Stamp
	err := copied.QueryRowContext(ctx, `SELECT environment, secret_fingerprint FROM store`).
		Scan((*string)(&stamp.Environment), &stamp.Fingerprint)
	if err != nil {
		return fmt.Errorf("read stamp: %w", err)
	}
	own, source := []byte(nil), ""
	_, err = secrets.Request{Secrets: operators}.Authorize(stamp, func(bool) ([]byte, error) {
		for _, source = range []string{path + secretSuffix, backup + secretSuffix} {
			if own, err = os.ReadFile(source); !errors.Is(err, fs.ErrNotExist) {
				return bytes.TrimSpace(own), err
			}
		}
		return nil, fmt.Errorf("neither %s%s nor %s%[2]s is there, and no other secret was given: put it there, or give the operator's secret",
			path, secretSuffix, backup)
	})
	if err != nil || source != backup+secretSuffix {
		return err
	}
	return writeNew(path+secretSuffix, own)
}
