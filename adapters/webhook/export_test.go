package webhook

import (
	"context"
	"crypto/x509"
	"net"
	"syscall"
)

// ParseTarget is how Send reads a destination.
var ParseTarget = parseTarget

// Guard returns what is asked before each connection.
func Guard(o Options) func(network, address string, c syscall.RawConn) error {
	return newDialer(o).Control
}

// TrustOnly makes s accept certificates of these authorities alone.
func (s *Sender) TrustOnly(roots *x509.CertPool) { s.transport.TLSClientConfig.RootCAs = roots }

// DialWith makes s reach receivers through dial in place of the network.
func (s *Sender) DialWith(dial func(ctx context.Context, network, address string) (net.Conn, error)) {
	s.transport.DialContext = dial
}

// LookUpWith makes s look names up with r. Addresses are guarded as ever.
func (s *Sender) LookUpWith(r *net.Resolver) {
	d := newDialer(Options{AllowPrivate: s.allowPrivate})
	d.Resolver = r
	s.transport.DialContext = d.DialContext
}

// MaxConns is how many connections a receiver can hold.
const MaxConns = maxConns
