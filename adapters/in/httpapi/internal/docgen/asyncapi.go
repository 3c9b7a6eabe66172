package main

import (
	"encoding/json"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
)

type object = map[string]any

// asyncAPI returns the AsyncAPI document of the events, which says what the webhooks of the OpenAPI document say.
func (o spec) asyncAPI() ([]byte, error) {
	messages, operations, schemas := object{}, object{}, object{}
	inChannel := object{}
	for _, event := range o.at(o.root, "webhooks").Members {
		post := o.at(event.Value, "post")
		body := o.at(post, "requestBody", "content", "application/json")
		schemas["Headers"] = o.headers(post)
		schemas[event.Name] = plain(o.at(body, "schema"))
		messages[event.Name] = object{
			"name": event.Name, "title": o.at(post, "summary").Text, "summary": o.at(post, "description").Text,
			"contentType": "application/json",
			"headers":     refer("components", "schemas", "Headers"), "payload": refer("components", "schemas", event.Name),
			"examples": []any{object{"payload": plain(o.at(body, "examples", "event", "value"))}},
		}
		inChannel[event.Name] = refer("components", "messages", event.Name)
		operations[o.at(post, "operationId").Text] = object{
			"action": "send", "summary": o.at(post, "summary").Text, "channel": refer("channels", "destination"),
			"messages": []any{refer("channels", "destination", "messages", event.Name)},
			"bindings": object{"http": object{"method": "POST", "bindingVersion": "0.3.0"}},
		}
	}
	return json.MarshalIndent(object{
		"asyncapi": "3.0.0",
		"info": object{
			"title": o.at(o.root, "info", "title").Text + ": events", "version": o.at(o.root, "info", "version").Text,
			"description": o.description("Events") + "\n\n" + o.description("Checking a signature"),
			"contact":     plain(o.at(o.root, "info", "contact")),
			"license":     object{"name": o.at(o.root, "info", "license", "name").Text},
			"externalDocs": object{"description": "The reference, for people.",
				"url": "https://pay.example.nz/docs#events"},
		},
		"defaultContentType": "application/json",
		"servers": object{"provider": object{
			"host": "{host}", "pathname": "/{path}", "protocol": "https",
			"description": "Your receiver, at the destination that the operator has configured for you.",
			"variables": object{"host": object{"examples": []any{"enrol.example.ac.nz"}},
				"path": object{"examples": []any{"provider-checkout/events"}}},
		}},
		"channels": object{"destination": object{
			"address": nil, "description": "All events of a provider go to its one destination.", "messages": inChannel,
			"servers": []any{refer("servers", "provider")},
		}},
		"operations": operations,
		"components": object{"messages": messages, "schemas": schemas},
	}, "", "  ")
}

// headers returns the schema of the headers of an event, which the OpenAPI document describes as parameters.
func (o spec) headers(post strictjson.Value) object {
	properties, required := object{}, []string{}
	for i := range o.at(post, "parameters").Items {
		p := o.item(post, "parameters", i)
		name := o.at(p, "name").Text
		property := plain(o.at(p, "schema")).(object)
		property["description"] = o.at(p, "description").Text
		properties[name] = property
		if o.at(p, "required").Text == "true" {
			required = append(required, name)
		}
	}
	return object{"type": "object", "description": "The headers of every event.", "required": required, "properties": properties}
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

// refer returns a reference to a place in the document.
func refer(names ...string) object {
	path := "#"
	for _, name := range names {
		path += "/" + name
	}
	return object{"$ref": path}
}

// plain returns a value as package json writes it.
func plain(v strictjson.Value) any {
	switch v.Kind {
	case strictjson.Object:
		members := object{}
		for _, m := range v.Members {
			members[m.Name] = plain(m.Value)
		}
		return members
	case strictjson.Array:
		items := []any{}
		for _, item := range v.Items {
			items = append(items, plain(item))
		}
		return items
	case strictjson.String:
		return v.Text
	case strictjson.Null:
		return nil
	}
	return json.RawMessage(v.Text) // a number, true or false
}
