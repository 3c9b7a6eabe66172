// Package testdata has the test vectors of the module, which other languages may read too: each JSON file describes its
// rule and has the cases of it.
package testdata

import (
	"bytes"
	"embed"
	"encoding/json"
	"testing"
)

//go:embed *.json
var files embed.FS

// Read decodes the vectors of a file into v, which must have every field of them. Numbers in a field of any type keep
// their text.
func Read(t testing.TB, name string, v any) {
	t.Helper()
	data, err := files.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
}
