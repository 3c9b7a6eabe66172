// Package storetest holds every store to what package ports promises.
package storetest

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/ports"
)

// Store runs the whole suite. open returns a new, empty store each time, closed by t.Cleanup.
func Store(t *testing.T, open func(t *testing.T) ports.Store) { panic("todo") }
