package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// status has the HTTP statuses of a refusal; 0 where the refusal cannot occur.
type status struct {
	api  int // by the JSON API
	page int // by the payer's pages
}

// statuses has every code of package checkout (contract, sections 5 and 7).
var statuses = map[checkout.Code]status{
	checkout.CodeValidation:         {http.StatusBadRequest, 0},
	checkout.CodeMissingAPIKey:      {http.StatusUnauthorized, 0},
	checkout.CodeInvalidAPIKey:      {http.StatusForbidden, 0},
	checkout.CodeKeyMismatch:        {http.StatusForbidden, 0},
	checkout.CodeProviderNotFound:   {http.StatusNotFound, 0},
	checkout.CodeProviderNotEnabled: {http.StatusForbidden, http.StatusGone},
	checkout.CodeCheckoutNotFound:   {http.StatusNotFound, 0},
	checkout.CodeConflict:           {http.StatusConflict, 0},
	checkout.CodeIntentConflict:     {http.StatusConflict, 0},
	checkout.CodeSetupIncomplete:    {http.StatusConflict, 0},
	checkout.CodeErased:             {http.StatusGone, 0},
	checkout.CodeCancelled:          {http.StatusConflict, http.StatusGone},
	checkout.CodeLinkUnknown:        {0, http.StatusNotFound},
	checkout.CodeLinkExpired:        {0, http.StatusGone},
	checkout.CodeTermsChanged:       {0, http.StatusConflict},
	checkout.CodeBusy:               {http.StatusServiceUnavailable, http.StatusServiceUnavailable},
}

// APIStatus returns the status with which the JSON API answers a refusal; 0 for a refusal that cannot occur there.
func APIStatus(code checkout.Code) int { return statuses[code].api }

// PageStatus returns the status of the page that answers a refusal; 0 for a refusal that cannot occur on a page.
func PageStatus(code checkout.Code) int { return statuses[code].page }

// BusyFor is the time that a client should wait before it retries a request to a busy service.
const BusyFor = time.Second

// SetRetryAfter sets Retry-After to the wait in whole seconds, at least one.
func SetRetryAfter(h http.Header, wait time.Duration) {
	h.Set("Retry-After", strconv.Itoa(max(1, int((wait+time.Second-1)/time.Second))))
}
