package memory

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/provider-checkout/provider-checkout/ports"
)

// KeepSandboxRecord stores a record of the fake processor under a name, unless there is one already: that stays.
func (s *Store) KeepSandboxRecord(ctx context.Context, name string, data []byte) error {
	return s.locked(ctx, func() error {
		if _, ok := s.sandbox[name]; !ok {
			s.sandbox[name] = copyOf(data)
		}
		return nil
	})
}

// SandboxRecord returns the record under a name, or ports.ErrNotFound.
func (s *Store) SandboxRecord(ctx context.Context, name string) ([]byte, error) {
	return read(ctx, s, func() ([]byte, error) {
		if data, ok := s.sandbox[name]; ok {
			return data, nil
		}
		return nil, fmt.Errorf("sandbox record %s: %w", name, ports.ErrNotFound)
	})
}

// DropSandboxRecords removes the records under the names with a prefix.
func (s *Store) DropSandboxRecords(ctx context.Context, prefix string) error {
	return s.locked(ctx, func() error {
		maps.DeleteFunc(s.sandbox, func(name string, _ []byte) bool { return strings.HasPrefix(name, prefix) })
		return nil
	})
}
