package httpapi

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/checkout"
)

const (
	maxBody  = 64 << 10 // bytes
	maxDepth = 32
)

// readBody returns the JSON object that a request carries. Its type and size are checked
// before any of it is read.
func readBody(r *http.Request) (strictjson.Value, error) {
	if err := checkType(r.Header); err != nil {
		return strictjson.Value{}, err
	}
	if r.ContentLength > maxBody {
		return strictjson.Value{}, tooLarge()
	}
	data, err := io.ReadAll(r.Body)
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return strictjson.Value{}, tooLarge()
	case err != nil: // a body that is cut off, or badly chunked
		return strictjson.Value{}, checkout.Malformed("the request body did not arrive whole; send it again")
	}
	return parseBody(data)
}

// checkType refuses what is not declared as plain JSON in UTF-8.
func checkType(h http.Header) error {
	types := h.Values("Content-Type")
	if len(types) != 1 {
		return unsupported("there must be one Content-Type header: application/json")
	}
	media, params, err := mime.ParseMediaType(types[0])
	if err != nil || media != "application/json" {
		return unsupported("the Content-Type must be application/json")
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return unsupported("the charset must be utf-8")
	}
	for _, coding := range h.Values("Content-Encoding") {
		if !strings.EqualFold(coding, "identity") {
			return unsupported("the body must not have a Content-Encoding")
		}
	}
	return nil
}

// parseBody returns the JSON object that data is.
func parseBody(data []byte) (strictjson.Value, error) {
	body, err := strictjson.Parse(data, maxDepth)
	var fault *strictjson.Error
	switch {
	case errors.As(err, &fault) && fault.Path != "":
		return strictjson.Value{}, checkout.Malformed("the request body is not well-formed; details says where",
			checkout.Fault{Field: fault.Path, Message: fault.Message})
	case errors.As(err, &fault):
		return strictjson.Value{}, checkout.Malformed("the request body " + fault.Message)
	case err != nil:
		return strictjson.Value{}, fmt.Errorf("parse request body: %w", err)
	case body.Kind != strictjson.Object:
		return strictjson.Value{}, checkout.Malformed("the request body must be a JSON object")
	}
	return body, nil
}
