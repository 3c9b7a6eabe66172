package httpapi

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/testdata/recipes"
)

var (
	//go:embed openapi.json
	openapiJSON []byte
	//go:embed reference.html
	referenceHTML string
	//go:embed reference.css
	referenceCSS []byte
)

// exampleBase stands in openapi.json and in reference.html for the base URL of the service.
const exampleBase = "https://pay.example.nz"

// file serves a text that is the same for all clients, with the service's base URL in it. A client that has it already is told so.
func file(contentType, base string, text []byte) http.Handler {
	body := bytes.ReplaceAll(text, []byte(exampleBase), []byte(base))
	sum := sha256.Sum256(body)
	tag := `W/"` + hex.EncodeToString(sum[:8]) + `"`
	return web.Compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", contentType)
		h.Set("Cache-Control", "public, max-age=300")
		h.Set("Content-Security-Policy", web.Policy{Files: true, NoScript: true}.String())
		h.Set("ETag", tag)
		if strings.Contains(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(body) // an error means that the client hung up
	}))
}

// referencePage returns the page at /docs. It panics if openapi.json or reference.html is faulty: they are part of the program.
var referencePage = sync.OnceValue(func() []byte {
	root, err := strictjson.Parse(openapiJSON, maxDepth)
	if err != nil {
		panic(err)
	}
	page := template.Must(template.New("reference").Funcs(template.FuncMap{
		"inline": inline, "json": formatJSON, "samples": samples, "upper": strings.ToUpper,
	}).Parse(referenceHTML))
	var out bytes.Buffer
	if err := page.Execute(&out, &node{root: &root, value: root}); err != nil {
		panic(err)
	}
	return out.Bytes()
})

// node is a value in openapi.json. A nil node is an absent value.
type node struct {
	root  *strictjson.Value
	value strictjson.Value
	Name  string // of a member of an object
	Ref   string // the name of the component that a reference named; "" for a value in its place
}

// At returns the value under a path of names, following references.
func (n *node) At(path ...string) *node {
	for _, name := range path {
		v, ok := n.value.Member(name)
		if !ok {
			return nil
		}
		n = n.child(name, v)
	}
	return n
}

// child returns a value inside of n, or the value that it refers to.
func (n *node) child(name string, v strictjson.Value) *node {
	ref, ok := v.Member("$ref")
	if !ok {
		return &node{root: n.root, value: v, Name: name}
	}
	path := strings.Split(strings.TrimPrefix(ref.Text, "#/"), "/")
	to := (&node{root: n.root, value: *n.root}).At(path...)
	to.Name, to.Ref = name, path[len(path)-1]
	return to
}

// All returns the members of an object or the items of an array, in their order.
func (n *node) All() (all []*node) {
	if n == nil {
		return nil
	}
	for _, m := range n.value.Members {
		all = append(all, n.child(m.Name, m.Value))
	}
	for _, item := range n.value.Items {
		all = append(all, n.child("", item))
	}
	return all
}

// String returns a text, a number or a truth value; "" for any other value.
func (n *node) String() string {
	if n == nil {
		return ""
	}
	return n.value.Text
}

type field struct {
	Anchor, Path string
	Optional     bool
	Schema       *node
}

func (n *node) Fields() []field { return n.fields(cmp.Or(n.Ref, n.Name), "") }

func (n *node) fields(schema, prefix string) (all []field) {
	required := n.At("required").All()
	for _, p := range n.At("properties").All() {
		path := prefix + p.Name
		optional := !slices.ContainsFunc(required, func(name *node) bool { return name.String() == p.Name })
		all = append(all, field{schema + "." + path, path, optional, p})
		all = append(all, p.fields(schema, path+".")...)
		if items := p.At("items"); items != nil {
			all = append(all, items.fields(schema, path+"[].")...)
		}
	}
	return all
}

// Known returns the schema of the values that are known today, where others may follow.
func (n *node) Known() *node {
	if known := n.At("anyOf").All(); known != nil {
		return known[0]
	}
	return n
}

func (n *node) Type() string {
	known := n.Known()
	text := known.At("type").String()
	if format := known.At("format"); format != nil {
		text += ", " + format.String()
	}
	for _, bounds := range [][3]string{{"minimum", "maximum", ""}, {"minLength", "maxLength", " characters"}} {
		if least, most := known.At(bounds[0]), known.At(bounds[1]); least != nil && most != nil {
			text += ", " + least.String() + " to " + most.String() + bounds[2]
		}
	}
	return text
}

// refusal is an error code with the statuses that it has.
type refusal struct {
	Code, Statuses string
	Example        *node
}

// Refusals returns every error code, in the order in which openapi.json lists them.
func (n *node) Refusals() (all []refusal) {
	statuses := map[string][]string{}
	for _, path := range n.At("paths").All() {
		for _, call := range path.All() {
			for _, response := range call.At("responses").All() {
				for _, example := range response.At("content", "application/json", "examples").All() {
					code := example.At("value", "error", "code").String()
					if !slices.Contains(statuses[code], response.Name) {
						statuses[code] = append(statuses[code], response.Name)
					}
				}
			}
		}
	}
	for _, code := range n.At("components", "schemas", "Error", "properties", "error", "properties", "code", "enum").All() {
		all = append(all, refusal{code.String(), strings.Join(statuses[code.String()], ", "), n.At("components", "examples", code.String())})
	}
	return all
}

type sample struct{ Language, File, Text string }

func samples(name string) (all []sample) {
	for _, language := range [][2]string{{"Shell", ".sh"}, {"Node", ".mjs"}, {"Python", ".py"}, {"PHP", ".php"}} {
		if text, err := recipes.Files.ReadFile(name + language[1]); err == nil {
			all = append(all, sample{language[0], name + language[1], string(text)})
		}
	}
	return all
}

// inline writes a text as HTML. The parts between backticks are code.
func inline(text any) template.HTML {
	var out strings.Builder
	for i, part := range strings.Split(fmt.Sprint(text), "`") {
		part = template.HTMLEscapeString(part)
		if i%2 == 1 {
			part = `<code translate="no">` + part + "</code>"
		}
		out.WriteString(part)
	}
	return template.HTML(out.String())
}

const lineWidth = 72

// formatJSON writes a value as JSON for people: an object or an array that fits is on one line.
func formatJSON(n *node) string { return appendJSON(n.value, "") }

func appendJSON(v strictjson.Value, indent string) string {
	inner, brackets := indent+"  ", "[]"
	var parts []string
	for _, m := range v.Members {
		parts = append(parts, strconv.Quote(m.Name)+": "+appendJSON(m.Value, inner))
	}
	for _, item := range v.Items {
		parts = append(parts, appendJSON(item, inner))
	}
	switch v.Kind {
	case strictjson.Object:
		brackets = "{}"
	case strictjson.Array:
	case strictjson.String:
		return strconv.Quote(v.Text)
	default:
		return v.Text
	}
	line := brackets[:1] + strings.Join(parts, ", ") + brackets[1:]
	if !strings.Contains(line, "\n") && utf8.RuneCountInString(indent+line) <= lineWidth {
		return line
	}
	return brackets[:1] + "\n" + inner + strings.Join(parts, ",\n"+inner) + "\n" + indent + brackets[1:]
}
