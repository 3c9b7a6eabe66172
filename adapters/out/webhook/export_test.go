package webhook

import (
	"context"
	"crypto/x509"
	"net"
	"syscall"
)

// ParseTarget parses a destination as Send does.
var ParseTarget = parseTarget

// Guard returns the check that is made before each connection.
func Guard(o Options) func(network, address string, c syscall.RawConn) error {
	return newDialer(o).Control
}

// TrustOnly makes s accept certificates of these authorities only.
func (s *Sender) TrustOnly(roots *x509.CertPool) { s.transport.TLSClientConfig.RootCAs = roots }

// DialWith makes s connect to receivers with dial instead of the network.
func (s *Sender) DialWith(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	s.transport.DialContext = dial
}

// LookUpWith makes s look names up with r. Addresses are still checked.
func (s *Sender) LookUpWith(r *net.Resolver) {
	d := newDialer(Options{AllowPrivate: s.allowPrivate})
	d.Resolver = r
	s.transport.DialContext = d.DialContext
}
