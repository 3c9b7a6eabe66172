package salesforce

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
)

// assertionLife is the time for which an assertion is valid; Salesforce refuses more than three minutes.
const assertionLife = 2 * time.Minute

// accessToken is a token and the origin at which it is good. The zero accessToken means that there is no token.
type accessToken struct{ value, base string }

// session signs a client in.
type session struct {
	url, clientID, secret, user, audience string
	key                                   *rsa.PrivateKey
	loopback                              bool             // the API may be on a loopback address, as the organisation is
	token                                 chan accessToken // holds the token, unless a call has taken it to sign in
}

func newSession(o Options) session {
	u, err := url.Parse(o.URL)
	s := session{url: o.URL, clientID: o.ClientID, secret: o.ClientSecret, user: o.User, audience: o.Audience, key: o.JWTKey,
		loopback: err == nil && u.Scheme == "http", token: make(chan accessToken, 1)}
	s.token <- accessToken{}
	return s
}

// drop forgets a token that has ended. A newer token in its place stays.
func (s *session) drop(ctx context.Context, ended accessToken) {
	select {
	case token := <-s.token:
		if token == ended {
			token = accessToken{}
		}
		s.token <- token
	case <-ctx.Done():
	}
}

// token returns the token, or signs in for one while other calls wait for it.
func (c *client) token(ctx context.Context) (token accessToken, err error) {
	select {
	case token = <-c.session.token:
	case <-ctx.Done():
		return accessToken{}, ctx.Err()
	}
	defer func() { c.session.token <- token }()
	if token == (accessToken{}) {
		if token, err = c.signIn(ctx); err != nil {
			return accessToken{}, fmt.Errorf("sign in: %w", err)
		}
	}
	return token, nil
}

func (c *client) signIn(ctx context.Context) (accessToken, error) {
	form, err := c.session.grant(c.now())
	if err != nil {
		return accessToken{}, err
	}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	resp, data, err := c.roundTrip(ctx, callTimeout, http.MethodPost, c.session.url+"/services/oauth2/token", header, []byte(form.Encode()))
	if err != nil {
		return accessToken{}, err
	}
	if resp.StatusCode != http.StatusOK {
		return accessToken{}, newSignInError(resp.StatusCode, data)
	}
	var w tokenWire
	if err := json.Unmarshal(data, &w); err != nil {
		return accessToken{}, &outbound.Lost{Cause: fmt.Errorf("the answer: %w", outbound.WithoutText(err))}
	}
	if w.AccessToken == "" {
		return accessToken{}, &outbound.Lost{Cause: errors.New("the answer has no token")}
	}
	base, err := baseURL(w.InstanceURL, c.session.loopback)
	if err != nil {
		return accessToken{}, fmt.Errorf("the instance_url that came with the token %w", err)
	}
	return accessToken{w.AccessToken, base}, nil
}

// grant returns the form that asks for a token.
func (s *session) grant(now time.Time) (url.Values, error) {
	if s.key == nil {
		return url.Values{"grant_type": {"client_credentials"}, "client_id": {s.clientID}, "client_secret": {s.secret}}, nil
	}
	assertion, err := s.assertion(now)
	return url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}}, err
}

// assertion returns a JWT that the key signs.
func (s *session) assertion(now time.Time) (string, error) {
	claims, err := json.Marshal(claimsWire{Issuer: s.clientID, Subject: s.user, Audience: s.audience, Expires: now.Add(assertionLife).Unix()})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"RS256"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(nil, s.key, crypto.SHA256, sum[:])
	if err != nil {
		return "", errors.New("the JWT key does not sign")
	}
	return signed + "." + encode(signature), nil
}
