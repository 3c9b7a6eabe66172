package sandbox

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/apidoc"
)

// Document returns the API's OpenAPI document, narrowed, with what the tests of this run have seen of it.
var Document = sync.OnceValue(func() *apidoc.Document {
	root, err := testlevel.Root()
	if err != nil {
		panic(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "adapters", "in", "httpapi", "openapi.json"))
	if err != nil {
		panic(err)
	}
	d, err := apidoc.Parse(text)
	if err != nil {
		panic(err)
	}
	d.Narrow()
	return d
})
