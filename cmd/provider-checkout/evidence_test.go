package main

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
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
