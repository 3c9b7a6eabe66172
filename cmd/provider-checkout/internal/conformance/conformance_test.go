package conformance_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/conformance"
)

// stub answers every request alike, but for the environment.
type stub struct {
	environment string
	status      int
	header      http.Header
	body        string
	sent        int
}

func (s *stub) RoundTrip(req *http.Request) (*http.Response, error) {
	if s.sent++; strings.HasSuffix(req.URL.Path, "/v1/environment") {
		return answer(http.StatusOK, nil, `{"success": true, "environment": "`+s.environment+`"}`), nil
	}
	return answer(s.status, s.header, s.body), nil
}

func answer(status int, header http.Header, body string) *http.Response {
	if header == nil {
		header = http.Header{}
	}
	header.Set("Content-Type", "application/json")
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}
}

const (
	mac = "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2V"
	// token is a setup token.
	token = "KOWHAI-1795193042455-qr7ac36qzgiweibb.1.ab12." + mac
)

func key() string {
	text, _ := catalogue.NewKey("KOWHAI", catalogue.Sandbox, time.Time{}, [32]byte{1})
	return text
}

// A failure names the sentence, the request and the answer in each form of the report. Neither the key nor a setup token is in any.
func TestAFailureNamesSentenceRequestAndAnswer(t *testing.T) {
	broken := &stub{environment: "sandbox", status: http.StatusTeapot, body: `{"direct_debit": {"setup_url": "https://x/api/dd-setup?token=` + token + `"}}`}
	report, err := conformance.Run(t.Context(), conformance.Config{BaseURL: "https://sandbox.example", Key: key(), Provider: "KOWHAI", Transport: broken})
	if err != nil || report.Passed > 1 || report.Failed < 10 {
		t.Fatalf("%d passed, %d failed, %v", report.Passed, report.Failed, err)
	}
	var text strings.Builder
	if err := report.Write(&text); err != nil {
		t.Fatal(err)
	}
	asJSON, err := report.JSON()
	if err != nil {
		t.Fatal(err)
	}
	asXML, err := report.JUnit()
	if err != nil {
		t.Fatal(err)
	}
	for form, said := range map[string]string{"text": text.String(), "JSON": string(asJSON), "JUnit": string(asXML)} {
		for _, want := range []string{"The key determines the provider identity", "POST /v1/provider-checkouts", "Bearer …" + catalogue.KeyID(key()) + "…",
			"418", "PROVIDER_KEY_MISMATCH", "no checkout was created"} {
			if !strings.Contains(said, want) {
				t.Errorf("the %s has no %q:\n%.3000s", form, want, said)
			}
		}
		if strings.Contains(said, key()) || strings.Contains(said, mac) {
			t.Errorf("the %s has the key, or a setup token", form)
		}
	}
	says := struct {
		Failed int
		Checks []struct {
			Section, Sentence, Status string
			Faults                    []struct{ Want, Request, Answer string }
		}
	}{}
	if err := json.Unmarshal(asJSON, &says); err != nil || says.Failed != report.Failed || len(says.Checks) != len(report.Checks) {
		t.Errorf("the JSON is %+v, %v", says, err)
	}
	suite := struct {
		XMLName  xml.Name `xml:"testsuite"`
		Failures int      `xml:"failures,attr"`
		Cases    []struct {
			Name    string  `xml:"name,attr"`
			Failure *string `xml:"failure"`
		} `xml:"testcase"`
	}{}
	if err := xml.Unmarshal(asXML, &suite); err != nil || suite.Failures != says.Failed || len(suite.Cases) != len(says.Checks) {
		t.Errorf("the XML is %+v, %v", suite, err)
	}
}

// In production no create is sent but one without a student, whatever is answered.
func TestProductionGetsNoCreateThatCouldBeTaken(t *testing.T) {
	sent := sender(func(req *http.Request) (*http.Response, error) {
		if strings.HasSuffix(req.URL.Path, "/v1/environment") {
			return answer(http.StatusOK, nil, `{"success": true, "environment": "production"}`), nil
		}
		if body, err := io.ReadAll(req.Body); err != nil || strings.Contains(string(body), "email") || strings.Contains(string(body), "token") {
			t.Errorf("%s %s sends %s, %v", req.Method, req.URL, body, err)
		}
		return answer(http.StatusCreated, nil, `{"checkout": {"checkout_id": "KOWHAI-1795193042455-qr7ac36qzgiweibb"}}`), nil
	})
	if _, err := conformance.Run(t.Context(), conformance.Config{BaseURL: "https://pay.example", Key: key(), Provider: "KOWHAI", Transport: sent}); err != nil {
		t.Error(err)
	}
}

type sender func(*http.Request) (*http.Response, error)

func (s sender) RoundTrip(req *http.Request) (*http.Response, error) { return s(req) }

func TestADeploymentThatCannotBeTested(t *testing.T) {
	for _, tt := range []struct {
		name string
		stub stub
		want string
	}{
		{"the key is refused", stub{environment: "sandbox", status: http.StatusForbidden, body: `{"error": {"message": "no such key"}}`}, "the key is refused: no such key"},
		{"the provider has no checkout", stub{environment: "sandbox", status: http.StatusOK, body: `{"enrolments": []}`}, conformance.ErrProvider.Error()},
	} {
		_, err := conformance.Run(t.Context(), conformance.Config{BaseURL: "https://sandbox.example", Key: key(), Transport: &tt.stub})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	away := sender(func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") })
	_, err := conformance.Run(t.Context(), conformance.Config{BaseURL: "https://sandbox.example", Key: key(), Transport: away})
	if err == nil || !strings.Contains(err.Error(), "https://sandbox.example/v1/environment") || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("without a service: %v", err)
	}
}

// A request over the rate limit is sent again when the service says so, but not for ever.
func TestARequestOverTheLimitIsSentAgain(t *testing.T) {
	busy := &stub{environment: "sandbox", status: http.StatusTooManyRequests, header: http.Header{"Retry-After": {"0"}}}
	_, err := conformance.Run(t.Context(), conformance.Config{BaseURL: "https://sandbox.example", Key: key(), Transport: busy})
	if !errors.Is(err, conformance.ErrProvider) || busy.sent != 1+3+3 {
		t.Errorf("%d requests were sent, %v", busy.sent, err)
	}
}
