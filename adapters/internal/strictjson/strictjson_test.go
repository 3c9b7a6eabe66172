package strictjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
)

func TestParseRefuses(t *testing.T) {
	const cutOff, oneValue, syntax, comma = "cut off", "nothing after it", "not valid JSON", ": a comma too many"
	const maxDepth = 3
	tests := []struct {
		name    string
		in      string
		path    string
		message string // a part of it
	}{
		{"nothing at all", ``, "", "is empty"},
		{"a byte order mark", "\xef\xbb\xbf{}", "", "byte order mark"},
		{"UTF-16", "\xff\xfe{\x00}\x00", "", syntax},

		{"a name given twice inside", `{"plan":{"instalment_amount":1,"instalment_amount":2}}`, "plan.instalment_amount", "given twice"},
		{"a name given twice in an item", `{"providers":[{},{"name":"","name":""}]}`, "providers[1].name", "given twice"},
		{"a name given twice, once escaped", `{"a":1,"\u0061":2}`, "a", "given twice"},
		{"an empty name given twice", `{"":1,"":2}`, `[""]`, "given twice"},
		{"a dotted name given twice", `{"a":{"b.c":1,"b.c":2}}`, `a["b.c"]`, "given twice"},
		{"a name with control characters given twice", `{"\u001b[2J":1,"\u001b[2J":2}`, `["\x1b[2J"]`, "given twice"},

		{"a second value", `{} {}`, "", oneValue},

		{"a stray byte in a string", "{\"a\":\"\xff\"}", "a", "invalid UTF-8"},
		{"a stray byte in a name", "{\"\xff\":1}", "", "invalid UTF-8"},
		{"a lone high surrogate", `{"a":"\ud800"}`, "a", "surrogate"},
		{"a lone low surrogate", `{"a":"\udc00x"}`, "a", "surrogate"},
		{"surrogates in the wrong order", `{"a":"\udc00\ud800"}`, "a", "surrogate"},

		{"objects nested too deep", `{"a":{"b":{"c":{}}}}`, "a.b.c", "nested more than 3 deep"},
		{"ten thousand brackets", strings.Repeat("[", 10_000), "[0][0][0]", "nested more than 3 deep"},

		{"an object cut off", `{"a":1`, "", cutOff},
		{"a number cut off", `1e`, "", cutOff},
		{"a trailing comma in an object", `{"a":1,}`, "", "at line 1, column 7" + comma},
		{"two commas", `{"a":1,,"b":2}`, "", comma},
		{"no name before a comma", `{,"a":1}`, "", comma},
		{"a raw U+0000 in a string", "{\"a\":\"\x00\"}", "a", syntax},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := strictjson.Parse([]byte(tt.in), maxDepth)
			var fault *strictjson.Error
			if !errors.As(err, &fault) {
				t.Fatalf("Parse = %v, %v; want an *Error", v, err)
			}
			if fault.Path != tt.path || !strings.Contains(fault.Message, tt.message) {
				t.Errorf("Parse = path %q, message %q; want %q, …%s…", fault.Path, fault.Message, tt.path, tt.message)
			}
		})
	}
}

func TestParseKeepsTexts(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want strictjson.Value
	}{
		{"null", ` null `, strictjson.Value{}},
		{"a boolean", `true`, strictjson.Value{Kind: strictjson.Bool, Text: "true"}},
		{"a number's own spelling", `-1.250e+3`, strictjson.Value{Kind: strictjson.Number, Text: "-1.250e+3"}},
		{"a number beyond any float", `1e999999`, strictjson.Value{Kind: strictjson.Number, Text: "1e999999"}},
		{"escapes", `"K\u014dwhai \"\/\n"`, strictjson.Value{Kind: strictjson.String, Text: "Kōwhai \"/\n"}},
		{"a pair of surrogates", `"\ud83c\udf3f"`, strictjson.Value{Kind: strictjson.String, Text: "🌿"}},
		{"an escaped U+0000", `"a\u0000b"`, strictjson.Value{Kind: strictjson.String, Text: "a\x00b"}},
		{"a byte order mark inside a string", "\"\uFEFF\"", strictjson.Value{Kind: strictjson.String, Text: "\uFEFF"}},
		{"a decomposed letter", "\"o\u0304\"", strictjson.Value{Kind: strictjson.String, Text: "o\u0304"}},
		{"an empty array", `[]`, strictjson.Value{Kind: strictjson.Array}},
		{"an empty object", `{}`, strictjson.Value{Kind: strictjson.Object}},
		{"the order of members, and letter case", `{"b":null,"B":[1]}`, strictjson.Value{
			Kind: strictjson.Object,
			Members: []strictjson.Member{
				{Name: "b", Value: strictjson.Value{}},
				{Name: "B", Value: strictjson.Value{
					Kind:  strictjson.Array,
					Items: []strictjson.Value{{Kind: strictjson.Number, Text: "1"}},
				}},
			},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := strictjson.Parse([]byte(tt.in), 2)
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("Parse(%q) = %+v, %v; want %+v", tt.in, got, err, tt.want)
			}
		})
	}
}

func TestDepthIsCountedInBrackets(t *testing.T) {
	for depth := range 5 {
		nested := []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))
		if depth == 0 {
			nested = []byte("0")
		}
		if _, err := strictjson.Parse(nested, depth); err != nil {
			t.Errorf("Parse(%s, %d) = %v; want it taken", nested, depth, err)
		}
		if _, err := strictjson.Parse(nested, depth-1); depth > 0 && err == nil {
			t.Errorf("Parse(%s, %d) takes it; want it refused", nested, depth-1)
		}
	}
}

func TestMember(t *testing.T) {
	v, err := strictjson.Parse([]byte(`{"name":"a","Name":"b","none":null}`), 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"name": "a", "Name": "b", "none": ""} {
		if got, ok := v.Member(name); !ok || got.Text != want {
			t.Errorf("Member(%q) = %+v, %v; want %q", name, got, ok, want)
		}
	}
	if got, ok := v.Member("NAME"); ok {
		t.Errorf(`Member("NAME") = %+v; want none: names match to the letter`, got)
	}
	if got, ok := (strictjson.Value{Kind: strictjson.Array}).Member("name"); ok {
		t.Errorf("a member of an array = %+v; want none", got)
	}
}

func TestJoin(t *testing.T) {
	tests := []struct{ path, name, want string }{
		{"", "plan", "plan"},
		{"plan", "instalment_amount", "plan.instalment_amount"},
		{"providers[0]", "name", "providers[0].name"},
		{"plan", "a.b", `plan["a.b"]`},
		{"plan", "", `plan[""]`},
		{"", "\x1b[2J", `["\x1b[2J"]`},
	}
	for _, tt := range tests {
		if got := strictjson.Join(tt.path, tt.name); got != tt.want {
			t.Errorf("Join(%q, %q) = %s; want %s", tt.path, tt.name, got, tt.want)
		}
	}
}

func TestErrorReadsAsASentence(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{"plan":{"a":1,"a":2}}`, "plan.a is given twice"},
		{``, "the document must be JSON, and is empty"},
		{"{\n  \"nāme\": x", `["n\u0101me"] is not valid JSON at line 2, column 11: invalid character 'x' at start of value`},
	}
	for _, tt := range tests {
		if _, err := strictjson.Parse([]byte(tt.in), 9); err == nil || err.Error() != tt.want {
			t.Errorf("Parse(%q) = %v; want %s", tt.in, err, tt.want)
		}
	}
}

func TestErrorStaysSmall(t *testing.T) {
	name := strings.Repeat("ō", 10_000)
	_, err := strictjson.Parse(fmt.Appendf(nil, `{"%s":1,"%s":2}`, name, name), 9)
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("the error of a name of 20,000 bytes is %v; want one of at most 300 bytes", err)
	}
}

// FuzzParse checks that what Parse accepts is valid UTF-8 without duplicate names, and has
// exactly the same value for encoding/json.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"student": {"last_name": "T\u014dmuri"}, "pricing": {"course_price": 2990.00, "upfront_payment": 2e2}}`,
		`{"a":1,"a":2}`, `{"a":{"A":[1e999999,-0.0,null,true]}}`, `"\ud800"`, "\xef\xbb\xbf{}", `[[[[[[[[[]]]]]]]]]`, `{} {}`,
		" \r\n\t ", `{"a":1,"b":2,"a":1}`, "{}\n{}", `{"a":1}}`, `{"a":1} x`, "{}\x00", `{"a":01}`, "{\"a\":\"\xc0\xaf\"}",
		"{\"a\":\"\xed\xa0\x80\"}", "{\"a\":\"\xf4\x90\x80\x80\"}", `{"a":"\ud800\u0041"}`, `[[[[]]]]`, `{"a":"x`, `{"a":[1,`, `{"a":[1,]}`,
		`{a:1}`, `{1:2}`, `{'a':1}`, `{"a":1 /* one */}`, `{"a":NaN}`, `{"a":0x10}`, `{"a":+1}`, `{"a":.5}`, `{"a":True}`, "{\"a\":\"\n\"}",
		`{"a":"\x41"}`, `{"a":[}`,
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
