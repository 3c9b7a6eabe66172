package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/adapters/store/migration"
	"github.com/provider-checkout/provider-checkout/adapters/store/privatefile"
)

// Restore makes a new store at path from a backup, with the operator's secrets or, without any, the store's own, which is
// beside the place of the store already or else beside the backup, under its name with .secret. It fails, and makes no
// store, if there is a store or what belongs to one, if the backup is damaged or of a program that is two
// versions newer, or if none of the secrets is the store's.
//
// Nothing is given a name that was given before: the numbers of agreements and the ids of checkouts are random, and that
// of an event follows from its body.
func Restore(ctx context.Context, backup, path string, operators [][]byte) (contents Contents, err error) {
	db, err := openSource(ctx, backup, "ro")
	if err == nil {
		defer db.Close()
		contents, err = restore(ctx, db, path, operators, path+secretSuffix, backup+secretSuffix)
	}
	if err != nil {
		return Contents{}, fmt.Errorf("restore store %s from %s: %w", path, backup, err)
	}
	return contents, nil
}

// RestoreFrom makes the same from the bytes of a backup, which take room beside the store meanwhile.
func RestoreFrom(ctx context.Context, backup io.Reader, path string, operators [][]byte) (contents Contents, err error) {
	f, err := privatefile.New(filepath.Dir(path))
	if err == nil {
		defer f.Close()
		_, err = io.Copy(f, backup)
	}
	if err == nil {
		err = onFile(f.File, func(db *sql.DB) error {
			contents, err = restore(ctx, db, path, operators, path+secretSuffix)
			return err
		})
	}
	if err != nil {
		return Contents{}, fmt.Errorf("restore store %s: %w", path, err)
	}
	return contents, nil
}

// restore copies the backup to a new store, whose own secret is in one of the files, if it has any.
func restore(ctx context.Context, backup *sql.DB, path string, operators [][]byte, own ...string) (Contents, error) {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if _, err := os.Lstat(path + suffix); err == nil {
			return Contents{}, fmt.Errorf("%s%s is there, and may be of a live store: stop its server, and move every file of the store away but %s%s", path, suffix, path, secretSuffix)
		}
	}
	return copyStore(ctx, backup, filepath.Dir(path), func(copied *privatefile.File, db *sql.DB) error {
		if err := checkVersion(ctx, db); err != nil {
			return err
		}
		if err := placeSecret(ctx, db, path, operators, own); err != nil {
			return err
		}
		return copied.Publish(path)
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

// placeSecret checks that a secret opens the copy: one of the operator's, or that in one of the files. It is put beside the store.
func placeSecret(ctx context.Context, copied *sql.DB, path string, operators [][]byte, files []string) error {
	var stamp secrets.Stamp
	err := copied.QueryRowContext(ctx, `SELECT environment, secret_fingerprint FROM store`).
		Scan((*string)(&stamp.Environment), &stamp.Fingerprint)
	if err != nil {
		return fmt.Errorf("read stamp: %w", err)
	}
	own, source := []byte(nil), path+secretSuffix
	_, err = secrets.Request{Secrets: operators}.Authorize(stamp, func(bool) ([]byte, error) {
		for _, source = range files {
			if own, err = os.ReadFile(source); !errors.Is(err, fs.ErrNotExist) {
				return bytes.TrimSpace(own), err
			}
		}
		return nil, fmt.Errorf("neither %s is there, and no other secret was given: put it there, or give the operator's secret",
			strings.Join(files, " nor "))
	})
	if err != nil || source == path+secretSuffix {
		return err
	}
	return privatefile.Write(path+secretSuffix, own)
}
