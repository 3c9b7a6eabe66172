package salesforce

import (
	"bytes"
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
	"slices"
	"strings"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	callTimeout  = 5 * time.Second // an organisation bounds how many calls of twenty seconds it runs at once
	maxBody      = 4 << 20         // a describe of an object with 800 fields takes less than half of it
	maxFailures  = 5               // in a row, after which the circuit breaker opens
	firstProbe   = time.Second     // after the circuit breaker opened; the pause doubles from probe to probe
	longestProbe = 5 * time.Second // an organisation takes 3,600 requests for a token an hour
	dataPath     = "/services/data/v61.0"
	limitsPath   = "/limits"
)

// errAway is the error of a call that was not sent.
var errAway = fmt.Errorf("%w: Salesforce does not take calls now", ports.ErrBusy)

// call makes a call of the API, at a path below dataPath, and reads its answer into a value. The error is an errAway while the circuit
// breaker is open, an *apiError for an answer that is no success, and an *outbound.Lost if the outcome is unknown.
func (c *CRM) call(ctx context.Context, method, path string, body, into any) error {
	if c.breaker.State() != gobreaker.StateClosed {
		return errAway
	}
	data, err := c.breaker.Execute(func() ([]byte, error) { return c.send(ctx, method, path, body) })
	if err == nil && into != nil {
		err = decode(data, into)
	}
	if err != nil {
		path, _, _ = strings.Cut(path, "?")
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// newBreaker returns the circuit breaker of all calls. While it is not closed only probe sends calls.
func (c *CRM) newBreaker() *gobreaker.CircuitBreaker[[]byte] {
	return gobreaker.NewCircuitBreaker[[]byte](gobreaker.Settings{
		Timeout:     firstProbe - time.Millisecond, // over when the first probe is sent
		ReadyToTrip: func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= maxFailures },
		IsExcluded:  func(err error) bool { return errors.Is(err, context.Canceled) },
		IsSuccessful: func(err error) bool {
			refused, ok := errors.AsType[*apiError](err)
			return err == nil || ok && !refused.unwell()
		},
		OnStateChange: func(_ string, from, to gobreaker.State) {
			if from == gobreaker.StateClosed && to == gobreaker.StateOpen {
				go c.probe()
			}
		},
	})
}

// probe asks whether Salesforce takes calls, until it does.
func (c *CRM) probe() {
	for pause := firstProbe; outbound.Pause(c.closing, pause); pause = min(2*pause, longestProbe) {
		// The circuit breaker takes note of the error.
		_, _ = c.breaker.Execute(func() ([]byte, error) { return c.send(c.closing, http.MethodGet, limitsPath, nil) })
		if c.breaker.State() == gobreaker.StateClosed {
			return
		}
	}
}

// send makes a call once, with a new token where the old token has ended, and returns the body of a successful answer.
func (c *CRM) send(ctx context.Context, method, path string, body any) (data []byte, err error) {
	var sent []byte
	if body != nil {
		sent, _ = json.Marshal(body) // texts, numbers and bytes
	}
	var token accessToken
	for again := false; ; again = true {
		if token, err = c.token(ctx, token); err != nil {
			return nil, err
		}
		header := http.Header{"Authorization": {"Bearer " + token.value}, "Content-Type": {"application/json"}}
		status, data, err := c.roundTrip(ctx, method, token.base+dataPath+path, header, sent)
		if err == nil && (status < 200 || status > 299) {
			err = newAPIError(status, data, "")
		}
		if again || !is(err, "INVALID_SESSION_ID") {
			return data, err
		}
	}
}

func (c *CRM) roundTrip(ctx context.Context, method, address string, header http.Header, body []byte) (status int, data []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return 0, nil, errors.New("the address is not a URL")
	}
	req.Header = header
	req.Header.Set("User-Agent", "provider-checkout")
	resp, err := c.options.Transport.RoundTrip(req)
	if err == nil {
		defer resp.Body.Close()
		data, err = outbound.ReadBody(resp, maxBody)
	}
	if err != nil {
		return 0, nil, &outbound.Lost{Cause: outbound.Cause(ctx, err)}
	}
	return resp.StatusCode, data, nil
}

func decode(data []byte, into any) error {
	if err := json.Unmarshal(data, into); err != nil {
		return &outbound.Lost{Cause: fmt.Errorf("the answer: %w", outbound.WithoutText(err))}
	}
	return nil
}

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
			token, err = accessToken{}, fmt.Errorf("sign in: %w", err)
		}
	}
	return token, err
}

func (c *CRM) signIn(ctx context.Context) (token accessToken, err error) {
	form, err := c.options.grant()
	if err != nil {
		return token, err
	}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	status, data, err := c.roundTrip(ctx, http.MethodPost, c.options.URL+"/services/oauth2/token", header, []byte(form.Encode()))
	var answer tokenWire
	_ = json.Unmarshal(data, &answer) // without JSON there is no token
	switch {
	case err != nil:
		return token, err
	case status != http.StatusOK || answer.AccessToken == "":
		return token, &apiError{status: status, signIn: true, code: outbound.Word(answer.Error)}
	}
	token.value = answer.AccessToken
	if token.base, err = baseURL(answer.InstanceURL, strings.HasPrefix(c.options.URL, "http:")); err != nil { // loopback, if the URL is
		return token, fmt.Errorf("the instance_url that came with the token %w", err)
	}
	return token, nil
}

// grant returns the form that asks for a token.
func (o Options) grant() (url.Values, error) {
	if o.JWTKey == nil {
		return url.Values{"grant_type": {"client_credentials"}, "client_id": {o.ClientID}, "client_secret": {o.ClientSecret}}, nil
	}
	audience := "https://test.salesforce.com"
	if o.Environment == catalogue.Production {
		audience = "https://login.salesforce.com"
	} else if strings.HasPrefix(o.URL, "http:") { // a loopback address
		audience = o.URL
	}
	claims, _ := json.Marshal(map[string]any{"iss": o.ClientID, "sub": o.User, "aud": audience, "exp": time.Now().Add(2 * time.Minute).Unix()})
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode([]byte(`{"alg":"RS256"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(nil, o.JWTKey, crypto.SHA256, sum[:])
	return url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {signed + "." + encode(signature)}}, err
}

// Codes of errors on which something depends.
const (
	codeDuplicateValue = "DUPLICATE_VALUE"
	codeLockedRow      = "UNABLE_TO_LOCK_ROW"
	codeHalted         = "PROCESSING_HALTED" // another part has failed, or what the part refers to is not there
	codeNotFound       = "NOT_FOUND"
)

// apiError is an answer, or a part of one, that is no success. It repeats Salesforce's codes and names of fields, never a
// message or a value, which may be a student's.
type apiError struct {
	status int
	code   string
	fields []string
	object string // of the record that was to be written, if there is one
	signIn bool   // it is the answer to a request for a token
}

func newAPIError(status int, body []byte, object string) *apiError {
	e := &apiError{status: status, object: object}
	var faults []faultWire
	if status == http.StatusMultipleChoices { // its body has the addresses of the records
		e.code = "DUPLICATE_EXTERNAL_ID"
	} else if json.Unmarshal(body, &faults) == nil && len(faults) > 0 {
		e.code = outbound.Word(faults[0].Code)
		for _, name := range faults[0].Fields[:min(len(faults[0].Fields), 10)] {
			e.fields = append(e.fields, outbound.Word(name))
		}
	}
	return e
}

func (e *apiError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("Salesforce answered %d %s %s", e.status, e.code, strings.Join(e.fields, " ")))
}

// is reports whether an error is an answer with one of some codes.
func is(err error, codes ...string) bool {
	e, ok := errors.AsType[*apiError](err)
	return ok && slices.Contains(codes, e.code)
}

// Is reports whether the error means what a port's error means: the call was refused for the number of calls, at once or in a day.
func (e *apiError) Is(target error) bool {
	return target == ports.ErrBusy && (e.code == "REQUEST_LIMIT_EXCEEDED" || e.status == http.StatusTooManyRequests)
}

// unwell reports whether the error says something about Salesforce, or the client's account there, and not about a record.
func (e *apiError) unwell() bool {
	return e.signIn || e.Is(ports.ErrBusy) || e.status >= 500 || e.status == http.StatusUnauthorized
}

// refusal returns a refusal for an error about a record that the same call would get again, and any other error as it is.
func (m Mapping) refusal(err error) error {
	e, _ := errors.AsType[*apiError](err)
	if e == nil || e.object == "" || e.code == "" || e.unwell() || is(e, codeLockedRow, codeHalted) {
		return err
	}
	r := &checkout.CRMRefusal{Code: e.code, Faults: []checkout.Fault{{Field: m.object(e.object), Message: "is refused"}}}
	for i, api := range e.fields {
		r.Faults = append(r.Faults[:i], checkout.Fault{Field: m.contract(e.object, api), Message: "is refused"})
	}
	return r
}
