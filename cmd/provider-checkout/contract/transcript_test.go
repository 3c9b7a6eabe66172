package contract_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// script is a file of a conversation.
type script struct {
	file     string
	opening  string   // the lines before the first step, as they are
	settings []string // of the service
	steps    []step
}

// step is one request, with what happens before it, and what it brought when it was recorded.
type step struct {
	title    string
	asked    string // the lines of what happens and of the request, as they are
	happens  []string
	request  []string // lines; empty where a step has no request
	recorded string
}

// request is a request as it is sent.
type request struct {
	method, path string
	header       http.Header
	body         string
}

const (
	titleMark   = "### "
	answerMark  = "--> " // begins what is recorded
	happensMark = "* "
)

// readScript reads a conversation.
func readScript(t *testing.T, file string) script {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split("\n"+string(text), "\n"+titleMark)
	s := script{file: file, opening: strings.TrimPrefix(parts[0], "\n") + "\n"}
	for line := range strings.Lines(s.opening) {
		if setting, ok := strings.CutPrefix(line, happensMark); ok {
			s.settings = append(s.settings, strings.TrimSpace(setting))
		}
	}
	for _, part := range parts[1:] {
		title, rest, _ := strings.Cut(part, "\n")
		asked, recorded, _ := strings.Cut("\n"+rest, "\n"+answerMark)
		st := step{title: title, asked: strings.TrimRight(strings.TrimPrefix(asked, "\n"), "\n"), recorded: answerMark + strings.TrimRight(recorded, "\n")}
		for line := range strings.SplitSeq(strings.TrimLeft(st.asked, "\n"), "\n") {
			if happens, ok := strings.CutPrefix(line, happensMark); ok && len(st.request) == 0 {
				st.happens = append(st.happens, happens)
			} else if line != "" || len(st.request) > 0 {
				st.request = append(st.request, line)
			}
		}
		s.steps = append(s.steps, st)
	}
	return s
}

// requests returns how many requests are sent.
func (s script) requests() (n int) {
	for _, st := range s.steps {
		if len(st.request) > 0 {
			n++
		}
	}
	return n
}

// play plays the conversation, and compares what it brings with what is recorded, or records it.
func (s script) play(t *testing.T, k *talk) {
	t.Helper()
	var whole strings.Builder
	whole.WriteString(s.opening)
	pages := map[string]string{} // titles of the steps by the page that they brought
	different := 0
	for _, st := range s.steps {
		var brought []string
		for _, line := range st.happens {
			k.do(t, line)
		}
		if len(st.request) > 0 {
			r := k.read(t, st)
			res, body := k.send(t, r)
			k.names.learn(res, body)
			brought = append(brought, k.showAnswer(t, res, body, st.title, pages))
		}
		brought = append(brought, k.hear(t)...)
		if len(brought) == 0 {
			brought = []string{answerMark + "nothing"}
		}
		got := strings.TrimRight(strings.Join(brought, "\n\n"), "\n")
		if got != st.recorded {
			if different++; different <= 10 && !*update {
				t.Errorf("%s: %q brings something else (- recorded, + now):\n%s", filepath.Base(s.file), st.title, differingLines(st.recorded, got))
			}
		}
		fmt.Fprintf(&whole, "%s%s\n%s\n\n%s\n\n", titleMark, st.title, st.asked, got)
	}
	if different > 10 && !*update {
		t.Errorf("%s: %d steps differ in all", filepath.Base(s.file), different)
	}
	k.names.check(t)
	if *update {
		if err := os.WriteFile(s.file, []byte(strings.TrimRight(whole.String(), "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// read reads the request of a step: its line, its headers and, after an empty line, its body.
func (k *talk) read(t *testing.T, st step) request {
	t.Helper()
	head, body := st.request, []string(nil)
	if i := slices.Index(head, ""); i >= 0 {
		head, body = head[:i], head[i+1:]
	}
	method, path, _ := strings.Cut(head[0], " ")
	path, caller, called := strings.Cut(path, " as ")
	r := request{method: method, path: k.plain(path), header: http.Header{}, body: k.plain(k.body(t, body))}
	if called {
		r.header.Set("Authorization", "Bearer "+k.names.meaning("{key of "+caller+"}"))
		if method == http.MethodPost {
			r.header.Set("Content-Type", "application/json")
		}
	}
	for _, line := range head[1:] {
		name, value, _ := strings.Cut(line, ":")
		if value = k.plain(strings.TrimSpace(value)); value == "(none)" {
			r.header.Del(name)
		} else {
			r.header.Add(name, value)
		}
	}
	return r
}

var template = regexp.MustCompile(`^\{((?:create|confirm) of \w+) (\d+)\}$`)

// body returns a body as it is written, or made of a body in bodies.json with changes.
func (k *talk) body(t *testing.T, lines []string) string {
	t.Helper()
	if len(lines) == 0 || !template.MatchString(lines[0]) {
		return strings.Join(lines, "\n")
	}
	text, err := os.ReadFile(conversations + "bodies.json")
	if err != nil {
		t.Fatal(err)
	}
	var bodies map[string]json.RawMessage
	if err := json.Unmarshal(text, &bodies); err != nil {
		t.Fatal(err)
	}
	named := template.FindStringSubmatch(lines[0])
	body := strings.ReplaceAll(string(bodies[named[1]]), "#", named[2])
	for _, change := range lines[1:] {
		if path, found := strings.CutPrefix(change, "without "); found {
			body = sandbox.Set(t, body, path, "")
		} else if path, value, found := strings.Cut(change, " = "); found {
			body = sandbox.Set(t, body, strings.TrimPrefix(path, "with "), k.plain(value))
		} else {
			t.Fatalf("no change of a body is %q", change)
		}
	}
	return body
}

var (
	many    = regexp.MustCompile(`\{(\d+) times (.)\}`)
	rawByte = regexp.MustCompile(`\{byte ([0-9A-F]{2})\}`)
)

// plain returns a text of the script with what it stands for.
func (k *talk) plain(text string) string {
	text = many.ReplaceAllStringFunc(text, func(s string) string {
		found := many.FindStringSubmatch(s)
		n, _ := strconv.Atoi(found[1])
		return strings.Repeat(found[2], n)
	})
	text = rawByte.ReplaceAllStringFunc(text, func(s string) string {
		n, _ := strconv.ParseUint(rawByte.FindStringSubmatch(s)[1], 16, 8)
		return string([]byte{byte(n)})
	})
	return k.names.replace(text)
}

// Headers that answers of a kind have, unless the recording shows them with another value or says that they are not there.
var (
	usualOfAll = map[string]string{"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
	usualOfAPI = map[string]string{"Content-Type": "application/json",
		"Content-Security-Policy": "default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"}
	usualOfPages = map[string]string{"Content-Type": "text/html; charset=utf-8", "Referrer-Policy": "no-referrer", "Vary": "Accept-Encoding",
		"Permissions-Policy":           "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
		"Cross-Origin-Resource-Policy": "same-origin", "X-Robots-Tag": "noindex, nofollow"}
	// Of the server and not of the handler.
	notOurs = []string{"Date", "Content-Length", "Transfer-Encoding", "Connection"}
)

// showAnswer returns an answer as the recording has it.
func (k *talk) showAnswer(t *testing.T, res *http.Response, body, title string, pages map[string]string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(answerMark + res.Status + "\n")
	usual := []map[string]string{usualOfAll}
	switch media := res.Header.Get("Content-Type"); {
	case media == "application/json":
		usual = append(usual, usualOfAPI)
	case strings.HasPrefix(media, "text/html"), res.StatusCode == http.StatusSeeOther:
		usual = append(usual, usualOfPages)
	}
	header := res.Header.Clone()
	for _, name := range notOurs {
		header.Del(name)
	}
	if res.StatusCode == http.StatusSeeOther && body == "" {
		header.Add("Content-Type", usualOfPages["Content-Type"]) // a redirection has no page
	}
	if next := k.names.known(header.Get("X-Request-Id")); next == fmt.Sprintf("{request %d}", k.names.counted["request"]) {
		header.Del("X-Request-Id")
	}
	var missing []string
	for _, set := range usual {
		for name, value := range set {
			switch got := header.Values(name); {
			case len(got) == 0:
				missing = append(missing, "(without "+name+")")
			case slices.Equal(got, []string{value}):
				header.Del(name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			b.WriteString(name + ": " + k.names.show(value) + "\n")
		}
	}
	sort.Strings(missing)
	for _, line := range missing {
		b.WriteString(line + "\n")
	}
	shown := k.showBody(res.Header.Get("Content-Type"), body, "\n")
	if len(shown) > 1000 {
		if first, seen := pages[shown]; seen {
			shown = fmt.Sprintf("(the page of %q)", first)
		} else {
			pages[shown] = title
		}
	}
	if shown != "" {
		b.WriteString("\n" + shown)
	}
	return strings.TrimRight(b.String(), "\n")
}

// maxShown is the longest body, in bytes, that is shown as it is.
const maxShown = 64 << 10

// showBody returns a body as the recording has it. ending is how a body of its kind ends.
func (k *talk) showBody(media, body, ending string) string {
	if body == "" {
		return ""
	}
	named := k.names.show(body)
	text := strings.HasPrefix(media, "text/html") || strings.HasPrefix(media, "text/plain")
	isJSON := strings.HasPrefix(media, "application/json") && json.Valid([]byte(body))
	switch {
	case len(body) > maxShown, !text && !isJSON:
		return fmt.Sprintf("(%d bytes with the SHA-256 %x)", len(named), sha256.Sum256([]byte(named)))
	case isJSON:
		compact, ended := strings.CutSuffix(named, ending)
		broken := breakUp(compact, "")
		if regexp.MustCompile(`\n *`).ReplaceAllString(broken, "") != compact {
			return named
		}
		if !ended {
			broken += "\n(without the line break at its end)"
		} else if ending == "" && strings.HasSuffix(compact, "\n") {
			broken += "\n(with a line break at its end)"
		}
		return broken
	case !strings.HasSuffix(named, "\n"):
		return named + "\n(without a line break at its end)"
	}
	return strings.TrimSuffix(named, "\n")
}

// breakUp returns a JSON value with a line for each member where it is long.
func breakUp(value, indent string) string {
	if len(value) <= 110 && indent != "" || !strings.HasPrefix(value, "{") && !strings.HasPrefix(value, "[") || len(value) < 3 {
		return value
	}
	var b strings.Builder
	deeper := indent + "  "
	b.WriteString(value[:1])
	depth, from, inText := 0, 1, false
	for i := 1; i < len(value); i++ {
		switch c := value[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			depth++
		case (c == '}' || c == ']') && depth > 0:
			depth--
		case depth == 0 && (c == ',' || i == len(value)-1):
			b.WriteString("\n" + deeper + breakUpMember(value[from:i], deeper))
			if c == ',' {
				b.WriteString(",")
			}
			from = i + 1
		}
	}
	return b.String() + "\n" + indent + value[len(value)-1:]
}

func breakUpMember(member, indent string) string {
	if name := memberName.FindString(member); name != "" {
		return name + breakUp(member[len(name):], indent)
	}
	return breakUp(member, indent)
}

var memberName = regexp.MustCompile(`^"[^"\\]*":`)

// showEvent returns an event, and how the receiver answered it, as the recording has it.
func (k *talk) showEvent(t *testing.T, d sandbox.Delivery, answered int) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%san event for %s, whose receiver answers %d\n", answerMark, d.Provider, answered)
	header := d.Header.Clone()
	for _, name := range append(notOurs, "Accept-Encoding") {
		header.Del(name)
	}
	timestamp := header.Get("X-Service-Timestamp")
	if header.Get("X-Service-Signature") == signature(secretOf(t, d.Provider), timestamp, string(d.Body)) {
		header.Set("X-Service-Signature", fmt.Sprintf("t=%s,v1={signature by the secret of %s}", timestamp, d.Provider))
	}
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			b.WriteString(name + ": " + k.names.show(value) + "\n")
		}
	}
	b.WriteString("\n" + k.showBody("application/json", string(d.Body), ""))
	return b.String()
}

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
	"payment_plan_agreement_number": "agreement number", "pdf_content_document_id": "document", "event_id": "event", "request_id": "request"}

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

// differingLines returns the lines in which two texts differ, with a few lines around them.
func differingLines(was, is string) string {
	a, b := strings.Split(was, "\n"), strings.Split(is, "\n")
	common := make([][]int, len(a)+1) // lengths of the longest common sequences of what is left
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var lines []string
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, "  "+a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, "- "+a[i])
			i++
		default:
			lines = append(lines, "+ "+b[j])
			j++
		}
	}
	const around = 3
	var out bytes.Buffer
	for i, line := range lines {
		near := slices.ContainsFunc(lines[max(0, i-around):min(len(lines), i+around+1)], func(l string) bool { return l[0] != ' ' })
		if near {
			out.WriteString("\t" + line + "\n")
		}
	}
	return out.String()
}
