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

// receiver checks the address that events are sent to: https, or http in the sandbox; on port 443 or one from 1024 up, since the
// other low ports belong to other protocols, unless it is within the reach of a sandbox alone.
func (f *faults) receiver(place, text string, sandbox bool) {
	u, fault := parseURL(text)
	switch {
	case fault != "":
		f.add(place, "%s", fault)
	case isReserved(u.Hostname()), !sandbox && isLocal(u.Hostname()):
		f.add(place, "must not name an address to which no events are sent")
	case u.Scheme == "https" && !isEventPort(u.Port()) && !isLocal(u.Hostname()):
		f.add(place, "must use port 443 or one from 1024 up")
	case u.Scheme == "https", u.Scheme == "http" && sandbox:
	case sandbox:
		f.add(place, "must begin with https:// or http://")
	default:
		f.add(place, "must begin with https://: production sends events no other way")
	}
}

// page checks an address for the payer's browser: https, or http://localhost in the sandbox.
func (f *faults) page(place, text string, sandbox bool) {
	u, fault := parseURL(text)
	switch {
	case fault != "":
		f.add(place, "%s", fault)
	case u.Scheme == "https", u.Scheme == "http" && u.Hostname() == "localhost" && sandbox:
	case sandbox:
		f.add(place, "must begin with https:// or http://localhost")
	default:
		f.add(place, "must begin with https://")
	}
}

// origin checks that text is scheme://host[:port] as browsers write it, because it is used in headers
// and compared byte for byte.
func (f *faults) origin(place, text string, sandbox bool) {
	before := len(*f)
	f.page(place, text, sandbox)
	if len(*f) > before {
		return
	}
	u, _ := parseURL(text)
	switch {
	case text != u.Scheme+"://"+u.Host:
		f.add(place, "must be scheme://host[:port] with nothing after it, not even a slash")
	case text != strings.ToLower(text):
		f.add(place, "must be in lower case")
	}
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
	port, err := strconv.Atoi(u.Port())
	return err == nil && 1 <= port && port <= 65535 && u.Port() == strconv.Itoa(port)
}

// isReserved reports whether a host is an address to which no server connects: of the link, of many hosts, or of a cloud's metadata.
func isReserved(host string) bool {
	addr, err := netip.ParseAddr(host)
	addr = addr.Unmap()
	return err == nil && (addr.IsUnspecified() || addr.IsLinkLocalUnicast() || addr.IsMulticast() || IsMetadata(addr))
}

// isLocal reports whether a host is the machine, or an address of a private network: see --allow-private-destinations.
func isLocal(host string) bool {
	addr, err := netip.ParseAddr(host)
	addr = addr.Unmap()
	return host == "localhost" || err == nil && (addr.IsLoopback() || addr.IsPrivate())
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

func isEventPort(port string) bool {
	n, err := strconv.Atoi(port)
	return port == "" || port == "443" || err == nil && n >= 1024
}
