package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
)

func TestClientIsTheAddressThatTheTrustedProxiesSaw(t *testing.T) {
	for _, tt := range []struct {
		name, remote string
		forwarded    []string
		want, net    string
	}{
		{"no proxy", "203.0.113.9:4000", nil, "203.0.113.9", "203.0.113.9"},
		{"stranger claims to be a proxy", "203.0.113.9:4000", []string{"198.51.100.1"}, "203.0.113.9", "203.0.113.9"},
		{"one proxy", "10.0.0.1:4000", []string{"198.51.100.1"}, "198.51.100.1", "198.51.100.1"},
		{"two proxies", "10.0.0.1:4000", []string{"198.51.100.1, 10.0.0.2"}, "198.51.100.1", "198.51.100.1"},
		{"client forges the left end", "10.0.0.1:4000", []string{"127.0.0.1, 198.51.100.1"}, "198.51.100.1", "198.51.100.1"},
		{"header repeated", "10.0.0.1:4000", []string{"127.0.0.1", "198.51.100.1"}, "198.51.100.1", "198.51.100.1"},
		{"proxy writes the port", "10.0.0.1:4000", []string{"198.51.100.1:9999"}, "198.51.100.1", "198.51.100.1"},
		{"proxy writes no address", "10.0.0.1:4000", []string{"198.51.100.1, unknown"}, "invalid IP", "invalid IP"},
		{"proxy writes brackets", "10.0.0.1:4000", []string{"[2001:db8::7]"}, "2001:db8::7", "2001:db8::/64"},
		{"proxy writes brackets and the port", "10.0.0.1:4000", []string{"[2001:db8::7]:443"}, "2001:db8::7", "2001:db8::/64"},
		{"proxy writes nothing", "10.0.0.1:4000", nil, "10.0.0.1", "10.0.0.1"},
		{"only proxies", "10.0.0.1:4000", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3", "10.0.0.3"},
		{"IPv4 within IPv6", "[::ffff:10.0.0.1]:4000", []string{"::ffff:198.51.100.1"}, "198.51.100.1", "198.51.100.1"},
		{"IPv6 is named by its /64", "[2001:db8:1:2:3:4:5:6]:4000", nil, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
		{"zone is dropped", "[fe80::1%eth0]:4000", nil, "fe80::1", "fe80::/64"},
		{"not a network connection", "@", []string{"198.51.100.1"}, "invalid IP", "invalid IP"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := options(io.Discard, newClock())
			o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
			var got, net string
			h := web.Wrap(o, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got, net = web.RequestOf(r.Context()).Client.String(), web.ClientNet(r.Context())
			}), failed)
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = tt.remote
			r.Header["X-Forwarded-For"] = tt.forwarded
			h.ServeHTTP(httptest.NewRecorder(), r)
			if got != tt.want || net != tt.net {
				t.Errorf("client %s of %s, want %s of %s", got, net, tt.want, tt.net)
			}
		})
	}
}
