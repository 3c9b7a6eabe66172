package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"strconv"
	"text/template"
)

//go:embed asyncapi.json.tmpl
var asyncAPITemplate string

// asyncAPI returns the AsyncAPI document of the events, which says what the webhooks of the OpenAPI document say. The template's
// JSON is written anew, with its names in order.
func (o spec) asyncAPI() ([]byte, error) {
	page := template.Must(template.New("asyncapi.json").Funcs(template.FuncMap{"at": o.at, "items": o.items,
		"json": formatJSON, "quote": strconv.Quote, "description": o.description}).Parse(asyncAPITemplate))
	var text bytes.Buffer
	if err := page.Execute(&text, map[string]any{"root": o.root}); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(&text)
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		return nil, err
	}
	return json.MarshalIndent(document, "", "  ")
}

// description returns the text of a tag.
func (o spec) description(tag string) string {
	for _, t := range o.at(o.root, "tags").Items {
		if o.at(t, "name").Text == tag {
			return o.at(t, "description").Text
		}
	}
	return ""
}
