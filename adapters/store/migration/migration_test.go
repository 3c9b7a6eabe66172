package migration_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/provider-checkout/provider-checkout/adapters/store/migration"
)

func TestRead(t *testing.T) {
	folder := fstest.MapFS{"m/0001_initial.sql": {Data: []byte("one")}, "m/0002_more.sql": {Data: []byte("two")}}
	want := []migration.Migration{migration.New(1, "one"), migration.New(2, "two")}
	if got, err := migration.Read(folder, "m"); err != nil || !slices.Equal(got, want) {
		t.Errorf("Read = %v, %v; want %v", got, err, want)
	}
	folder["m/0004_gap.sql"] = &fstest.MapFile{}
	if _, err := migration.Read(folder, "m"); err == nil || !strings.Contains(err.Error(), "0004_gap.sql is not number 3") {
		t.Errorf("Read of a folder with a gap: got error %v", err)
	}
}

func TestPending(t *testing.T) {
	one, two, three := migration.New(1, "one"), migration.New(2, "two"), migration.New(3, "three")
	own := []migration.Migration{one, two}
	for _, tt := range []struct {
		name string
		ran  []string
		want []migration.Migration
	}{
		{"a new store", nil, own},
		{"a store of the version before", []string{one.Checksum}, own[1:]},
		{"a store of this version", []string{one.Checksum, two.Checksum}, nil},
		{"a store of the next version", []string{one.Checksum, two.Checksum, three.Checksum}, nil},
	} {
		if got, err := migration.Pending(own, tt.ran); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("Pending of %s = %v, %v; want %v", tt.name, got, err, tt.want)
		}
	}
	_, err := migration.Pending(own, []string{one.Checksum, two.Checksum, three.Checksum, "four"})
	if err == nil || !strings.Contains(err.Error(), "version 4 of the schema is too new for this program's 2") {
		t.Errorf("Pending of a store that is two versions newer: got error %v", err)
	}
	for name, ran := range map[string][]string{
		"whose first migration was another":                        {"another"},
		"whose second migration was another":                       {one.Checksum, "another"},
		"that is newer, and whose first migration was another one": {"another", two.Checksum, three.Checksum, "four"},
	} {
		if _, err := migration.Pending(own, ran); !errors.Is(err, migration.ErrDevelopment) {
			t.Errorf("Pending of a store %s: got error %v, want ErrDevelopment", name, err)
		}
	}
}
