package catalogue

import (
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/provider-checkout/provider-checkout/money/text"
)

// maxURL is the longest URL, in bytes, that every browser and proxy takes.
const maxURL = 2048

// receiverFault returns what is wrong with the address that events are sent to, or "": it must be https, or http in the sandbox; on port 443
// or one from 1024 up, since the other low ports belong to other protocols, unless it is within the reach of a sandbox alone.
func receiverFault(address string, sandbox bool) string {
	u, fault := parseURL(address)
	if fault != "" {
		return fault
	}
	addr, _ := netip.ParseAddr(u.Hostname()) // the zero Addr for a name
	addr = addr.Unmap()
	local := u.Hostname() == "localhost" || addr.IsLoopback() || addr.IsPrivate() // see --allow-private-destinations
	port, _ := strconv.Atoi(u.Port())
	switch {
	case addr.IsUnspecified(), addr.IsLinkLocalUnicast(), addr.IsMulticast(), IsMetadata(addr), !sandbox && local:
		return "must not name an address to which no events are sent"
	case u.Scheme == "https" && u.Port() != "" && port != 443 && port < 1024 && !local:
		return "must use port 443 or one from 1024 up"
	case u.Scheme == "https", u.Scheme == "http" && sandbox:
		return ""
	case sandbox:
		return "must begin with https:// or http://"
	}
	return "must begin with https://: production sends events no other way"
}

// pageFault returns what is wrong with an address for the payer's browser, or "": it must be https, or http://localhost in the sandbox.
func pageFault(address string, sandbox bool) string {
	u, fault := parseURL(address)
	switch {
	case fault != "":
		return fault
	case u.Scheme == "https", u.Scheme == "http" && u.Hostname() == "localhost" && sandbox:
		return ""
	case sandbox:
		return "must begin with https:// or http://localhost"
	}
	return "must begin with https://"
}

// originFault returns what is wrong with an origin, or "": it must be scheme://host[:port] as browsers write it, because it is used in
// headers and compared byte for byte.
func originFault(address string, sandbox bool) string {
	if fault := pageFault(address, sandbox); fault != "" {
		return fault
	}
	if u, _ := url.Parse(address); address != strings.ToLower(u.Scheme+"://"+u.Host) {
		return "must be scheme://host[:port] in lower case with nothing after it, not even a slash"
	}
	return ""
}

// parseURL parses an absolute URL without user, fragment or unusual characters. fault is "" or describes the fault.
func parseURL(address string) (u *url.URL, fault string) {
	if len(address) > maxURL {
		return nil, "must have at most " + strconv.Itoa(maxURL) + " characters"
	}
	if strings.ContainsFunc(address, func(r rune) bool { return r < '!' || r > '~' || strings.ContainsRune("\"<>\\^`{|}", r) }) {
		if u, err := url.Parse(address); err == nil && address == u.Scheme+"://"+u.Host {
			if host, ok := text.HostInASCII(u.Host); ok {
				return nil, "must have its host in ASCII: " + u.Scheme + "://" + host
			}
		}
		return nil, "must be a URL in visible ASCII: percent-encode all else"
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Opaque != "" || u.Scheme == "" || u.Host == "":
		return nil, "must be an absolute URL, such as https://example.com/page"
	case u.User != nil:
		return nil, "must not hold a user name or password"
	case strings.Contains(address, "#"):
		return nil, "must not hold a fragment"
	case !isHost(u.Hostname()) && !isIPv6(u):
		return nil, "must name a host by letters, digits, dots and hyphens, or by its address"
	case !isPort(u):
		return nil, "must name a port from 1 to 65535, if any"
	}
	return u, ""
}

// hostForm matches a domain name or an IPv4 address. net/url alone would accept ";" and ",", which have a meaning in headers.
var hostForm = regexp.MustCompile(`^(?:[a-zA-Z0-9_](?:[a-zA-Z0-9_-]{0,61}[a-zA-Z0-9_])?(?:\.|$))+$`)

func isHost(s string) bool {
	return len(s) <= 253 && !strings.HasSuffix(s, ".") && hostForm.MatchString(s)
}

// isIPv6 reports whether the host is an IPv6 address in brackets, without a zone.
func isIPv6(u *url.URL) bool {
	address, err := netip.ParseAddr(u.Hostname())
	return err == nil && address.Is6() && address.Zone() == "" && u.Host[0] == '['
}

func isPort(u *url.URL) bool {
	if !strings.HasSuffix(u.Host, ":"+u.Port()) { // no colon at all
		return true
	}
	_, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && u.Port()[0] != '0'
}

// IsMetadata reports whether addr is a cloud's metadata address, with credentials for example, in a range that is otherwise
// allowed: the public address of Azure's host, and addresses of other clouds that look private.
func IsMetadata(addr netip.Addr) bool {
	for _, cloud := range []string{
		"168.63.129.16/32",       // Azure
		"fd00:ec2::/32",          // AWS: metadata, credentials of pods, name and time servers
		"fd20:ce::/32",           // Google
		"fd00:c1::a9fe:a9fe/128", // Oracle
		"fd00:42::42/128",        // Scaleway
	} {
		if netip.MustParsePrefix(cloud).Contains(addr) {
			return true
		}
	}
	return false
}
