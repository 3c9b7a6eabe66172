package salesforcetest

import (
	"cmp"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// tokens are the sessions of clients.
type tokens struct {
	live   map[string]time.Time // when each was used last
	issued int
}

// maxForm is the largest token request, in bytes; maxAssertionLife how far ahead an assertion may end; sessionLife the time after
// which a token ends that was not used.
const (
	sessionLife      = 2 * time.Hour
	maxForm          = 64 << 10
	maxAssertionLife = 3 * time.Minute
)

const jwtGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"

// oauthError is an answer of the token endpoint that is not a token.
type oauthError struct{ code, description string }

func (e *oauthError) Error() string { return e.code + ": " + e.description }

// serveToken serves a token request, or what an armed fault makes of it.
func (s *Simulator) serveToken(w http.ResponseWriter, r *http.Request) {
	s.count("POST " + tokenPath)
	send := func(res response) { write(w, res) }
	refuse := func(err error) response {
		var refused *oauthError
		if !errors.As(err, &refused) {
			refused = &oauthError{"invalid_request", err.Error()}
		}
		return answer{status: http.StatusBadRequest, body: oauthErrorWire{refused.code, refused.description}}.toResponse()
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		send(refuse(errors.New("the form could not be read")))
		return
	}
	carryOut := func() response {
		wire, err := s.signIn(r)
		if err != nil {
			return refuse(err)
		}
		return answer{status: http.StatusOK, body: wire}.toResponse()
	}
	if f, ok := s.faults.Pick(r, s.options.Rand, fitsToken); ok {
		s.suffer(w, r, f, sufferer{send: send, carryOut: carryOut, fail: func(err *apiError) response {
			return answer{status: err.status, body: oauthErrorWire{"unknown_error", err.faults[0].message}}.toResponse()
		}})
		return
	}
	send(carryOut())
}

// signIn returns a token for the client that the form names.
func (s *Simulator) signIn(r *http.Request) (tokenWire, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	form := r.PostForm
	switch form.Get("grant_type") {
	case "client_credentials":
		err = s.checkSecret(form.Get("client_id"), form.Get("client_secret"))
	case jwtGrant:
		err = s.checkAssertion(form.Get("assertion"), cmp.Or(s.options.Audience, base(r)))
	default:
		err = &oauthError{"unsupported_grant_type", "grant type not supported"}
	}
	if err != nil {
		return tokenWire{}, err
	}
	token := s.newToken()
	now := s.clock.Now()
	s.tokens.live[token] = now
	s.tokens.issued++
	wire := tokenWire{AccessToken: token, Scope: "api", InstanceURL: cmp.Or(s.options.InstanceURL, base(r)),
		ID: base(r) + identityPath + s.org.id + "/" + s.org.user, TokenType: "Bearer", IssuedAt: strconv.FormatInt(now.UnixMilli(), 10)}
	return wire, nil
}

// newToken returns a token of its own.
func (s *Simulator) newToken() string {
	var entropy [24]byte
	if _, err := io.ReadFull(s.options.Rand, entropy[:]); err != nil {
		panic("salesforcetest: Options.Rand: " + err.Error())
	}
	return s.org.id[:15] + "!" + hex.EncodeToString(entropy[:])
}

func (s *Simulator) checkSecret(id, secret string) error {
	switch {
	case !same(id, s.options.ClientID):
		return &oauthError{"invalid_client_id", "client identifier invalid"}
	case s.options.ClientSecret == "" || !same(secret, s.options.ClientSecret):
		return &oauthError{"invalid_client", "invalid client credentials"}
	}
	return nil
}

// checkAssertion checks a JWT and its claims.
func (s *Simulator) checkAssertion(assertion, audience string) error {
	var header jwtHeaderWire
	var claims jwtClaimsWire
	parts := strings.Split(assertion, ".")
	invalid := &oauthError{"invalid_grant", "invalid assertion"}
	if s.options.PublicKey == nil || len(parts) != 3 || readPartOfJWT(parts[0], &header) != nil || readPartOfJWT(parts[1], &claims) != nil {
		return invalid
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err != nil || header.Algorithm != "RS256" || rsa.VerifyPKCS1v15(s.options.PublicKey, crypto.SHA256, sum[:], signature) != nil {
		return invalid
	}
	switch ends := time.Unix(claims.Expires, 0); {
	case claims.Issuer != s.options.ClientID:
		return &oauthError{"invalid_client_id", "client identifier invalid"}
	case claims.Audience != audience:
		return &oauthError{"invalid_grant", "audience is invalid"}
	case !ends.After(s.clock.Now()):
		return &oauthError{"invalid_grant", "expired authorization code"}
	case ends.After(s.clock.Now().Add(maxAssertionLife)):
		return &oauthError{"invalid_grant", "assertion expires too late"}
	case claims.Subject != s.options.Username:
		return &oauthError{"invalid_grant", "user hasn't approved this consumer"}
	}
	return nil
}

func readPartOfJWT(part string, into any) error {
	data, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

// same compares two secrets in constant time.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// base returns the origin of a request.
func base(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// admit returns the error of a call that may not use the API, its token, and how much of the limit is used.
func (s *Simulator) admit(r *http.Request) (token, usage string, err *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	used, live := s.tokens.live[token]
	switch {
	case !bearer || !live || now.Sub(used) > sessionLife:
		delete(s.tokens.live, token)
		err = invalidSession()
	case !s.org.usage.spend(now):
		err = requestLimit()
	default:
		s.tokens.live[token] = now
	}
	return token, s.org.usage.String(), err
}

func invalidSession() *apiError {
	return failure(http.StatusUnauthorized, codeInvalidSession, "Session expired or invalid")
}

// ExpireTokens ends all tokens that were issued so far.
func (s *Simulator) ExpireTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens.live)
}

// expire ends one token.
func (s *Simulator) expire(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens.live, token)
}
