package main

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

func TestADeskThatIsHalfConfiguredIsRefused(t *testing.T) {
	roles := proc.TempFile(t, `{"claim": "groups", "agent": ["grp-1"]}`)
	whole := []string{"--desk-addr=127.0.0.1:0", "--desk-url=https://desk.lender.example", "--desk-oidc-issuer=https://id.lender.example",
		"--desk-oidc-audience=desk", "--desk-roles=" + roles}
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"a URL without an address", whole[1:2], "--desk-url needs --desk-addr"},
		{"an issuer without an address", whole[2:3], "--desk-oidc-issuer needs --desk-addr"},
		{"an audience without an address", whole[3:4], "--desk-oidc-audience needs --desk-addr"},
		{"a header without an address", []string{"--desk-token-header=X-Token"}, "--desk-token-header needs --desk-addr"},
		{"an issuer alone", append(whole[:1:1], whole[2]), "--desk-addr needs --desk-url; --desk-addr needs --desk-oidc-audience; "},
		{"an address alone", whole[:1], "--desk-addr needs --desk-url; --desk-addr needs --desk-oidc-issuer; --desk-addr needs --desk-oidc-audience; " +
			"--desk-addr needs --desk-roles"},
		{"an address without a port", []string{"--desk-addr=9443"}, "--desk-addr \"9443\" must be HOST:PORT"},
		{"no file of roles", append(whole[:4:4], "--desk-roles=/nonexistent"), "no such file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := try(t, nil, "", append([]string{"serve", "--addr=127.0.0.1:0", "--store=sqlite:" + t.TempDir() + "/a.db"}, tt.args...)...)
			got.refuses(t, exitUsage, tt.want)
		})
	}
}
