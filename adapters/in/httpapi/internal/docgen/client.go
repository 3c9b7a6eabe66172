package main

import (
	"bytes"
	_ "embed"
	"go/format"
	"slices"
	"strings"
	"text/template"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
)

// The views of the clients' templates. Texts are Markdown.
type (
	clientView struct {
		Types      []typeView
		Envelope   []memberView // of every event
		Operations []callView
		Events     []eventView
		Codes      []string // of refusals
		Amounts    []string // names of fields that hold dollars
	}
	typeView struct {
		Name, Text string
		Members    []memberView
		Kinds      []string     // of a type that is one of several, their names; without members
		Own        []memberView // of an event, behind its envelope
		Note       string       // of an event, what its envelope says differently
	}
	memberView struct {
		Name, Text string
		In         string // of a parameter: query or header
		Kind       kindView
		Required   bool
	}
	// kindView is the type of a value: string, time, integer, amount or boolean, or the name of one of the types.
	kindView struct {
		Name  string
		Words []string // of a string, the only values
		List  bool     // of such values
	}
	callView struct {
		Name, Summary, Text, Method, Path string
		Options                           []memberView
		Request, Answer                   string // names of types; "" for a call without a body
	}
	eventView struct{ Name, Type string }
)

var (
	//go:embed client.go.tmpl
	goTemplate string
	//go:embed client.ts.tmpl
	typeScriptTemplate string
	//go:embed client.py.tmpl
	pythonTemplate string
)

// clientFolder is the folder of the clients, seen from the folder of openapi.json.
const clientFolder = "../../clients/"

// clients returns the generated part of the client in each language, by file name.
func (o spec) clients() (map[string][]byte, error) {
	view := o.client()
	files := map[string][]byte{}
	for file, source := range map[string]string{"go/providercheckout/wire.go": goTemplate,
		"typescript/src/wire.ts": typeScriptTemplate, "python/provider_checkout/wire.py": pythonTemplate} {
		var code bytes.Buffer
		if err := template.Must(template.New(file).Funcs(spelling).Parse(source)).Execute(&code, view); err != nil {
			return nil, err
		}
		files[clientFolder+file] = code.Bytes()
	}
	const goFile = clientFolder + "go/providercheckout/wire.go"
	var err error
	files[goFile], err = format.Source(files[goFile])
	return files, err
}

func (o spec) client() (v clientView) {
	schemas := o.at(o.root, "components", "schemas")
	for _, s := range schemas.Members {
		if s.Name != "Error" { // the hand-written part has it
			v.add(o, s.Name, s.Value)
		}
	}
	for _, path := range o.at(o.root, "paths").Members {
		for _, method := range path.Value.Members {
			v.Operations = append(v.Operations, o.call(method, path.Name))
		}
	}
	for _, event := range o.at(o.root, "webhooks").Members {
		body, _ := o.at(event.Value.Members[0].Value, "requestBody", "content", "application/json").Member("schema")
		v.Events = append(v.Events, eventView{event.Name, reference(body)})
	}
	v.split()
	v.Codes = o.texts(schemas, "Error", "properties", "error", "properties", "code", "enum")
	slices.Sort(v.Amounts)
	v.Amounts = slices.Compact(v.Amounts)
	return v
}

// split tells the envelope of the events from what each of them has of its own.
func (v *clientView) split() {
	for i, t := range v.Types {
		if !slices.ContainsFunc(v.Events, func(e eventView) bool { return e.Type == t.Name }) {
			continue
		}
		own := slices.IndexFunc(t.Members, func(m memberView) bool { return m.Name == "data" })
		if v.Envelope == nil {
			v.Envelope = t.Members[:own]
		}
		v.Types[i].Own = t.Members[own:]
		for j, m := range t.Members[:own] {
			if m.Text != v.Envelope[j].Text {
				v.Types[i].Note += " `" + m.Name + "`: " + m.Text
			}
		}
	}
}

// add adds the type of a schema, and the types of the objects inside it, which are named for their places.
func (v *clientView) add(o spec, name string, schema strictjson.Value) {
	t := typeView{Name: name, Text: o.at(schema, "description").Text}
	for _, kind := range o.at(schema, "oneOf").Items {
		t.Kinds = append(t.Kinds, reference(kind))
	}
	place := len(v.Types)
	required := o.texts(schema, "required")
	for _, p := range o.at(schema, "properties").Members {
		member := memberView{Name: p.Name, Text: o.at(o.follow(p.Value), "description").Text, Kind: o.valueKind(p.Value),
			Required: slices.Contains(required, p.Name)}
		inner := p.Value
		if member.Kind.List {
			inner = o.at(p.Value, "items")
		}
		_, object := o.follow(inner).Member("properties")
		if object && !member.Kind.List {
			member.Text = "" // its type has it
		}
		if object && reference(inner) == "" {
			member.Kind.Name = name + pascal(p.Name)
			if member.Kind.List {
				member.Kind.Name = strings.TrimSuffix(member.Kind.Name, "s")
			}
			v.add(o, member.Kind.Name, inner)
		}
		if member.Kind.Name == "amount" {
			v.Amounts = append(v.Amounts, p.Name)
		}
		t.Members = append(t.Members, member)
	}
	if t.Members != nil || t.Kinds != nil { // otherwise it is a plain value, which has no type of its own
		v.Types = slices.Insert(v.Types, place, t)
	}
}

// valueKind returns the type of a value, with an empty name for an object that is written out in its place.
func (o spec) valueKind(v strictjson.Value) (k kindView) {
	schema := o.follow(v)
	if _, object := schema.Member("properties"); object {
		return kindView{Name: reference(v)}
	}
	switch kind := o.at(schema, "type").Text; {
	case kind == "array":
		k = o.valueKind(o.at(schema, "items"))
		k.List = true
	case kind == "number":
		k.Name = "amount"
	case o.at(schema, "format").Text == "date-time":
		k.Name = "time"
	case kind == "": // words that may become more
		k.Name = "string"
	default:
		k.Name = kind
	}
	if k.Name == "string" {
		k.Words = o.texts(schema, "enum")
	}
	return k
}

// call describes one method of a path.
func (o spec) call(method strictjson.Member, path string) callView {
	op := method.Value
	v := callView{Name: o.at(op, "operationId").Text, Summary: o.at(op, "summary").Text, Text: o.at(op, "description").Text,
		Method: strings.ToUpper(method.Name), Path: path}
	for _, p := range o.items(op, "parameters") {
		if in := o.at(p, "in").Text; in != "path" {
			v.Options = append(v.Options, memberView{Name: o.at(p, "name").Text, Text: o.at(p, "description").Text, In: in,
				Kind: o.valueKind(o.at(p, "schema"))})
		}
	}
	body, _ := o.at(op, "requestBody", "content", "application/json").Member("schema")
	v.Request = reference(body)
	for _, status := range o.at(op, "responses").Members {
		if strings.HasPrefix(status.Name, "2") {
			answer, _ := o.at(o.follow(status.Value), "content", "application/json").Member("schema")
			v.Answer = reference(answer)
		}
	}
	return v
}

// reference returns the name of the schema that v refers to, or "".
func reference(v strictjson.Value) string {
	ref, _ := v.Member("$ref")
	return ref.Text[strings.LastIndex(ref.Text, "/")+1:]
}
