package hostedpages_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/hostedpages"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)
