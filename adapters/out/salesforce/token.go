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
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

// assertionLife is the time for which an assertion is valid; Salesforce refuses more than three minutes.
const assertionLife = 2 * time.Minute

// accessToken is a token and the origin at which it is good. The zero accessToken means that there is no token.
type accessToken struct{ value, base string }

// token returns the token. If there is no token, or only the ended token, it signs in, and other calls wait.
func (c *CRM) token(ctx context.Context, ended accessToken) (token accessToken, err error) {
	select {
	case token = <-c.signedIn:
	case <-ctx.Done():
		return accessToken{}, ctx.Err()
	}
	defer func() { c.signedIn <- token }()
	if token == ended || token == (accessToken{}) {
		if token, err = c.signIn(ctx); err != nil {
			return accessToken{}, fmt.Errorf("sign in: %w", err)
		}
	}
	return token, nil
}

func (c *CRM) signIn(ctx context.Context) (accessToken, error) {
	form, err := c.options.grant()
	if err != nil {
		return accessToken{}, err
	}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	resp, data, err := c.roundTrip(ctx, callTimeout, http.MethodPost, c.options.URL+"/services/oauth2/token", header, []byte(form.Encode()))
	if err != nil {
		return accessToken{}, err
	}
	var w tokenWire
	err = json.Unmarshal(data, &w)
	switch {
	case resp.StatusCode != http.StatusOK:
		refused := &apiError{status: resp.StatusCode, look: true}
		if err == nil && w.Error != "" {
			refused.faults = []fault{{code: outbound.Word(w.Error)}}
		}
		return accessToken{}, refused
	case err != nil:
		return accessToken{}, &outbound.Lost{Cause: fmt.Errorf("the answer: %w", outbound.WithoutText(err))}
	case w.AccessToken == "":
		return accessToken{}, &outbound.Lost{Cause: errors.New("the answer has no token")}
	}
	base, err := baseURL(w.InstanceURL, strings.HasPrefix(c.options.URL, "http:")) // on a loopback address, if the organisation is
	if err != nil {
		return accessToken{}, fmt.Errorf("the instance_url that came with the token %w", err)
	}
	return accessToken{w.AccessToken, base}, nil
}

// grant returns the form that asks for a token.
func (o Options) grant() (url.Values, error) {
	if o.JWTKey == nil {
		return url.Values{"grant_type": {"client_credentials"}, "client_id": {o.ClientID}, "client_secret": {o.ClientSecret}}, nil
	}
	assertion, err := o.assertion()
	return url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}}, err
}

// assertion returns a JWT that the key signs.
func (o Options) assertion() (string, error) {
	audience := "https://test.salesforce.com"
	switch {
	case o.Environment == catalogue.Production:
		audience = "https://login.salesforce.com"
	case strings.HasPrefix(o.URL, "http:"): // a loopback address
		audience = o.URL
	}
	claims, err := json.Marshal(map[string]any{"iss": o.ClientID, "sub": o.User, "aud": audience, "exp": o.Now().Add(assertionLife).Unix()})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"RS256"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(nil, o.JWTKey, crypto.SHA256, sum[:])
	if err != nil {
		return "", errors.New("the JWT key does not sign")
	}
	return signed + "." + encode(signature), nil
}
