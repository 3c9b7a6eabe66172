package main

import (
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

func TestADeskThatIsHalfConfiguredIsRefused(t *testing.T) {
	roles := proc.TempFile(t, `{"claim": "groups", "roles": {"support": ["grp-1"]}}`)
	secret := []string{"PROVIDER_CHECKOUT_DESK_OIDC_CLIENT_SECRET=canary-client-secret"}
	whole := []string{"--desk-addr=127.0.0.1:0", "--desk-url=https://desk.lender.example", "--desk-oidc-issuer=https://id.lender.example",
		"--desk-oidc-client-id=desk", "--desk-roles=" + roles}
	for _, tt := range []struct {
		name string
		env  []string
		args []string
		want string
	}{
		{"a URL without an address", nil, whole[1:2], "--desk-url needs --desk-addr"},
		{"an issuer without an address", nil, whole[2:3], "--desk-oidc-issuer needs --desk-addr"},
		{"roles without an address", nil, whole[4:5], "--desk-roles needs --desk-addr"},
		{"a client without an address", nil, whole[3:4], "--desk-oidc-client-id needs --desk-addr"},
		{"an issuer alone", nil, append(whole[:1:1], whole[2]), "--desk-addr needs --desk-url; --desk-addr needs --desk-oidc-client-id; " +
			"--desk-addr needs --desk-roles; the client secret of the desk is missing (PROVIDER_CHECKOUT_DESK_OIDC_CLIENT_SECRET"},
		{"no client secret", nil, whole, "the client secret of the desk is missing"},
		{"a client without an issuer", secret, append(whole[:1:1], whole[3]), "need an issuer"},
		{"plain http", secret, append(whole[:1:1], "--desk-url=http://desk.lender.example"), "must be https://HOST"},
		{"everybody's desk beyond loopback", nil, []string{"--desk-addr=0.0.0.0:0"}, "must be https://HOST"},
		{"a path", secret, append(whole[:5:5], "--desk-url=https://desk.lender.example/desk"), "must have no path"},
		{"idle for longer than the session", secret, append(whole[:5:5], "--desk-idle=9h"), "a session of the desk must last"},
		{"unknown roles", secret, append(whole[:4:4], "--desk-roles="+proc.TempFile(t, `{"claim": "groups", "roles": {"root": ["a"]}}`)), "is refused: roles has \"root\""},
		{"an address without a port", nil, []string{"--desk-addr=9443"}, "--desk-addr \"9443\" must be HOST:PORT"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := try(t, tt.env, "", append([]string{"serve", "--addr=127.0.0.1:0", "--store=sqlite:" + t.TempDir() + "/a.db"}, tt.args...)...)
			got.refuses(t, cli.ExitUsage, tt.want)
			saysNot(t, got.stderr, "canary")
		})
	}
}

func TestProductionNeedsAnIssuerForItsDesk(t *testing.T) {
	got := try(t, nil, "", "serve", "--environment=production", "--desk-addr=127.0.0.1:0", "--store=sqlite:"+t.TempDir()+"/a.db")
	for _, want := range []string{"--desk-addr needs --desk-url", "--desk-addr needs --desk-oidc-issuer", "the client secret of the desk is missing"} {
		if !strings.Contains(got.stderr, want) {
			t.Errorf("%s is not in\n%s", want, got.stderr)
		}
	}
}

// The desk answers on a listener of its own, which the start of the log names, and the public listener has no page of it.
func TestServeAnswersAtTheDesk(t *testing.T) {
	s := started(t, "--desk-addr=127.0.0.1:0")
	desk := strings.TrimSuffix(s.desk, "/")
	says(t, get(t, desk+"/sign-in"), "signs in as anybody, by a click")
	says(t, get(t, s.base+"/sign-in"), "NOT_FOUND")
	code, _, logged := s.stop()
	if code != cli.ExitDone || !strings.Contains(logged, `"msg":"whoever reaches the desk signs in as anybody: there is no issuer"`) {
		t.Errorf("status %d, stderr %s", code, logged)
	}
}
