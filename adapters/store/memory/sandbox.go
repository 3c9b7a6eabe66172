package memory

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/provider-checkout/provider-checkout/ports"
)

// KeepSandboxRecord stores what the fake processor keeps under a name, unless there is something already: that stays.
func (s *Store) KeepSandboxRecord(ctx context.Context, name string, data []byte) error {
	return s.locked(ctx, func() error {
		if !has(s.sandbox, name) {
			s.sandbox[name] = copyOf(data)
		}
		return nil
	})
}

// SandboxRecord returns what was kept under the name, or ports.ErrNotFound.
func (s *Store) SandboxRecord(ctx context.Context, name string) ([]byte, error) {
	return read(ctx, s, func() (data []byte, err error) {
		kept, ok := s.sandbox[name]
		if !ok {
			return data, fmt.Errorf("sandbox record %s: %w", name, ports.ErrNotFound)
		}
		return kept, nil
	})
}

// DropSandboxRecords removes what was kept under the names with this prefix.
func (s *Store) DropSandboxRecords(ctx context.Context, prefix string) error {
	return s.locked(ctx, func() error {
		maps.DeleteFunc(s.sandbox, func(name string, _ []byte) bool { return strings.HasPrefix(name, prefix) })
		return nil
	})
}
