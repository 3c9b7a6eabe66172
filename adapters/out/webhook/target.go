package webhook

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"

	"code.dny.dev/ssrf"

	"github.com/provider-checkout/provider-checkout/catalogue"
)

// The reasons for refusing a destination before it is dialled.
var (
	errNotURL   = errors.New("destination is not a URL with a host")
	errNotHTTPS = errors.New("destination is not https")
	errUserInfo = errors.New("destination holds user information")
	errPort     = errors.New("destination's port is neither 443 nor from 1024 up")
)

// parseTarget parses a destination. Its errors do not quote it, because its query may be confidential.
func parseTarget(raw string, allowPrivate bool) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Hostname() == "":
		return nil, errNotURL
	case u.User != nil:
		return nil, errUserInfo
	case allowPrivate && u.Scheme == "http":
		return u, nil
	case u.Scheme != "https":
		return nil, errNotHTTPS
	case !allowPrivate && !portAllowed(u.Port()):
		return nil, errPort
	}
	return u, nil
}

// portAllowed reports whether events may go to a port. The ports of other protocols are refused.
func portAllowed(port string) bool {
	n, err := strconv.ParseUint(cmp.Or(port, "443"), 10, 16)
	return err == nil && (n == 443 || n >= 1024)
}

// newDialer returns a dialer that checks each address before it connects to it.
func newDialer(o Options) *net.Dialer {
	guardian := ssrf.New(ssrf.WithAnyPort()) // parseTarget checks the port
	return &net.Dialer{Timeout: timeout, Control: func(network, address string, c syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return ssrf.ErrInvalidHostPort
		}
		switch ip := to.Addr().WithZone(""); {
		case catalogue.IsMetadata(ip):
			return fmt.Errorf("%w: %s is a cloud's metadata service", ssrf.ErrProhibitedIP, ip)
		case o.AllowPrivate && !ip.Is4In6() && (ip.IsLoopback() || ip.IsPrivate()):
			return nil
		}
		return guardian.Safe(network, address, c)
	}}
}
