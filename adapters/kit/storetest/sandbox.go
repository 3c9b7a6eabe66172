package storetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/provider-checkout/provider-checkout/ports"
)

// SandboxStore keeps what the fake processor knows of setups, where every process finds it.
type SandboxStore interface {
	// KeepSandboxRecord stores data under the name, unless there is something already: that stays.
	KeepSandboxRecord(ctx context.Context, name string, data []byte) error
	// SandboxRecord returns what is stored under the name, or ports.ErrNotFound.
	SandboxRecord(ctx context.Context, name string) ([]byte, error)
	// DropSandboxRecords removes what is stored under the names with this prefix.
	DropSandboxRecords(ctx context.Context, prefix string) error
}

// SandboxRecords tests a store against SandboxStore.
func SandboxRecords[S SandboxStore](t *testing.T, open func(t *testing.T) S) {
	for _, promise := range []struct {
		name  string
		check func(t *testing.T, s SandboxStore)
	}{
		{"a record comes back byte for byte", func(t *testing.T, s SandboxStore) {
			for i, text := range oddTexts() {
				keep(t, s, "name "+text, fmt.Sprint("\x00\xff", i, text))
			}
			for i, text := range oddTexts() {
				same(t, "record", kept(t, s, "name "+text), fmt.Sprint("\x00\xff", i, text))
			}
			keep(t, s, "empty", "")
			same(t, "the empty record", kept(t, s, "empty"), "")
		}},
		{"what is stored first under a name stays, also of many concurrent records", sandboxStays},
		{"a record that does not exist is not found", func(t *testing.T, s SandboxStore) {
			keep(t, s, "name", "data")
			for _, name := range []string{"", "NAME", "nam", "name "} {
				_, err := s.SandboxRecord(t.Context(), name)
				refused(t, "SandboxRecord "+name, err, ports.ErrNotFound)
			}
		}},
		{"the records of a prefix are removed, and no others", sandboxDropped},
		{"records share no memory with the store", func(t *testing.T, s SandboxStore) {
			data := []byte("data")
			must(t, "KeepSandboxRecord", s.KeepSandboxRecord(t.Context(), "name", data))
			data[0] = 'X'
			for range 2 {
				got := result(s.SandboxRecord(t.Context(), "name"))(t)
				same(t, "record", string(got), "data")
				got[0] = 'X'
			}
		}},
	} {
		t.Run(promise.name, func(t *testing.T) { promise.check(t, open(t)) })
	}
}

func keep(t *testing.T, s SandboxStore, name, data string) {
	t.Helper()
	must(t, "KeepSandboxRecord "+name, s.KeepSandboxRecord(t.Context(), name, []byte(data)))
}

func kept(t *testing.T, s SandboxStore, name string) string {
	t.Helper()
	data := result(s.SandboxRecord(t.Context(), name))(t)
	return string(data)
}

func sandboxStays(t *testing.T, s SandboxStore) {
	keep(t, s, "name", "first")
	keep(t, s, "name", "second")
	keep(t, s, "other", "third")
	same(t, "record", kept(t, s, "name"), "first")
	seen := make([]string, many)
	allSucceed(t, "KeepSandboxRecord", many, func(i int) error {
		if err := s.KeepSandboxRecord(t.Context(), "raced", fmt.Append(nil, i)); err != nil {
			return err
		}
		data, err := s.SandboxRecord(t.Context(), "raced")
		seen[i] = string(data)
		return err
	})
	for _, got := range seen {
		same(t, "the record, seen by each", got, seen[0])
	}
}

func sandboxDropped(t *testing.T, s SandboxStore) {
	for _, name := range []string{"start/BR1/a", "start/BR1/b", "start/BR2/a", "start/BR1", "x/start/BR1/a", "start/br1/a", "start/_R1/a"} {
		keep(t, s, name, name)
	}
	for range 2 {
		must(t, "DropSandboxRecords", s.DropSandboxRecords(t.Context(), "start/BR1/"))
	}
	must(t, "DropSandboxRecords", s.DropSandboxRecords(t.Context(), "start/%"))
	for _, name := range []string{"start/BR1/a", "start/BR1/b"} {
		_, err := s.SandboxRecord(t.Context(), name)
		refused(t, "SandboxRecord "+name, err, ports.ErrNotFound)
	}
	for _, name := range []string{"start/BR2/a", "start/BR1", "x/start/BR1/a", "start/br1/a", "start/_R1/a"} {
		same(t, "record", kept(t, s, name), name)
	}
}
