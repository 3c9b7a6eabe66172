package proc

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// QuietAddr returns a free address with a port that the kernel does not assign by itself, so that the port refuses
// connections once its process has ended.
func QuietAddr(t testing.TB, rng *rand.Rand) string {
	t.Helper()
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 20000+rng.IntN(12000))
		if ln, err := net.Listen("tcp", addr); err == nil {
			ln.Close()
			return addr
		}
	}
	t.Fatal("no port is free")
	return ""
}
