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
	guard := []ssrf.Option{ssrf.WithAnyPort()} // parseTarget checks the port
	if o.AllowPrivate {
		guard = append(guard,
			ssrf.WithAllowedV4Prefixes(
				netip.MustParsePrefix("127.0.0.0/8"),
				netip.MustParsePrefix("10.0.0.0/8"),
				netip.MustParsePrefix("172.16.0.0/12"),
				netip.MustParsePrefix("192.168.0.0/16")),
			ssrf.WithAllowedV6Prefixes(
				netip.MustParsePrefix("::1/128"),
				netip.MustParsePrefix("fc00::/7")))
	}
	guardian := ssrf.New(guard...)
	return &net.Dialer{Timeout: timeout, Control: func(network, address string, c syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return ssrf.ErrInvalidHostPort
		}
		ip := to.Addr().WithZone("")
		if catalogue.IsMetadata(ip) {
			return fmt.Errorf("%w: %s is a cloud's metadata service", ssrf.ErrProhibitedIP, ip)
		}
		return guardian.Safe(network, address, c)
	}}
}
