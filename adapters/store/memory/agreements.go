package memory

import (
	"context"

	"github.com/provider-checkout/provider-checkout/agreement"
)

// Agreement implements [ports.Checkouts].
func (s *Store) Agreement(ctx context.Context, number string) (agreement.Agreement, error) {
	return read(ctx, s, func() (agreement.Agreement, error) {
		return found(s.rows[s.numbers[number]].agreement, "agreement "+number)
	})
}

// Document implements [ports.Checkouts].
func (s *Store) Document(ctx context.Context, number string) (agreement.Document, error) {
	return read(ctx, s, func() (agreement.Document, error) {
		return found(s.rows[s.numbers[number]].document, "document of agreement "+number)
	})
}
