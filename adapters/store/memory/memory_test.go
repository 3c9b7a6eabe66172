package memory_test

import (
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/storetest"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/ports"
)

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Opener{
		Open: func(t *testing.T, now func() time.Time) ports.Admin { return memory.New(now) },
	})
}
