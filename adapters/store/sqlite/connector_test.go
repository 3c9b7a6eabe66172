package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"modernc.org/sqlite"

	"github.com/provider-checkout/provider-checkout/ports"
)

// meddler is a connector that calls a function while it opens a connection.
type meddler struct {
	driver.Connector
	opens, reads func() // before the file is opened, and before it is read
}

func (m meddler) Connect(ctx context.Context) (driver.Conn, error) {
	m.opens()
	conn, err := m.Connector.Connect(ctx)
	return meddled{conn, m.reads}, err
}

type meddled struct {
	driver.Conn
	reads func()
}

func (m meddled) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	m.reads()
	return m.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

// The file may be replaced just when a connection is opened.
func TestAConnectionOfAnotherFileIsClosedBeforeAnybodyUsesIt(t *testing.T) {
	for _, tt := range []struct {
		name  string
		first bool // it is the first connection of a process
		late  bool // the file is replaced when the connection has opened it, before it reads
	}{
		{"a further one, when it is opened", false, false},
		{"a further one, when it reads", false, true},
		{"the first, when it is opened", true, false},
		{"the first, when it reads", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			folder := t.TempDir()
			path, other := filepath.Join(folder, "store.db"), filepath.Join(folder, "other.db")
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			db, err := Open(t.Context(), path, Options{})
			must(err)
			defer func() { must(db.Close()) }()
			must(Backup(t.Context(), path, other))
			at, mode := db.writer.place, "ro"
			if tt.first {
				must(db.Close())
				at, err = placeOf(path)
				must(err)
				mode = "rw"
			}
			before, err := os.ReadFile(other)
			must(err)
			base, err := sqlite.NewConnector(dsn(path, mode))
			must(err)
			replace := sync.OnceFunc(func() { must(errors.Join(os.Rename(path, path+".away"), os.Rename(other, path))) })
			m := meddler{base, replace, func() { t.Error("a connection of the other file reads") }}
			if tt.late {
				m = meddler{base, func() {}, replace}
			}

			conn, err := connector{Connector: m, place: at}.Connect(t.Context())
			if !errors.Is(err, ports.ErrBusy) || !strings.Contains(err.Error(), "was replaced") {
				t.Errorf("Connect = %v, %v; want ErrBusy that says that the file was replaced", conn, err)
			}
			after, err := os.ReadFile(path)
			must(err)
			if string(after) != string(before) {
				t.Error("the other file was changed")
			}
			must(os.Rename(path+".away", path))
			if !tt.first {
				must(db.Ready(t.Context()))
			}
		})
	}
}
