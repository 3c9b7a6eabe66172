package httpapi

import (
	"html/template"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
)

// What docs.html shows.
type (
	pageView struct {
		Title, Text string
		Operations  []operationView
		Codes       []codeView
		Refusal     template.HTML // an example of one
		Events      string
		Headers     []fieldView // of every event
		Envelope    []fieldView // of every event
		Webhooks    []operationView
	}
	operationView struct {
		ID, Summary, Text, Method, Path string
		Parameters, Fields, Answer      []fieldView
		Requests, Answers               []exampleView
		Statuses, Codes                 []string // of good answers, of refusals
	}
	fieldView struct {
		Anchor, Path, Kind, Text string
		Optional                 bool
	}
	exampleView struct {
		Title string
		JSON  template.HTML
	}
	codeView struct{ Anchor, Code, Status, When, Do string }
)

// outline reads the document in the order in which it is written, which is the order for people.
type outline struct {
	root    strictjson.Value
	anchors map[string]bool // given out so far
}

// at returns the value under names, one inside the other, following references.
func (o outline) at(v strictjson.Value, names ...string) strictjson.Value {
	for _, name := range names {
		v, _ = v.Member(name)
		if ref, ok := v.Member("$ref"); ok {
			v = o.at(o.root, strings.Split(strings.TrimPrefix(ref.Text, "#/"), "/")...)
		}
	}
	return v
}

// anchor gives an id out, once: "" where something else has it.
func (o outline) anchor(id string) string {
	if o.anchors[id] {
		return ""
	}
	o.anchors[id] = true
	return id
}

func (o outline) page() pageView {
	v := pageView{
		Title:   o.at(o.root, "info", "title").Text,
		Text:    o.at(o.root, "info", "description").Text,
		Refusal: written(o.at(o.root, "components", "examples", "VALIDATION_ERROR", "value")),
	}
	statuses := map[string][]string{} // by error code
	for _, path := range o.at(o.root, "paths").Members {
		for _, method := range path.Value.Members {
			v.Operations = append(v.Operations, o.operation(method, path.Name, statuses))
		}
	}
	refusal := o.at(o.root, "components", "schemas", "Error", "properties", "error")
	for _, code := range o.at(refusal, "properties", "code", "enum").Items {
		example := o.at(o.root, "components", "examples", code.Text)
		v.Codes = append(v.Codes, codeView{Anchor: o.anchor("error-" + code.Text), Code: code.Text,
			Status: strings.Join(statuses[code.Text], ", "),
			When:   o.at(example, "summary").Text, Do: o.at(example, "description").Text})
	}
	for _, event := range o.at(o.root, "webhooks").Members {
		hook := o.operation(event.Value.Members[0], event.Name, nil)
		v.Headers = hook.Parameters
		v.Envelope, hook.Fields = split(hook.Fields, "data")
		v.Webhooks = append(v.Webhooks, hook)
	}
	for _, tag := range o.at(o.root, "tags").Items {
		if o.at(tag, "name").Text == "Events" {
			v.Events = o.at(tag, "description").Text
		}
	}
	return v
}

// split returns the fields that are not inside of the object of that name, and those that are.
func split(fields []fieldView, name string) (outside, inside []fieldView) {
	for _, f := range fields {
		if strings.HasPrefix(f.Path, name+".") {
			inside = append(inside, f)
		} else {
			outside = append(outside, f)
		}
	}
	return outside, inside
}

// operation describes one method of a path. It notes the statuses of the error codes that it knows.
func (o outline) operation(method strictjson.Member, path string, statuses map[string][]string) operationView {
	op := method.Value
	v := operationView{ID: o.at(op, "operationId").Text, Summary: o.at(op, "summary").Text,
		Text: o.at(op, "description").Text, Method: strings.ToUpper(method.Name), Path: path}
	anchored := statuses != nil // no message is about an event
	for i := range o.at(op, "parameters").Items {
		v.Parameters = append(v.Parameters, o.parameter(o.item(op, "parameters", i), anchored))
	}
	body := o.at(op, "requestBody", "content", "application/json")
	v.Fields = o.fields(nil, o.at(body, "schema"), "", anchored)
	v.Requests = o.examples(body)
	for _, status := range o.at(op, "responses").Members {
		answer := o.at(o.at(op, "responses"), status.Name)
		content := o.at(answer, "content", "application/json")
		if !strings.HasPrefix(status.Name, "2") {
			for _, example := range o.at(content, "examples").Members {
				v.Codes = append(v.Codes, o.note(statuses, o.at(o.at(content, "examples"), example.Name), status.Name))
			}
			continue
		}
		v.Statuses = append(v.Statuses, status.Name+": "+o.at(answer, "description").Text)
		if v.Answer == nil {
			v.Answer = o.fields(nil, o.at(content, "schema"), "", false)
			v.Answers = o.examples(content)
			v.Answers = v.Answers[:min(1, len(v.Answers))] // the others say the same again
		}
	}
	v.Codes = slices.Compact(v.Codes)
	return v
}

// note returns the code of an example of a refusal, and notes its status.
func (o outline) note(statuses map[string][]string, example strictjson.Value, status string) string {
	code := o.at(example, "value", "error", "code").Text
	if !slices.Contains(statuses[code], status) {
		statuses[code] = append(statuses[code], status)
	}
	return code
}

// item returns an item of the list under a name of v.
func (o outline) item(v strictjson.Value, name string, i int) strictjson.Value {
	return o.at(strictjson.Value{Members: []strictjson.Member{{Name: name, Value: o.at(v, name).Items[i]}}}, name)
}

func (o outline) parameter(p strictjson.Value, anchored bool) fieldView {
	name := o.at(p, "name").Text
	v := fieldView{Path: name, Kind: o.at(p, "schema", "type").Text, Text: o.at(p, "description").Text,
		Optional: o.at(p, "required").Text != "true"}
	if anchored && o.at(p, "in").Text == "header" {
		v.Anchor = o.anchor("field-" + name)
	}
	return v
}

// fields appends the fields of an object, and those of the objects inside it.
func (o outline) fields(to []fieldView, schema strictjson.Value, prefix string, anchored bool) []fieldView {
	required := map[string]bool{}
	for _, name := range o.at(schema, "required").Items {
		required[name.Text] = true
	}
	properties := o.at(schema, "properties")
	for _, p := range properties.Members {
		field := o.at(properties, p.Name)
		v := fieldView{Path: prefix + p.Name, Kind: o.kind(field), Text: o.at(field, "description").Text,
			Optional: !required[p.Name]}
		if anchored {
			v.Anchor = o.anchor("field-" + v.Path)
		}
		to = o.fields(append(to, v), field, v.Path+".", anchored)
	}
	return to
}

// kind names what a field holds.
func (o outline) kind(field strictjson.Value) string {
	if format := o.at(field, "format").Text; format != "" {
		return format
	}
	if values := o.at(field, "enum").Items; len(values) > 1 {
		var words []string
		for _, value := range values {
			words = append(words, value.Text)
		}
		return strings.Join(words, " | ")
	}
	return o.at(field, "type").Text
}

func (o outline) examples(content strictjson.Value) (all []exampleView) {
	for _, e := range o.at(content, "examples").Members {
		all = append(all, exampleView{o.at(e.Value, "summary").Text, written(o.at(e.Value, "value"))})
	}
	return all
}

// lineWidth is where written breaks a line, in characters: what a phone shows without much scrolling.
const lineWidth = 72

// written writes a value as JSON for people: what fits on a line stands on one.
func written(v strictjson.Value) template.HTML { return template.HTML(escape(write(v, ""))) }

func write(v strictjson.Value, indent string) string {
	var open, shut string
	var parts []string
	inner := indent + " "
	switch v.Kind {
	case strictjson.Object:
		open, shut = "{", "}"
		for _, m := range v.Members {
			parts = append(parts, strconv.Quote(m.Name)+": "+write(m.Value, inner))
		}
	case strictjson.Array:
		open, shut = "[", "]"
		for _, item := range v.Items {
			parts = append(parts, write(item, inner))
		}
	case strictjson.String:
		return strconv.Quote(v.Text)
	default:
		return v.Text
	}
	flat := open + strings.Join(parts, ", ") + shut
	if !strings.Contains(flat, "\n") && utf8.RuneCountInString(indent+flat) <= lineWidth {
		return flat
	}
	return open + strings.Join(parts, ",\n"+inner) + shut
}
