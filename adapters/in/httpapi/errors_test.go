package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// envelope reads a refusal, strictly.
func envelope(t *testing.T, w *httptest.ResponseRecorder) envelopeWire {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(w.Body.Bytes()))
	dec.DisallowUnknownFields()
	var e envelopeWire
	if err := dec.Decode(&e); err != nil {
		t.Fatalf("answer %d %q is not an error envelope: %v", w.Code, w.Body, err)
	}
	if e.Success || e.Error.Message == "" || e.Error.Details == nil ||
		e.RequestID == "" || e.RequestID != w.Header().Get("X-Request-Id") {
		t.Errorf("envelope %s lacks a message, details or the answer's request id", w.Body)
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type = %q", got)
	}
	return e
}

func TestEveryCodeHasAStatusAndAWireCode(t *testing.T) {
	want := map[checkout.Code]string{
		checkout.CodeValidation:         "400 VALIDATION_ERROR",
		checkout.CodeMissingAPIKey:      "401 MISSING_API_KEY",
		checkout.CodeInvalidAPIKey:      "403 INVALID_API_KEY",
		checkout.CodeKeyMismatch:        "403 PROVIDER_KEY_MISMATCH",
		checkout.CodeProviderNotFound:   "404 PROVIDER_NOT_FOUND",
		checkout.CodeProviderNotEnabled: "403 PROVIDER_NOT_ENABLED",
		checkout.CodeCheckoutNotFound:   "404 CHECKOUT_NOT_FOUND",
		checkout.CodeConflict:           "409 CONFLICT",
		checkout.CodeIntentConflict:     "409 IDEMPOTENCY_CONFLICT",
		checkout.CodeSetupIncomplete:    "409 DIRECT_DEBIT_SETUP_INCOMPLETE",
		checkout.CodeErased:             "410 CHECKOUT_ERASED",
		checkout.CodeCancelled:          "409 CHECKOUT_CANCELLED",
		checkout.CodeBusy:               "503 INTERNAL_ERROR",
		// No call of the API meets the codes of the setup page: they would be a fault of the service.
		checkout.CodeLinkUnknown:  "500 INTERNAL_ERROR",
		checkout.CodeLinkExpired:  "500 INTERNAL_ERROR",
		checkout.CodeTermsChanged: "500 INTERNAL_ERROR",
	}
	for _, code := range checkout.Codes() {
		app := &stub{err: fmt.Errorf("create: %w", &checkout.Error{Code: code, Message: "the reason"})}
		w := do(handler(app), request("GET", "/v1/provider-checkouts/id", ""))
		e := envelope(t, w)
		if got := fmt.Sprint(w.Code, " ", e.Error.Code); got != want[code] {
			t.Errorf("%s is answered %s, want %q", code, got, want[code])
		}
		message := "the reason"
		if w.Code == 500 {
			message = internal().message
		}
		if url := "http://pay.example/docs#error-" + e.Error.Code; e.Error.Message != message || e.Error.DocURL != url {
			t.Errorf("%s has the message %q and the address %q, want %q and %q", code, e.Error.Message, e.Error.DocURL, message, url)
		}
		if got := w.Header().Get("WWW-Authenticate"); (got == "Bearer") != (w.Code == 401) {
			t.Errorf("%s: WWW-Authenticate = %q with status %d", code, got, w.Code)
		}
		if got := w.Header().Get("Retry-After"); (got == "1") != (code == checkout.CodeBusy) {
			t.Errorf("%s: Retry-After = %q", code, got)
		}
	}
}

func TestFailureIsLoggedAndNotShownToTheClient(t *testing.T) {
	var log bytes.Buffer
	app := &stub{err: errors.New("open /var/lib/secret.db: no space left")}
	w := do(newHandler(app, options(&log, 0)), request("GET", "/v1/provider-checkouts/id", ""))
	e := wantRefusal(t, w, http.StatusInternalServerError, "INTERNAL_ERROR")
	if strings.Contains(w.Body.String(), "secret") {
		t.Errorf("the client sees %s", w.Body)
	}
	first, _, _ := strings.Cut(log.String(), "\n")
	if !strings.Contains(first, "no space left") || !strings.Contains(first, e.RequestID) {
		t.Errorf("the log %q lacks the cause or the request id %s", first, e.RequestID)
	}
}
