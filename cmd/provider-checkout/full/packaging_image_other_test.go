//go:build !linux

package full_test

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

func imageRuns(t *testing.T, _ proc.Binary) { t.Skip("an image is of Linux") }
