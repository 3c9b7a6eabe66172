package strictjson_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
)

// FuzzParse checks that what Parse accepts is valid UTF-8 without duplicate names, and has
// exactly the same value for encoding/json.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"student": {"last_name": "T\u014dmuri"}, "pricing": {"course_price": 2990.00, "upfront_payment": 2e2}}`,
		`{"a":1,"a":2}`, `{"a":{"A":[1e999999,-0.0,null,true]}}`, `"\ud800"`, "\xef\xbb\xbf{}", `[[[[[[[[[]]]]]]]]]`, `{} {}`,
	} {
		f.Add([]byte(seed))
	}
	const maxDepth = 8
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := strictjson.Parse(data, maxDepth)
		if err != nil {
			var fault *strictjson.Error
			if !errors.As(err, &fault) || fault.Message == "" {
				t.Errorf("Parse(%q) = %v; want an *Error with a message", data, err)
			}
			return
		}
		if !utf8.Valid(data) || !json.Valid(data) {
			t.Errorf("Parse takes %q, which is not JSON", data)
		}
		decoder := json.NewDecoder(strings.NewReader(string(data)))
		decoder.UseNumber()
		var want any
		if err := decoder.Decode(&want); err != nil {
			t.Fatalf("encoding/json refuses %q: %v", data, err)
		}
		if plain := plain(t, got, maxDepth); !reflect.DeepEqual(plain, want) {
			t.Errorf("Parse(%q) = %v; encoding/json reads %v", data, plain, want)
		}
	})
}

// plain returns v as encoding/json represents it. It fails the test for a duplicate name, and
// for a value nested more than depth deep.
func plain(t *testing.T, v strictjson.Value, depth int) any {
	if depth < 0 {
		t.Fatal("nested too deep")
	}
	switch v.Kind {
	case strictjson.Bool:
		return v.Text == "true"
	case strictjson.Number:
		return json.Number(v.Text)
	case strictjson.String:
		return v.Text
	case strictjson.Array:
		items := make([]any, 0, len(v.Items))
		for _, item := range v.Items {
			items = append(items, plain(t, item, depth-1))
		}
		return items
	case strictjson.Object:
		members := make(map[string]any, len(v.Members))
		for _, m := range v.Members {
			if _, twice := members[m.Name]; twice {
				t.Errorf("%q is given twice", m.Name)
			}
			members[m.Name] = plain(t, m.Value, depth-1)
		}
		return members
	}
	return nil
}
