package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
)

func (o spec) parameter(at string, p strictjson.Value, ours bool) fieldView {
	name := o.at(p, "name").Text
	v := fieldView{Path: name, Kind: o.kind(o.at(p, "schema")), Text: o.at(p, "description").Text,
		Label: label(o.at(p, "required").Text == "true", ours)}
	v.Anchor = o.fieldAnchor(at, name, ours && o.at(p, "in").Text != "path")
	return v
}

// fieldAnchor returns the id of a field in the part of the page that describes an operation. The first field of a name that is
// sent to us has the id that messages point to.
func (o spec) fieldAnchor(at, name string, ours bool) string {
	if ours && !o.anchors["field-"+name] {
		return o.anchor("field-" + name)
	}
	return o.anchor(at + "-" + name)
}

// fields returns the fields of a body of an operation, and the fields of the objects inside it. The body is a request to us, or
// sent by us. A body of one of several kinds has the fields of them all.
func (o spec) fields(at string, schema strictjson.Value, ours bool) (all []fieldView) {
	kinds := o.items(schema, "oneOf")
	if len(kinds) == 0 {
		kinds = []strictjson.Value{schema}
	}
	var titles []string
	var each [][]fieldView
	for _, kind := range kinds {
		titles = append(titles, o.at(kind, "title").Text)
		each = append(each, o.properties(nil, kind, "", ours))
	}
	for _, f := range slices.Concat(each...) {
		if slices.ContainsFunc(all, func(g fieldView) bool { return g.Path == f.Path }) {
			continue
		}
		f = merged(f, titles, each)
		f.Anchor = o.fieldAnchor(at, f.Path, ours)
		f.Reach = o.reach[f.Anchor]
		all = append(all, f)
	}
	return all
}

// merged returns a field as the kinds of a body describe it together. What they say differently stands under their titles, after
// what the kinds say that require it.
func merged(f fieldView, titles []string, each [][]fieldView) fieldView {
	var needed, texts, requiredIn []string
	same := true
	for i, fields := range each {
		at := slices.IndexFunc(fields, func(g fieldView) bool { return g.Path == f.Path })
		if at < 0 {
			continue
		}
		g := fields[at]
		same = same && g.Text == f.Text
		if g.Label == "required" {
			requiredIn = append(requiredIn, strings.ToLower(titles[i]))
			needed = append(needed, g.Text)
		} else {
			texts = append(texts, titles[i]+": "+g.Text)
		}
	}
	if !same {
		f.Text = strings.Join(append(needed, texts...), " ")
	}
	if n := len(requiredIn); 0 < n && n < len(each) {
		f.Label = "required " + strings.Join(requiredIn, " and ")
	}
	return f
}

// properties appends the fields of an object, and the fields of the objects inside it; events[].body is a field of each in a list.
func (o spec) properties(to []fieldView, schema strictjson.Value, prefix string, ours bool) []fieldView {
	required := o.texts(schema, "required")
	for _, p := range o.at(schema, "properties").Members {
		field := o.follow(p.Value)
		v := fieldView{Path: prefix + p.Name, Kind: o.kind(field), Text: o.at(field, "description").Text,
			Label: label(slices.Contains(required, p.Name), ours)}
		to = o.properties(append(to, v), field, v.Path+".", ours)
		to = o.properties(to, o.at(field, "items"), v.Path+"[].", ours)
	}
	return to
}

// label says whether a field must be sent, or may be absent from what we send.
func label(required, ours bool) string {
	switch {
	case ours && required:
		return "required"
	case ours:
		return "optional"
	case required:
		return ""
	}
	return "may be absent"
}

// kind names what a field holds.
func (o spec) kind(field strictjson.Value) string {
	if words := o.items(field, "anyOf"); len(words) > 0 { // words that may become more
		return strings.Join(o.texts(words[0], "enum"), " | ") + " | …"
	}
	if words := o.texts(field, "enum"); len(words) > 1 {
		return strings.Join(words, " | ")
	}
	kind := cmp.Or(o.at(field, "format").Text, o.at(field, "type").Text)
	least, most := o.at(field, "minimum").Text, o.at(field, "maximum").Text
	longest := o.at(field, "maxLength").Text
	switch {
	case least != "" && most != "":
		return kind + " from " + least + " to " + most
	case longest != "":
		return kind + " of at most " + longest + " characters"
	}
	return kind
}
