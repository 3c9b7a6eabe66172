package web

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// ClientNet names the client of a request for a Limiter: by its address, or for IPv6 by
// its /64, all of which one client commonly has to itself.
func ClientNet(ctx context.Context) string {
	addr := RequestOf(ctx).Client
	if addr.Is6() {
		return netip.PrefixFrom(addr, 64).Masked().String()
	}
	return addr.String()
}

// clientIP walks X-Forwarded-For from the right while the address that wrote an entry is a
// trusted proxy's. Entries further to the left may be forged.
func clientIP(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	client := plain(peer.Addr())
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !within(client, trusted) {
			break
		}
		addr, ok := parseHop(strings.TrimSpace(hop))
		if !ok {
			break
		}
		client = addr
	}
	return client
}

// parseHop reads an entry of X-Forwarded-For; some proxies write the port too.
func parseHop(text string) (netip.Addr, bool) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return plain(addr), true
	}
	if ap, err := netip.ParseAddrPort(text); err == nil {
		return plain(ap.Addr()), true
	}
	return netip.Addr{}, false
}

// plain normalizes an address: no IPv4 within IPv6, no zone.
func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }

func within(addr netip.Addr, nets []netip.Prefix) bool {
	return slices.ContainsFunc(nets, func(n netip.Prefix) bool { return n.Contains(addr) })
}
