package sqlite

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
)

func TestMain(m *testing.M) { testlevel.Main(m, 25) }
