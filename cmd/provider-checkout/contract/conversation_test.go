package contract_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/apidoc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// The conversations in testdata are requests with the answers and events that they must bring, to the byte. Their README
// says how to read them. A file is a script and a recording in one: the tests play its requests and compare the file as it
// should read with the file as it is.

var update = flag.Bool("update", false, "record the answers of the conversations in testdata anew")

const (
	conversations = "../../../testdata/conversations/"
	talkedAtLeast = 500 // requests in all conversations
)

// talkBegins is the time at which every conversation begins, once its providers are configured.
var talkBegins = time.Date(2027, time.January, 11, 21, 0, 0, 0, time.UTC)

func TestConversations(t *testing.T) {
	skipOtherWorlds(t)
	files, err := filepath.Glob(conversations + "*.txt")
	if err != nil {
		t.Fatal(err)
	}
	requests := 0
	for _, file := range files {
		script := readScript(t, file)
		requests += script.requests()
		for _, store := range stores {
			t.Run(filepath.Base(file)+"/"+store.name, func(t *testing.T) {
				if !*update {
					t.Parallel()
				}
				script.play(t, newTalk(t, store, script.settings))
			})
		}
	}
	if requests < talkedAtLeast {
		t.Errorf("the conversations have %d requests, want %d at least", requests, talkedAtLeast)
	}
}

// skipOtherWorlds leaves out a test that brings its own processor and CRM, where a flag chooses others.
func skipOtherWorlds(t *testing.T) {
	t.Helper()
	if *overSystems {
		t.Skip("the conversations are of the fake processor, the embedded CRM and the memory store")
	}
}

// talk is a sandbox that a conversation is played against.
type talk struct {
	*sandbox.Sandbox
	names    *symbols
	client   http.RoundTripper
	service  *service.Service // beside the service that answers
	file     string           // of the providers
	press    *press
	entropy  *brokenSource
	mu       sync.Mutex
	statuses []int // of the receiver's next answers
	answered []int // statuses of the receiver's answers so far
	heard    int   // deliveries that were taken from the receiver
}

// newTalk opens a sandbox with the settings of a conversation.
func newTalk(t *testing.T, store kind, settings []string, changes ...func(*service.Config, *httpapi.Options)) *talk {
	t.Helper()
	k := &talk{client: &http.Transport{DisableCompression: true}}
	changes = append(changes, func(c *service.Config, o *httpapi.Options) {
		k.press = withPress(c, o)
		k.entropy = &brokenSource{source: rand.NewChaCha8([32]byte{'c', 'o', 'n', 'v', 'e', 'r', 's', 'a', 't', 'i', 'o', 'n'})}
		c.Rand, c.BaseURL = k.entropy, "http://pay.example.nz"
		for _, setting := range settings {
			apply(t, setting, c, o)
		}
	})
	const seen = 5 * time.Second // by which the configuration of the providers moves the clock
	k.Sandbox = sandbox.NewOver(t, sandbox.Outside{Now: talkBegins.Add(-seen)}, store.open, changes...)
	k.configure(t, providersFile(t))
	k.Receiver.AnswerWith(func(sandbox.Delivery) int { return k.answer() })
	k.service = k.Service(t)
	k.names = newSymbols(k.Config.BaseURL, k.URL)
	for code, key := range k.Keys {
		k.names.give("key of "+code, key)
	}
	return k
}

// configure replaces the providers by the providers of a file.
func (k *talk) configure(t *testing.T, file string) {
	t.Helper()
	k.file = file
	k.Configure(t, file)
}

// providersFile returns the provider file with which every conversation begins.
func providersFile(t *testing.T) string {
	t.Helper()
	file, err := os.ReadFile(conversations + "providers.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(file)
}

// apply changes the service before it starts, as a setting of a conversation says.
func apply(t *testing.T, setting string, c *service.Config, o *httpapi.Options) {
	t.Helper()
	var text string
	var number int
	switch {
	case scans(setting, "the base URL is %s", &text):
		c.BaseURL = text
	case scans(setting, "a key may send %d requests a second", &number):
		o.RateLimit = float64(number)
	case scans(setting, "the proxy %s is trusted", &text):
		o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix(text)}
	case scans(setting, "a setup page opens for %d hours", &number):
		c.SetupLifetime = func(string) time.Duration { return time.Duration(number) * time.Hour }
	case scans(setting, "an abandoned checkout is erased after %d days", &number):
		c.Retention = checkout.Retention{AbandonedDays: number}
	case scans(setting, "the operator's terms are %s", &text):
		file, err := os.ReadFile(conversations + text)
		if err != nil {
			t.Fatal(err)
		}
		terms, err := providerfile.ParseTerms(file)
		if err != nil {
			t.Fatal(err)
		}
		c.Terms, c.Agency = terms.Terms, terms.Agency
	default:
		t.Fatalf("no setting is %q", setting)
	}
}

// scans reports whether a line has a format of package fmt, whose values it stores.
func scans(line, format string, values ...any) bool {
	_, err := fmt.Sscanf(line+"\n", format+"\n", values...)
	return err == nil
}

// do does what a line of a conversation says that happens before a request.
func (k *talk) do(t *testing.T, line string) {
	t.Helper()
	var code, text string
	var number int
	switch {
	case scans(line, "%d seconds pass", &number):
		k.Clock.Forward(time.Duration(number) * time.Second)
	case scans(line, "%d minutes pass", &number):
		k.Clock.Forward(time.Duration(number) * time.Minute)
	case scans(line, "%d days pass", &number):
		k.Clock.Forward(time.Duration(number) * 24 * time.Hour)
	case scans(line, "the receiver answers %s", &text): // such as 500,500,204; afterwards 204
		k.mu.Lock()
		defer k.mu.Unlock()
		for status := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(status)
			if err != nil {
				t.Fatal(err)
			}
			k.statuses = append(k.statuses, n)
		}
	case line == "the printer is broken", line == "the printer works":
		k.press.breakDown(line == "the printer is broken")
	case line == "the source of randomness is broken", line == "the source of randomness works":
		k.entropy.broken.Store(line == "the source of randomness is broken")
	case line == "the providers are configured as at the beginning":
		k.configure(t, providersFile(t))
	case line == "no provider is configured":
		k.configure(t, `{"providers": []}`)
	case scans(line, "%s gets a key of %s", &code, &text):
		k.names.give("key of "+code+" of "+text, sandbox.IssueKey(t, k.Store, code, catalogue.Environment(text)))
	case scans(line, "the key of %s is revoked", &code):
		if err := k.Store.RevokeKey(t.Context(), catalogue.KeyID(k.Keys[code]), k.Clock.Now(), act("keys revoke")); err != nil {
			t.Fatal(err)
		}
		k.Clock.Forward(time.Second) // within which a running server refuses it
	case scans(line, "the operator disables %s", &code), scans(line, "the operator enables %s", &code):
		k.Clock.Forward(5 * time.Second) // within which a running server sees it
		if err := (&suite{k.Sandbox}).operator("complaint 12").SetDisabled(t.Context(), code, strings.Contains(line, "disables")); err != nil {
			t.Fatal(err)
		}
	case scans(line, "the operator cancels {checkout %d}", &number):
		if err := (&suite{k.Sandbox}).operator("wrong course").Cancel(t.Context(), k.names.meaning(fmt.Sprintf("{checkout %d}", number))); err != nil {
			t.Fatal(err)
		}
		(&suite{k.Sandbox}).works(t)
	case line == "the service has done its work":
		(&suite{k.Sandbox}).works(t)
	case line == "the operator retries the failed events":
		(&suite{k.Sandbox}).retryEvents(t)
	case scans(line, "the operator withdraws the agreement of %s", &text):
		(&suite{k.Sandbox}).withdraw(t, text)
		(&suite{k.Sandbox}).works(t)
	case scans(line, "the retention erases {checkout %d}", &number):
		k.retain(t, k.names.meaning(fmt.Sprintf("{checkout %d}", number)))
	default:
		// Such as: KOWHAI and TUI are configured with "active": false. The value null removes a member.
		codes, member, found := strings.Cut(strings.Replace(line, " are ", " is ", 1), " is configured with ")
		if !found {
			t.Fatalf("nothing is done by %q", line)
		}
		k.configure(t, with(t, providersFile(t), strings.Split(codes, " and "), member))
	}
}

// with returns the provider file in which a member of some providers has another value.
func with(t *testing.T, file string, codes []string, member string) string {
	t.Helper()
	var all struct {
		Providers []map[string]json.RawMessage `json:"providers"`
	}
	var changed map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal([]byte(file), &all), json.Unmarshal([]byte("{"+member+"}"), &changed)); err != nil {
		t.Fatal(err)
	}
	for _, p := range all.Providers {
		if !slices.ContainsFunc(codes, func(code string) bool { return string(p["provider_code"]) == strconv.Quote(code) }) {
			continue
		}
		for name, value := range changed {
			if p[name] = value; string(value) == "null" {
				delete(p, name)
			}
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// retain does the background work until a checkout is erased.
func (k *talk) retain(t *testing.T, id string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	defer sandbox.Work(t, k.service)()
	for {
		c, err := k.Store.Checkout(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if c.Erased() {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// answer returns the status of the receiver's next answer.
func (k *talk) answer() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	status := http.StatusNoContent
	if len(k.statuses) > 0 {
		status, k.statuses = k.statuses[0], k.statuses[1:]
	}
	k.answered = append(k.answered, status)
	return status
}

// send sends a request and returns the answer as it came, or nil if the connection closed without one.
func (k *talk) send(t *testing.T, r request) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.method, k.URL+r.path, strings.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = r.header
	req.Header.Set("User-Agent", "") // which the client would fill in
	res, err := k.client.RoundTrip(req)
	if errors.Is(err, io.EOF) {
		return nil, ""
	}
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	object, _ := apiclient.ParseObject(body)
	if err := apidoc.Document().Check(r.method, strings.TrimPrefix(r.path, k.basePath(t)), r.body,
		apiclient.Response{Status: res.StatusCode, Header: res.Header, Body: string(body), JSON: object}); err != nil {
		t.Errorf("%s %s answers %d %s, which is not in the document: %v", r.method, r.path, res.StatusCode, body, err)
	}
	return res, string(body)
}

// basePath returns the path under which the service is, or "".
func (k *talk) basePath(t *testing.T) string {
	t.Helper()
	base, err := url.Parse(k.Config.BaseURL)
	if err != nil {
		t.Fatal(err)
	}
	return base.Path
}

// hear shows the events that have arrived since the last call.
func (k *talk) hear(t *testing.T) (shown []string) {
	t.Helper()
	all := k.Receiver.Deliveries()
	k.mu.Lock()
	defer k.mu.Unlock()
	for ; k.heard < len(all); k.heard++ {
		k.names.learnJSON(string(all[k.heard].Body))
		shown = append(shown, k.showEvent(t, all[k.heard], k.answered[k.heard]))
	}
	return shown
}

// secretOf returns the secret that signs the events to a part of the receiver's address.
func (k *talk) secretOf(t *testing.T, part string) string {
	t.Helper()
	var all struct {
		Providers []struct {
			Webhook struct {
				URL    string `json:"url"`
				Secret string `json:"signing_secret"`
			} `json:"webhook"`
		} `json:"providers"`
	}
	if err := json.Unmarshal([]byte(k.file), &all); err != nil {
		t.Fatal(err)
	}
	for _, p := range all.Providers {
		if p.Webhook.URL == "HOOKS/"+part {
			return p.Webhook.Secret
		}
	}
	t.Fatalf("no provider has its events sent to %s", part)
	return ""
}

// signature returns the text of X-Service-Signature that an event must have.
func signature(secret, timestamp, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "." + body))
	return "t=" + timestamp + ",v1=" + hex.EncodeToString(mac.Sum(nil))
}

// brokenSource is a source of randomness that can be broken.
type brokenSource struct {
	mu     sync.Mutex
	source io.Reader
	broken atomic.Bool
}

func (s *brokenSource) Read(p []byte) (int, error) {
	if s.broken.Load() {
		return 0, errors.New("the source of randomness is broken")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.source.Read(p)
}
