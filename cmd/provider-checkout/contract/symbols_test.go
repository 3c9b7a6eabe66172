package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// symbols are the names that stand for what a service makes up: {checkout 1}, {token 2}. They count in the order of their
// first appearance.
type symbols struct {
	base, server string // addresses of the service
	names        map[string]string
	meanings     map[string]string
	counted      map[string]int
	misshapen    []string
}

func newSymbols(base, server string) *symbols {
	return &symbols{base: base, server: server, names: map[string]string{}, meanings: map[string]string{}, counted: map[string]int{}}
}

// namedMembers has the kinds of names by the member of an answer or event that has the text.
var namedMembers = map[string]string{"checkout_id": "checkout", "contact_id": "contact", "opportunity_id": "opportunity", "dda_id": "dda",
	"token": "token", "agreement.id": "agreement", "payment_plan_agreement_id": "agreement", "agreement.number": "agreement number",
	"payment_plan_agreement_number": "agreement number", "pdf_content_document_id": "document", "event_id": "event", "request_id": "request",
	"cursor": "cursor", "next": "cursor"}

// shapes has the shape that a text of a kind must have, where no CRM makes it.
var shapes = map[string]string{
	"checkout":         `[A-Z]+-\d{13}-[a-z2-7]{16}`,
	"token":            `[A-Z]+-\d{13}-[a-z2-7]{16}\.\d+\.[0-9a-f]{8}\.[A-Za-z0-9_-]{43}`,
	"agreement number": `PPA-2027-[0-9A-Z]{10}[0-9A-Z*~$=U]`,
	"event":            `evt_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`,
	"request":          `req_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`,
}

// unlabelled finds what is made up and has no member of its own.
var unlabelled = regexp.MustCompile(`\b(BR|MD)[A-Z2-7]{24}\b`)

// give gives a text a name.
func (n *symbols) give(name, meaning string) {
	n.names[meaning], n.meanings["{"+name+"}"] = "{"+name+"}", meaning
}

// see gives a text of a kind a name, unless it has one.
func (n *symbols) see(kind, text string) {
	if text == "" || n.names[text] != "" {
		return
	}
	n.counted[kind]++
	n.give(fmt.Sprintf("%s %d", kind, n.counted[kind]), text)
	if shape := shapes[kind]; shape != "" && !regexp.MustCompile("^"+shape+"$").MatchString(text) {
		n.misshapen = append(n.misshapen, fmt.Sprintf("{%s %d} is %q", kind, n.counted[kind], text))
	}
}

// known returns the name of a text; "" for a text without a name.
func (n *symbols) known(text string) string { return n.names[text] }

// meaning returns what a name stands for.
func (n *symbols) meaning(name string) string { return n.meanings[name] }

// check says which texts do not have the shape of their kind.
func (n *symbols) check(t *testing.T) {
	t.Helper()
	for _, fault := range n.misshapen {
		t.Error(fault)
	}
}

// learn gives names to what is new in an answer.
func (n *symbols) learn(res *http.Response, body string) {
	n.see("request", res.Header.Get("X-Request-Id"))
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") && len(body) < maxShown {
		n.learnJSON(body)
	}
	for _, text := range append(res.Header.Values("Location"), body) {
		for _, found := range unlabelled.FindAllStringSubmatch(text, -1) {
			n.see(map[string]string{"BR": "billing request", "MD": "mandate"}[found[1]], found[0])
		}
	}
}

// learnJSON gives names to what is new in a JSON object.
func (n *symbols) learnJSON(body string) {
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var walk func(parent, name string) bool
	walk = func(parent, name string) bool {
		token, err := d.Token()
		if err != nil {
			return false
		}
		switch token := token.(type) {
		case json.Delim:
			for d.More() {
				member := ""
				if token == '{' {
					key, err := d.Token()
					if err != nil {
						return false
					}
					member, _ = key.(string)
				}
				if !walk(name, member) {
					return false
				}
			}
			_, err := d.Token()
			return err == nil
		case string:
			for _, path := range []string{parent + "." + name, name} {
				if kind := namedMembers[path]; kind != "" {
					n.see(kind, token)
				}
			}
		}
		return true
	}
	walk("", "")
}

// show returns a text of the service with names in place of what is made up.
func (n *symbols) show(text string) string {
	return strings.NewReplacer(n.pairs(n.names, map[string]string{n.base: "{base_url}", n.server: "{base_url}",
		url.QueryEscape(n.base): "{base_url, escaped}", url.QueryEscape(n.server): "{base_url, escaped}"})...).Replace(text)
}

// replace returns a text of the script with what its names stand for.
func (n *symbols) replace(text string) string {
	return strings.NewReplacer(n.pairs(n.meanings, map[string]string{"{base_url}": n.base, "{base_url, escaped}": url.QueryEscape(n.base)})...).Replace(text)
}

// pairs returns the arguments of a replacer: long texts before the short texts that they begin with.
func (n *symbols) pairs(all ...map[string]string) (pairs []string) {
	var from []string
	to := map[string]string{}
	for _, m := range all {
		for k, v := range m {
			from, to[k] = append(from, k), v
		}
	}
	slices.SortFunc(from, func(a, b string) int { return len(b) - len(a) })
	for _, k := range from {
		pairs = append(pairs, k, to[k])
	}
	return pairs
}
