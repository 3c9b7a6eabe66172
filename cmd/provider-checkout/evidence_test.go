package main

import (
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
)

// privateKey returns an evidence key that signs.
func privateKey(t testing.TB) string {
	t.Helper()
	private, err := evidence.NewKey("evidence.test", [32]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	return private
}
