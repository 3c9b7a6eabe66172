package contract_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
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
			if res, body := k.send(t, r); res == nil {
				brought = append(brought, answerMark+"no answer: the connection closes")
			} else {
				k.names.learn(res, body)
				brought = append(brought, k.showAnswer(t, res, body, st.title, pages))
			}
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

var template = regexp.MustCompile(`^\{((?:create|confirm) of \w+) (\d+)(\+\w+)?\}$`)

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
	body := strings.ReplaceAll(string(bodies[named[1]]), `ORDER-#"`, "ORDER-"+named[2]+named[3]+`"`)
	body = strings.ReplaceAll(body, "#", named[2])
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
	shownTo = regexp.MustCompile(`\{terms of ([^{}]+)\}`)
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
	return shownTo.ReplaceAllStringFunc(k.names.replace(text), func(s string) string {
		page, err := k.service.SetupPage(context.Background(), shownTo.FindStringSubmatch(s)[1])
		if err != nil {
			return s
		}
		return page.Disclosure().Name()
	})
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
	signed := "a wrong signature"
	if header.Get("X-Service-Signature") == signature(k.secretOf(t, d.Provider), timestamp, string(d.Body)) {
		signed = "signature by the secret of " + d.Provider
	}
	header.Set("X-Service-Signature", fmt.Sprintf("t=%s,v1={%s}", timestamp, signed))
	for _, name := range slices.Sorted(maps.Keys(header)) {
		for _, value := range header[name] {
			b.WriteString(name + ": " + k.names.show(value) + "\n")
		}
	}
	b.WriteString("\n" + k.showBody("application/json", string(d.Body), ""))
	return b.String()
}

// differingLines returns the lines of two texts from the first to the last in which they differ, with a few lines around them.
func differingLines(was, is string) string {
	const around = 3
	a, b := strings.Split(was, "\n"), strings.Split(is, "\n")
	from, to := 0, 0 // lines that are the same at the beginning, and at the end
	for from < min(len(a), len(b)) && a[from] == b[from] {
		from++
	}
	for to < min(len(a), len(b))-from && a[len(a)-1-to] == b[len(b)-1-to] {
		to++
	}
	var out strings.Builder
	show := func(mark string, lines []string) {
		for _, line := range lines {
			out.WriteString("\t" + mark + line + "\n")
		}
	}
	show("  ", a[max(0, from-around):from])
	show("- ", a[from:len(a)-to])
	show("+ ", b[from:len(b)-to])
	show("  ", a[len(a)-to:min(len(a), len(a)-to+around)])
	return out.String()
}
