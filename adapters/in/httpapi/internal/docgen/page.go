package main

import (
	"slices"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
)

// What page.html.tmpl and page.md.tmpl show. Texts are Markdown.
type (
	pageView struct {
		Title, Summary, Text string
		Quickstart           string
		Operations           []operationView
		Codes                []refusalView
		Refusal              codeView // an example of one
		Events               string
		Headers              []fieldView // of every event
		Envelope             []fieldView // of every event
		Webhooks             []operationView
		Guides               []guideView
	}
	operationView struct {
		ID, Summary, Text, Method, Path string
		About                           string // of the request's body
		Code                            []codeView
		Calls                           bool // the code uses the client of the guide "Calling the API"
		Parameters, Fields, Answer      []fieldView
		Requests, Answers               []exampleView
		Statuses, Codes                 []string    // of good answers, of refusals
		Reach                           []reachView // an event
	}
	fieldView struct {
		Anchor, Path, Kind, Label, Text string
		Reach                           []reachView // the words of a status
	}
	// reachView says how a provider reaches in the sandbox an error, an event, or a word of a status.
	reachView   struct{ Word, How string }
	exampleView struct {
		Title string
		Shown codeView
	}
	refusalView struct {
		Anchor, Code, Status, When, Do string
		Reach                          []reachView
	}
	guideView struct {
		ID, Title, Text string
		Code            []codeView
	}
)

// spec reads the OpenAPI document in the order in which it is written, which is the order for readers.
type spec struct {
	root    strictjson.Value
	anchors map[string]bool        // in use
	tagged  map[string]bool        // tags that an operation bears
	reach   map[string][]reachView // by anchor
}

func newSpec(root strictjson.Value, reach string) spec {
	return spec{root: root, anchors: map[string]bool{}, tagged: map[string]bool{}, reach: parseReach(reach)}
}

// at returns the value under names, one inside the other, following references.
func (o spec) at(v strictjson.Value, names ...string) strictjson.Value {
	for _, name := range names {
		v, _ = v.Member(name)
		v = o.follow(v)
	}
	return v
}

// texts returns the texts of the list under names of v, one inside the other.
func (o spec) texts(v strictjson.Value, names ...string) (all []string) {
	for _, item := range o.at(v, names...).Items {
		all = append(all, item.Text)
	}
	return all
}

// follow returns the value that v refers to, or v itself.
func (o spec) follow(v strictjson.Value) strictjson.Value {
	if ref, ok := v.Member("$ref"); ok {
		return o.at(o.root, strings.Split(strings.TrimPrefix(ref.Text, "#/"), "/")...)
	}
	return v
}

// anchor returns an id for an element of the page, or "" where another element has it.
func (o spec) anchor(id string) string {
	if o.anchors[id] {
		return ""
	}
	o.anchors[id] = true
	return id
}

func (o spec) page(quickstart string) pageView {
	v := pageView{
		Title:      o.at(o.root, "info", "title").Text,
		Summary:    o.at(o.root, "info", "summary").Text,
		Text:       o.at(o.root, "info", "description").Text,
		Quickstart: quickstart,
		Refusal:    codeView{"A refusal", "json", formatJSON(o.at(o.root, "components", "examples", "VALIDATION_ERROR", "value"))},
	}
	statuses := map[string][]string{} // by error code
	for _, path := range o.at(o.root, "paths").Members {
		for _, method := range path.Value.Members {
			v.Operations = append(v.Operations, o.operation(method, path.Name, statuses))
		}
	}
	for _, code := range o.texts(o.root, "components", "schemas", "Error", "properties", "error", "properties", "code", "enum") {
		example := o.at(o.root, "components", "examples", code)
		v.Codes = append(v.Codes, refusalView{Anchor: o.anchor("error-" + code), Code: code,
			Status: strings.Join(statuses[code], ", "),
			When:   o.at(example, "summary").Text, Do: o.at(example, "description").Text, Reach: o.reach["error-"+code]})
	}
	for _, event := range o.at(o.root, "webhooks").Members {
		hook := o.operation(event.Value.Members[0], event.Name, nil)
		v.Headers, hook.Reach = hook.Parameters, o.reach[hook.ID]
		envelope, fields := split(hook.Fields, "data")
		if v.Envelope == nil {
			v.Envelope = slices.Clone(envelope)
		}
		hook.Fields = slices.DeleteFunc(envelope, func(f fieldView) bool { // but what this event says differently
			return slices.ContainsFunc(v.Envelope, func(g fieldView) bool { return g.Path == f.Path && g.Text == f.Text })
		})
		hook.Fields = append(hook.Fields, fields...)
		v.Webhooks = append(v.Webhooks, hook)
	}
	for _, tag := range o.at(o.root, "tags").Items {
		name, text := o.at(tag, "name").Text, o.at(tag, "description").Text
		switch {
		case name == "Events":
			v.Events = text
		case !o.tagged[name]:
			v.Guides = append(v.Guides, guideView{o.anchor(slug(name)), name, text, o.code(name, tag)})
		}
	}
	return v
}

// code returns the code beside v, in each language. of names what it does.
func (o spec) code(of string, v strictjson.Value) (all []codeView) {
	for _, sample := range o.at(v, "x-codeSamples").Items {
		label := o.at(sample, "label").Text
		all = append(all, codeView{of + " in " + label, label, o.at(sample, "source").Text})
	}
	return all
}

// slug makes an id of a title: "the-payers-browser" of "The payer's browser".
func slug(title string) string {
	return strings.NewReplacer(" ", "-", ",", "", "'", "").Replace(strings.ToLower(title))
}

// split returns the fields outside of the object of that name, and the fields inside of it.
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
func (o spec) operation(method strictjson.Member, path string, statuses map[string][]string) operationView {
	op := method.Value
	v := operationView{ID: o.at(op, "operationId").Text, Summary: o.at(op, "summary").Text,
		Text: o.at(op, "description").Text, Method: strings.ToUpper(method.Name), Path: path}
	for _, tag := range o.texts(op, "tags") {
		o.tagged[tag] = true
	}
	v.Code = o.code(v.Summary, op)
	v.Calls = slices.ContainsFunc(v.Code, func(c codeView) bool { return strings.Contains(c.Text, "client.") })
	ours := statuses != nil // not an event, which is our request to the provider
	for _, p := range o.items(op, "parameters") {
		v.Parameters = append(v.Parameters, o.parameter(v.ID, p, ours))
	}
	body := o.at(op, "requestBody", "content", "application/json")
	v.About = o.at(body, "schema", "description").Text
	v.Fields = o.fields(v.ID, o.at(body, "schema"), ours)
	v.Requests = o.examples(v.Summary, "", body)
	for _, status := range o.at(op, "responses").Members {
		answer := o.follow(status.Value)
		content := o.at(answer, "content", "application/json")
		if !strings.HasPrefix(status.Name, "2") {
			for _, example := range o.at(content, "examples").Members {
				v.Codes = append(v.Codes, o.note(statuses, o.follow(example.Value), status.Name))
			}
			continue
		}
		text := status.Name + ": " + o.at(answer, "description").Text
		for _, header := range o.at(answer, "headers").Members {
			text += " `" + header.Name + "`: " + o.at(header.Value, "description").Text
		}
		v.Statuses = append(v.Statuses, text)
		v.Answers = append(v.Answers, o.examples(v.Summary, status.Name+": ", content)...)
		if v.Answer == nil {
			v.Answer = o.fields(v.ID, o.at(content, "schema"), false)
		}
	}
	v.Codes = slices.Compact(v.Codes)
	return v
}

// note returns the code of an example of a refusal, and notes its status.
func (o spec) note(statuses map[string][]string, example strictjson.Value, status string) string {
	code := o.at(example, "value", "error", "code").Text
	if !slices.Contains(statuses[code], status) {
		statuses[code] = append(statuses[code], status)
	}
	return code
}

// items returns the list under a name of v, following references.
func (o spec) items(v strictjson.Value, name string) (all []strictjson.Value) {
	for _, item := range o.at(v, name).Items {
		all = append(all, o.follow(item))
	}
	return all
}

// examples returns the examples of a body. of names what they are examples of; prefix is put before their titles.
func (o spec) examples(of, prefix string, content strictjson.Value) (all []exampleView) {
	for _, e := range o.at(content, "examples").Members {
		title := prefix + o.at(e.Value, "summary").Text
		all = append(all, exampleView{title, codeView{of + ". " + title, "json", formatJSON(o.at(e.Value, "value"))}})
	}
	return all
}
