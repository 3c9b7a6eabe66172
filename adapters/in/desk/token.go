package desk

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/provider-checkout/provider-checkout/money/text"
)

const issuerTimeout, issuerPause = 10 * time.Second, 5 * time.Second

// guard verifies ID tokens. It discovers the issuer at the first request, and tries again after a failure.
type guard struct {
	Settings
	now func() time.Time

	mu     sync.Mutex
	keys   oidc.KeySet // nil until the issuer is discovered
	failed time.Time   // the latest failure
}

// identify returns the name and the role of the sender of a request. The error is, or wraps, a *problem.
func (g *guard) identify(r *http.Request) (name, role string, err error) {
	if g.Open() {
		return "demo", agent, nil
	}
	claims, err := g.verify(r)
	if err != nil {
		return "", "", err
	}
	email, _ := claims["email"].(string)
	subject, _ := claims["sub"].(string)
	name = text.Normalize(cmp.Or(email, subject))
	if text.CheckName(name) != "" {
		return "", "", unauthorized("token_nameless", "The ID token has neither an email nor a sub that can be put on record.")
	}
	given, present := claims[g.Roles.Claim]
	groups, readable := texts(given)
	role = g.Roles.of(groups)
	switch you := "You are " + name + ". The claim “" + g.Roles.Claim + "” of your ID token"; {
	case !present:
		err = forbidden("roles_absent", you+" is absent: the issuer must add it.")
	case !readable:
		err = forbidden("roles_unreadable", you+" is unreadable: it must be a text or a list of texts.")
	case role == "":
		err = forbidden("roles_unmatched", you+" does not match: it has no group with a role at the desk.")
	}
	return name, role, err
}

func (g *guard) token(r *http.Request) (string, error) {
	header := cmp.Or(g.TokenHeader, "Authorization")
	given := strings.Join(r.Header.Values(header), ", ")
	scheme, raw, found := strings.Cut(given, " ")
	switch {
	case given == "":
		return "", unauthorized("token_absent", "The ID token is absent: the header "+header+" is empty. Open the desk through the proxy "+
			"that signs you in, which must pass the ID token on.")
	case strings.EqualFold(scheme, "Bearer") && !strings.Contains(raw, " "):
		return raw, nil
	case !found && g.TokenHeader != "":
		return given, nil
	}
	return "", errMalformed
}

// algorithms are the signature algorithms with a public key.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512,
	oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}

// verify returns the claims of the ID token of a request, whose signature, issuer, audience and time are right.
func (g *guard) verify(r *http.Request) (claims map[string]any, err error) {
	raw, err := g.token(r)
	if err != nil {
		return nil, err
	}
	keys := &keySet{}
	if keys.KeySet, err = g.discover(); err != nil {
		return nil, err
	}
	config := &oidc.Config{ClientID: g.Audience, SupportedSigningAlgs: algorithms, Now: g.now}
	token, err := oidc.NewVerifier(g.Issuer, keys, config).Verify(r.Context(), raw)
	switch {
	case keys.failure != nil:
		return nil, fmt.Errorf("%w: %.300s", errIssuer, keys.failure.Error())
	case err != nil:
		return nil, g.reason(raw)
	}
	return claims, token.Claims(&claims)
}

// discover returns the issuer's keys, which are fetched again for a token of another key.
func (g *guard) discover() (oidc.KeySet, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.keys != nil {
		return g.keys, nil
	}
	if since := g.now().Sub(g.failed); since < issuerPause {
		return nil, fmt.Errorf("%w: the discovery failed %v ago", errIssuer, since.Round(time.Second))
	}
	ctx := oidc.ClientContext(context.Background(), &http.Client{Timeout: issuerTimeout})
	known := map[string]any{}
	provider, err := oidc.NewProvider(ctx, g.Issuer)
	if err == nil {
		err = provider.Claims(&known)
	}
	if err != nil {
		g.failed = g.now()
		return nil, fmt.Errorf("%w: %.300s", errIssuer, err.Error())
	}
	address, _ := known["jwks_uri"].(string)
	g.keys = oidc.NewRemoteKeySet(ctx, address)
	return g.keys, nil
}

// keySet is the issuer's keys during one verification, and the failure to fetch them: the one error of a RemoteKeySet that has a cause.
type keySet struct {
	oidc.KeySet
	failure error
}

func (k *keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.KeySet.VerifySignature(ctx, jwt)
	k.failure = errors.Unwrap(err)
	return payload, err
}

// reason returns the reason why a token was refused. It reads claims that nothing verifies, for the words of the refusal alone.
func (g *guard) reason(raw string) *problem {
	claims := map[string]any{}
	_, rest, _ := strings.Cut(raw, ".")
	body, _, _ := strings.Cut(rest, ".")
	payload, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil || json.Unmarshal(payload, &claims) != nil {
		return errMalformed
	}
	audience, _ := texts(claims["aud"])
	expiry, _ := claims["exp"].(float64)
	begin, _ := claims["nbf"].(float64)
	switch now := float64(g.now().UnixMilli()) / 1000; {
	case claims["iss"] != g.Issuer:
		return unauthorized("token_issuer", "The ID token is from another issuer than the desk trusts.")
	case !slices.Contains(audience, g.Audience):
		return unauthorized("token_audience", "The ID token was issued for another audience than this desk.")
	case expiry < now, begin > now:
		return unauthorized("token_time", "The ID token has expired, or is not valid yet. Sign in again. If it happens often, the proxy must "+
			"refresh ID tokens before they expire.")
	}
	return unauthorized("token_signature", "The signature of the ID token is not of a key of the issuer.")
}

func texts(claim any) (list []string, ok bool) {
	if one, ok := claim.(string); ok {
		return []string{one}, true
	}
	items, ok := claim.([]any)
	for _, item := range items {
		one, isText := item.(string)
		list, ok = append(list, one), ok && isText
	}
	return list, ok
}
