package memory_test

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/memory"
	"github.com/provider-checkout/provider-checkout/adapters/storetest"
	"github.com/provider-checkout/provider-checkout/ports"
)

func TestStore(t *testing.T) {
	storetest.Store(t, func(*testing.T) ports.Store { return memory.New() })
}
