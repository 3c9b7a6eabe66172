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
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
)

// assertionLife is the time for which an assertion is valid; Salesforce refuses more than three minutes.
const assertionLife = 2 * time.Minute

// accessToken is a token and the origin at which it is good. The zero accessToken means that there is no token.
type accessToken struct{ value, base string }

// session is the client's token, which one call at a time asks for.
type session struct {
	url, clientID, secret, user, audience string
	key                                   *rsa.PrivateKey
	loopback                              bool          // the API may be on a loopback address, as the organisation is
	asking                                chan struct{} // holds a value while a token is asked for

	mu    sync.Mutex
	token accessToken
}

func newSession(o Options) session {
	u, err := url.Parse(o.URL)
	return session{url: o.URL, clientID: o.ClientID, secret: o.ClientSecret, user: o.User, audience: o.Audience, key: o.JWTKey,
		loopback: err == nil && u.Scheme == "http", asking: make(chan struct{}, 1)}
}

func (s *session) get() accessToken {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

func (s *session) set(token accessToken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

// drop forgets a token that has ended. A newer token in its place stays.
func (s *session) drop(ended accessToken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == ended {
		s.token = accessToken{}
	}
}

// token returns the token, or signs in for one.
func (c *client) token(ctx context.Context) (accessToken, error) {
	s := &c.session
	if token := s.get(); token != (accessToken{}) {
		return token, ctx.Err()
	}
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-ctx.Done():
		return accessToken{}, ctx.Err()
	}
	if token := s.get(); token != (accessToken{}) {
		return token, nil // another call has just signed in
	}
	token, err := c.signIn(ctx)
	if err != nil {
		return accessToken{}, fmt.Errorf("sign in: %w", err)
	}
	s.set(token)
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
