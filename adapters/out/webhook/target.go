package webhook

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"syscall"

	"code.dny.dev/ssrf"
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

// metadata returns the addresses at which clouds serve what their machines alone may know, credentials among it, and which
// stand in ranges that are otherwise allowed: the public address of Azure's host, and addresses of other clouds that look private.
func metadata() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("168.63.129.16/32"),       // Azure
		netip.MustParsePrefix("fd00:ec2::/32"),          // AWS: metadata, credentials of pods, name and time servers
		netip.MustParsePrefix("fd20:ce::/32"),           // Google
		netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), // Oracle
		netip.MustParsePrefix("fd00:42::42/128"),        // Scaleway
	}
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
	guardian, refused := ssrf.New(guard...), metadata()
	return &net.Dialer{Timeout: timeout, Control: func(network, address string, c syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return ssrf.ErrInvalidHostPort
		}
		ip := to.Addr().WithZone("")
		if slices.ContainsFunc(refused, func(p netip.Prefix) bool { return p.Contains(ip) }) {
			return fmt.Errorf("%w: %s is a cloud's metadata service", ssrf.ErrProhibitedIP, ip)
		}
		return guardian.Safe(network, address, c)
	}}
}
