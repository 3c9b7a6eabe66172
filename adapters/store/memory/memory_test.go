package memory_test

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/storetest"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/ports"
)

func TestStore(t *testing.T) {
	storetest.Store(t, func(*testing.T) ports.Admin { return memory.New() })
}

func TestNotifications(t *testing.T) {
	storetest.Notifications(t, func(*testing.T) *memory.Store { return memory.New() })
}

func TestSandboxRecords(t *testing.T) {
	storetest.SandboxRecords(t, func(*testing.T) *memory.Store { return memory.New() })
}
