package memory_test

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/storetest"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/ports"
)

func open(*testing.T) ports.Admin { return memory.New() }

func TestStore(t *testing.T) {
	storetest.Store(t, func(t *testing.T) ports.Admin {
		t.Parallel()
		return open(t)
	})
}

func TestClock(t *testing.T) { storetest.CallersClock(t, open) }

func TestSame(t *testing.T) { storetest.Same(t, open, open) }

func TestSandboxRecords(t *testing.T) {
	storetest.SandboxRecords(t, func(*testing.T) *memory.Store { return memory.New() })
}
