package salesforcetest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// serveToken answers a request for a token.
func (g *Org) serveToken(r *http.Request) answer {
	code, base := "unsupported_grant_type", "http://"+r.Host
	switch r.PostFormValue("grant_type") {
	case "client_credentials":
		code = ""
		if g.options.ClientSecret == "" || r.PostFormValue("client_id") != g.options.ClientID ||
			r.PostFormValue("client_secret") != g.options.ClientSecret {
			code = "invalid_client"
		}
	case "urn:ietf:params:oauth:grant-type:jwt-bearer":
		code = g.checkAssertion(r.PostFormValue("assertion"), base)
	}
	if code != "" {
		return answer{status: http.StatusBadRequest, body: map[string]string{"error": code, "error_description": "refused"}}
	}
	token := newID("00D", 1) + "!" + rand.Text()
	g.tokens[token] = true
	return answer{status: http.StatusOK, body: map[string]string{"access_token": token, "scope": "api", "instance_url": base,
		"id": base + "/id/" + newID("00D", 1) + "/" + newID("005", 1), "token_type": "Bearer", "issued_at": "1738368000000"}}
}

// checkAssertion returns the error of a JWT, or "".
func (g *Org) checkAssertion(assertion, audience string) string {
	var header headerWire
	var claims claimsWire
	parts := strings.Split(assertion+"..", ".")
	for i, into := range []any{&header, &claims} {
		if data, err := base64.RawURLEncoding.DecodeString(parts[i]); err != nil || json.Unmarshal(data, into) != nil {
			return "invalid_grant"
		}
	}
	signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	now, ends := g.options.Now(), time.Unix(claims.Expires, 0)
	switch key := g.options.PublicKey; {
	case key == nil || header.Algorithm != "RS256" || rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) != nil,
		claims.Issuer != g.options.ClientID, claims.Audience != audience, claims.Subject != g.options.Username,
		!ends.After(now) || ends.After(now.Add(3*time.Minute)):
		return "invalid_grant"
	}
	return ""
}
