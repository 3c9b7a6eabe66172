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
// trusted proxy's. Entries further to the left may be forged. Where a trusted proxy wrote what is no address, the client's is not
// known: the zero address, and not the proxy's.
func clientIP(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	client := plain(peer.Addr())
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		hop = strings.TrimSpace(hop)
		if !slices.ContainsFunc(trusted, func(n netip.Prefix) bool { return n.Contains(client) }) || hop == "" && len(hops) == 1 {
			break // the only hop is empty where there is no such header
		}
		if client = parseHop(hop); !client.IsValid() {
			break
		}
	}
	return client
}

// parseHop reads an entry of X-Forwarded-For, or returns the zero address. Some proxies write brackets around an IPv6 address, and the port.
func parseHop(text string) netip.Addr {
	if ap, err := netip.ParseAddrPort(text); err == nil {
		return plain(ap.Addr())
	}
	addr, _ := netip.ParseAddr(strings.Trim(text, "[]"))
	return plain(addr)
}

// plain normalizes an address: no IPv4 within IPv6, no zone.
func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }
