// Package migration numbers the migrations of an SQL store, and decides which of them a store has yet to run.
//
// Migrations are numbered from 1 without a gap, run in their order, and never changed once a release has them. Each leaves
// a schema that the release before can use, because processes of both may have the store open while one replaces the other.
package migration

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Migration is one step from a schema to the next.
type Migration struct {
	Number   int
	Script   string
	Checksum string // of the script, in hexadecimal; a store keeps the checksums of the migrations that it has run
}

// ErrDevelopment is the error for a store whose migrations differ from a release's.
var ErrDevelopment = errors.New("a development version made this store, and no release can read it: start with an empty one")

// Read returns the migrations in the files of a folder, which are named 0001_<words>.sql and so on.
func Read(files fs.FS, folder string) ([]Migration, error) {
	names, err := fs.Glob(files, folder+"/*.sql")
	if err != nil {
		return nil, err
	}
	list := make([]Migration, len(names))
	for i, name := range names {
		if !strings.HasPrefix(name, fmt.Sprintf("%s/%04d_", folder, i+1)) {
			return nil, fmt.Errorf("%s is not number %d", name, i+1)
		}
		script, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		list[i] = New(i+1, string(script))
	}
	return list, nil
}

// New returns the migration with this number.
func New(number int, script string) Migration {
	sum := sha256.Sum256([]byte(script))
	return Migration{Number: number, Script: script, Checksum: hex.EncodeToString(sum[:])}
}

// ErrOlder is the error for a store that is only read and has yet to run a migration.
var ErrOlder = errors.New("its schema is older than this program's: start a server of this version first")

// Ran returns nil if a store that has run migrations of these checksums has yet to run none of the program's.
func Ran(own []Migration, ran []string) error {
	pending, err := Pending(own, ran)
	if err == nil && len(pending) > 0 {
		err = ErrOlder
	}
	return err
}

// Pending returns the migrations that a store has yet to run, given the checksums of the migrations that it has run, in their order.
// A program accepts a schema that is one version newer than its own. Pending returns an error for a newer one, and
// ErrDevelopment where the store has run another migration under a number of the program's.
func Pending(own []Migration, ran []string) ([]Migration, error) {
	for i, m := range own[:min(len(own), len(ran))] {
		if ran[i] != m.Checksum {
			return nil, ErrDevelopment
		}
	}
	if len(ran) > len(own)+1 {
		return nil, fmt.Errorf("version %d of the schema is too new for this program's %d: run the newer program", len(ran), len(own))
	}
	return own[min(len(own), len(ran)):], nil
}
