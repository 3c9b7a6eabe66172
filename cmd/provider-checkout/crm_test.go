package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/adapters/sim/memcrm"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

const salesforceSecret = "hunter2_client_secret"

// organisation is a simulated organisation, and the variables of an operator who may sign in to it.
type organisation struct {
	*salesforcetest.Org
	env []string
}

func newOrganisation(t *testing.T, change ...func(*salesforcetest.Options)) organisation {
	t.Helper()
	o := salesforcetest.Options{ClientID: "client", ClientSecret: salesforceSecret}
	for _, f := range change {
		f(&o)
	}
	sim := salesforcetest.New(o)
	server := httptest.NewServer(sim)
	t.Cleanup(func() { sim.Close(); server.Close() })
	return organisation{sim, []string{"PROVIDER_CHECKOUT_SALESFORCE_URL=" + server.URL, clientIDVariable + "=client",
		clientSecretVariable + "=" + salesforceSecret}}
}

// insert adds a record and returns its id.
func (o organisation) insert(t *testing.T, object string, fields map[string]any) string {
	t.Helper()
	id, err := o.Org.Insert(object, fields)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// kowhai configures a provider with one course, and returns the ids of the two.
func (o organisation) kowhai(t *testing.T) (provider, course string) {
	t.Helper()
	account := o.insert(t, "Account", map[string]any{"Name": "Kōwhai Limited"})
	provider = o.insert(t, "Provider_Integration__c", map[string]any{"Name": "Kōwhai Institute", "Provider_Code__c": "KOWHAI", "Account__c": account,
		"Active__c": true, "API_Enabled__c": true, "Environment__c": "sandbox", "Pricing_Mode__c": "catalogue"})
	return provider, o.course(t, provider, "NZDIP", "2990.51")
}

// course adds a course with a plan.
func (o organisation) course(t *testing.T, provider, code, price string) string {
	t.Helper()
	id := o.insert(t, "Course__c", map[string]any{"Name": "x", "Course_Code__c": code, "Course_Name__c": "Diploma", "Provider_Integration__c": provider,
		"Price__c": price, "Active__c": true})
	o.insert(t, "Course_Plan__c", map[string]any{"Course__c": id, "Payment_Frequency__c": "Weekly", "Number_Of_Instalments__c": "52"})
	return id
}

// pull runs "crm pull" on a store.
func (o organisation) pull(t *testing.T, on operator, args ...string) result {
	t.Helper()
	got := try(t, o.env, "", append([]string{"crm", "pull", "--store", "sqlite:" + on.path}, args...)...)
	if strings.Contains(got.stdout+got.stderr, "hunter2") {
		t.Errorf("crm pull shows a secret: %+v", got)
	}
	return got
}

func TestCRMSettingsAreRefusedWithEveryReason(t *testing.T) {
	const id, secret = clientIDVariable + "=client", clientSecretVariable + "=hunter2"
	small := keyPEM(t, "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(newRSA(t, 1024)))
	large := keyPEM(t, "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(newRSA(t, 2048)))
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := x509.MarshalPKCS8PrivateKey(curve)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []refusal{
		{"nothing is given", exitFailed, nil, []string{"--processor", "gocardless"}, []string{"--salesforce-url", clientIDVariable, clientIDVariable + "_FILE",
			clientSecretVariable + "_FILE", jwtKeyVariable + "_FILE", tokenVariable, webhookVariable}, []string{"https://missing", "salesforce: "}}, // what the adapter says of the same
		{"production too", exitFailed, nil, []string{"--environment", "production"}, []string{"production is refused", "fake processor",
			"operator's secret", "--salesforce-url", clientIDVariable, clientSecretVariable}, nil},
		{"the organisation over http", exitFailed, []string{secret}, []string{"--salesforce-url", "http://kowhai.example"},
			[]string{"the URL of the organisation must be https", clientIDVariable}, []string{clientSecretVariable}},
		{"a secret and a key", exitFailed, []string{id, secret, jwtKeyVariable + "=" + small}, []string{"--salesforce-url", "https://kowhai.example"},
			[]string{"either a client secret or a JWT key", "--salesforce-user"}, nil},
		{"a key without a user", exitFailed, []string{id, jwtKeyVariable + "=" + large}, []string{"--salesforce-url", "https://kowhai.example"},
			[]string{"the user as whom the JWT key signs in is missing (--salesforce-user)"}, []string{"salesforce: "}},
		{"a small key", exitFailed, []string{id, jwtKeyVariable + "=" + small}, []string{"--salesforce-url", "https://kowhai.example", "--salesforce-user", "u"},
			[]string{"less than 2048 bits"}, []string{"missing"}},
		{"an empty file for a key", exitFailed, []string{id, secret, jwtKeyVariable + "_FILE=" + proc.TempFile(t, "\n")},
			nil, []string{"the URL of the Salesforce organisation is missing"}, []string{"RSA", jwtKeyVariable}},
		{"a key that is none", exitFailed, []string{id, jwtKeyVariable + "=hunter2"}, []string{"--salesforce-url", "https://kowhai.example"},
			[]string{jwtKeyVariable + ": must be an RSA private key"}, []string{"missing"}},
		{"another kind of key", exitFailed, []string{id, jwtKeyVariable + "=" + keyPEM(t, "PRIVATE KEY", other)},
			[]string{"--salesforce-url", "https://kowhai.example"}, []string{"must be an RSA private key"}, []string{"missing"}},
		{"two sources of the secret", exitUsage, []string{id, secret, clientSecretVariable + "_FILE=x"},
			[]string{"--salesforce-url", "https://kowhai.example"}, []string{"set only one of " + clientSecretVariable}, []string{"missing"}},
		{"another CRM", exitUsage, nil, []string{"--crm", "other"}, []string{`must be one of "embedded","salesforce"`}, nil},
		{"no file of names", exitUsage, nil, []string{"--salesforce-mapping", "none.json"}, []string{"no such file"}, nil},
		{"a faulty file of names", exitUsage, nil, []string{"--salesforce-mapping", proc.TempFile(t, `{"contacts": "x"}`)}, []string{"contacts is not known"}, nil},
	} {
		tt.of(t, "serve", "--addr", "127.0.0.1:0", "--crm", "salesforce")
	}
}

func newRSA(t *testing.T, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func keyPEM(t *testing.T, kind string, der []byte) string {
	t.Helper()
	var text bytes.Buffer
	if err := pem.Encode(&text, &pem.Block{Type: kind, Bytes: der}); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestCRMCheckSignsInByAKeyFromItsFile(t *testing.T) {
	key := newRSA(t, 2048)
	org := newOrganisation(t, func(o *salesforcetest.Options) {
		o.ClientSecret, o.PublicKey, o.Username = "", &key.PublicKey, "checkout@kowhai.example"
	})
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{keyPEM(t, "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)), keyPEM(t, "PRIVATE KEY", pkcs8)} {
		env := append(org.env[:2:2], jwtKeyVariable+"_FILE="+proc.TempFile(t, text), "PROVIDER_CHECKOUT_SALESFORCE_USER=checkout@kowhai.example")
		if got := try(t, env, "", "crm", "check"); got != (result{exitDone, "nothing is missing\n", ""}) {
			t.Errorf("crm check = %+v", got)
		}
	}
}

func TestCRMCheckPrintsWhatIsMissing(t *testing.T) {
	org := newOrganisation(t, func(o *salesforcetest.Options) {
		o.Schema = salesforcetest.DefaultSchema()
		o.Schema = slices.DeleteFunc(o.Schema, func(o *salesforcetest.Object) bool { return o.Name == "Course_Plan__c" })
		o.Schema.Field("Provider_Integration__c.Pricing_Mode__c").Name = "Mode__c"
		o.Schema.Field("Contact.Environment__c").Name = "Stage__c"
	})
	names := proc.TempFile(t, `{"Contact.Environment__c": "Stage__c"}`)
	got := try(t, org.env, "", "crm", "check", "--salesforce-mapping", names)
	want := "field Provider_Integration__c.Pricing_Mode__c is missing, or the user may not see it\n" +
		"object Course_Plan__c is missing, or the user may not see it\n"
	if got.code != exitFailed || got.stdout != want || !isLine(got.stderr) || !strings.Contains(got.stderr, "adapters/out/salesforce/metadata (sf project deploy start") {
		t.Errorf("crm check = %+v, want\n%s", got, want)
	}
	got = try(t, append([]string{clientSecretVariable + "=hunter2_other"}, org.env...), "", "crm", "check")
	got.refuses(t, exitFailed, "ask the organisation: ")
	saysNot(t, got.stderr, "hunter2")
}

func TestPullStoresWhatTheOrganisationHas(t *testing.T) {
	o, org := newOperator(t), newOrganisation(t)
	o.does(t, "apply", "-f", proc.TempFile(t, `{"providers": [{"provider_code": "TUI", "name": "Tūī", "account_id": "a", "environment": "sandbox", "active": true,
		"api_enabled": true}, {"provider_code": "KOWHAI", "name": "Kōwhai", "account_id": "b", "environment": "sandbox", "active": true, "api_enabled": true,
		"webhook": {"url": "http://127.0.0.1:1/hunter2", "signing_secret": "whsec_hunter2_0123456789ab"}}]}`))
	before := o.prints(t, "export")
	provider, _ := org.kowhai(t)

	dry := org.pull(t, o, "--dry-run")
	want := []string{"!! provider KOWHAI: PRICING MODE CHANGES from legacy to catalogue", `name "Kōwhai" → "Kōwhai Institute"`, `+ course KOWHAI/NZDIP: "Diploma" added at 2990.51`}
	for _, line := range want {
		if dry.code != exitDone || !strings.Contains(dry.stdout, line) || strings.Contains(dry.stdout, "webhook") || strings.Contains(dry.stdout, "TUI") {
			t.Errorf("a dry run = %+v, want %q and nothing of a destination", dry, line)
		}
	}
	if after := o.prints(t, "export"); after != before {
		t.Errorf("a dry run stored\n%s", after)
	}
	if did := o.acts(t, "crm pull"); len(did) != 0 {
		t.Errorf("a dry run is on record: %+v", did)
	}
	if got := org.pull(t, o, "--reason", "the new year"); got.code != exitDone || got.stdout != dry.stdout {
		t.Errorf("crm pull = %+v, want what the dry run printed", got)
	}
	if did := o.acts(t, "crm pull"); len(did) != 1 || did[0].Subject != "KOWHAI" || did[0].Reason != "the new year" ||
		strings.Join(did[0].Changes, "\n")+"\n" != dry.stdout {
		t.Errorf("on record is %+v, want what the pull printed", did)
	}
	exported := o.prints(t, "export")
	if !strings.Contains(exported, "http://127.0.0.1:1/hunter2") || strings.Count(exported, `"kind":"provider"`) != 2 {
		t.Errorf("the destination or the other provider is gone:\n%s", exported)
	}
	if got := org.pull(t, o); got.stdout != "" || !strings.HasPrefix(got.stderr, "nothing changed\n") {
		t.Errorf("of an unchanged organisation it prints %+v", got)
	}
	org.course(t, provider, "SHORT", "100")
	if got := org.pull(t, o, "--prune"); got.stdout != "+ course KOWHAI/SHORT: \"Diploma\" added at 100.00\n- provider TUI: removed; its keys and checkouts stay\n" {
		t.Errorf("--prune prints %+v", got)
	}
}

func TestDryRunWithoutAStoreMakesNone(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { dryRunMakesNoStore(t, "sqlite:"+newOperator(t).path) })
	t.Run("postgres", func(t *testing.T) { dryRunMakesNoStore(t, postgrestest.URL(t)) })
}

func dryRunMakesNoStore(t *testing.T, store string) {
	org := newOrganisation(t)
	org.kowhai(t)
	pull := func(args ...string) result {
		return try(t, org.env, "", append([]string{"crm", "pull", "--store", store}, args...)...)
	}
	dry := pull("--dry-run")
	if dry.code != exitDone || !strings.Contains(dry.stderr, "there is no store ") || !strings.Contains(dry.stderr, "a dry run stores nothing\n") {
		t.Errorf("a dry run without a store = %+v", dry)
	}
	try(t, nil, "", "keys", "list", "--store", store).refuses(t, exitFailed, "there is no store ")
	if got := pull(); got.code != exitDone || got.stdout == "" || got.stdout != dry.stdout {
		t.Errorf("a pull = %+v, want what the dry run printed:\n%s", got, dry.stdout)
	}
	if again := pull("--dry-run"); again.code != exitDone || again.stdout != "" || !strings.Contains(again.stderr, "nothing would change\n") {
		t.Errorf("another dry run = %+v", again)
	}
}

func TestPullOfAFaultyOrganisationChangesNothing(t *testing.T) {
	o, org := newOperator(t), newOrganisation(t)
	provider, _ := org.kowhai(t)
	if got := org.pull(t, o); got.code != exitDone {
		t.Fatalf("crm pull = %+v", got)
	}
	before := o.prints(t, "export")
	org.course(t, provider, "SHORT", "100")
	org.course(t, provider, "FREE", "0")
	org.insert(t, "Provider_Integration__c", map[string]any{"Name": "Hinau", "Provider_Code__c": "HINAU", "Environment__c": "sandbox"})
	got := org.pull(t, o, "--prune")
	got.refuses(t, exitFailed, "Course__c KOWHAI/FREE: Price__c must be above zero", "Provider_Integration__c HINAU: Pricing_Mode__c must say")
	if after := o.prints(t, "export"); after != before {
		t.Errorf("a refused pull stored\n%s", after)
	}
	empty := newOrganisation(t)
	if got := empty.pull(t, o, "--prune"); got.code != exitFailed || !strings.Contains(got.stderr, "nothing is removed") {
		t.Errorf("--prune by an organisation in which nothing is seen = %+v", got)
	}
}

// A server that pulls serves a provider that an administrator has just made.
func TestServePullsProviders(t *testing.T) {
	o, org := newOperator(t), newOrganisation(t)
	org.kowhai(t)
	s := startedWith(t, org.env, "--store", "sqlite:"+o.path, "--crm", "salesforce")
	var key string
	for deadline := time.Now().Add(2 * time.Minute); key == "" && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		key = strings.TrimSpace(try(t, nil, "", "keys", "issue", "--provider", "KOWHAI", "--store", "sqlite:"+o.path).stdout)
	}
	if did := o.acts(t, "serve"); len(did) != 1 || did[0].Operator != "crm pull" || did[0].Subject != "KOWHAI" || len(did[0].Changes) == 0 {
		t.Errorf("on record is %+v, want the server's pull", did)
	}
	provider := sandbox.Sandbox{URL: s.base, Keys: map[string]string{"KOWHAI": key}}
	says(t, provider.Get(t, "KOWHAI", "/v1/provider-checkouts/KOWHAI-1-x").Body, "CHECKOUT_NOT_FOUND")
	code, _, logged := s.stop()
	if code != exitDone || !strings.Contains(logged, `"msg":"providers changed","changes":["+ provider KOWHAI`) || strings.Contains(logged, "hunter2") {
		t.Errorf("status %d:\n%s", code, logged)
	}
}

// refused creates a checkout that the CRM refuses, and returns its id.
func (o operator) refused(t *testing.T) string {
	t.Helper()
	crm := memcrm.New(catalogue.Sandbox)
	crm.Fail(func(checkout.Enrolment) error { return &checkout.CRMRefusal{Code: "FIELD_IS_MISSING\nand no more"} }, nil)
	s := o.served(t, func(c *service.Config, _ *httpapi.Options) { c.CRM = crm })
	return s.Create(t, "ORDER-1").String("checkout.checkout_id")
}

func TestJobsThatWaitAreListedShownAndHastened(t *testing.T) {
	o := newOperator(t)
	id := o.refused(t)
	job := "sync:" + id
	out := o.prints(t, "jobs", "list")
	says(t, out, job, "KOWHAI", "FIELD_IS_MISSING; and no more")
	saysNot(t, o.prints(t, "jobs", "list", "--provider", "TUI"), job)
	o.fails(t, `there is no provider "NOPE"`, "jobs", "list", "--provider", "NOPE")
	line := o.objects(t, "jobs", "list", "--kind", "sync")[0]
	has(t, line, map[string]any{"id": job, "kind": "sync", "state": "pending", "checkout_id": id, "attempts": 1.0})
	if line["due_at"] == nil {
		t.Errorf("jobs list --json prints %v", line)
	}
	says(t, o.prints(t, "today"), "refused", "FIRST PAYMENT", "2027-", "KOWHAI")
	says(t, o.prints(t, "jobs", "show", job), id, "pending", "FIELD_IS_MISSING")
	if out := o.prints(t, "jobs", "retry", job, "--reason", "the field is there now"); out != "due now: "+job+"\n" {
		t.Errorf("jobs retry prints %q", out)
	}
	if did := o.acts(t, "jobs retry"); len(did) != 1 || did[0].Subject != id || did[0].Reason != "the field is there now" || len(did[0].Changes) != 1 {
		t.Errorf("on record is %+v", did)
	}
	says(t, o.prints(t, "jobs", "retry", "--kind", "sync", "--state", "pending"), "due now: "+job)
	says(t, o.prints(t, "show", "ORDER-1"), "waits for the payer", "created", "crm_refused", job)
	o.fails(t, "there is no such job", "jobs", "retry", "sync:KOWHAI-2-x")
	o.fails(t, "there is no such job", "jobs", "retry", "sync")
	o.fails(t, "there is no such job", "jobs", "show", "sync:KOWHAI-2-x")
	o.fails(t, "no checkout has this id", "show", "ORDER-9")
}

func TestAJobThatIsDoneIsNotHastened(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t)
	done := o.objects(t, "jobs", "list", "--kind", "deliver", "--state", "done")
	if len(done) != 3 {
		t.Errorf("%d events are done, want three: %v", len(done), done)
	}
	o.fails(t, "it is neither pending nor failed", "jobs", "retry", done[0]["id"].(string))
	out := o.prints(t, "show", number)
	says(t, out, "state", "confirmed", "created", "pressed", "setup_done", "confirmed", number)
}

func TestShowNamesAnExpiredLink(t *testing.T) {
	o := newOperator(t)
	sandbox.NewOver(t, sandbox.Outside{Now: time.Now().AddDate(0, 0, -30)}, sandbox.On(o.open(t))).Create(t, "LATE-1")
	says(t, o.prints(t, "show", "LATE-1"), "waits for the payer; the setup link expired on 20")
}

// Records are exported under the ids under which a CRM has them.
func TestAnAgreementInACRMIsExportedUnderItsIDsAndVerified(t *testing.T) {
	o, crm := newOperator(t), memcrm.New(catalogue.Sandbox)
	number := o.confirmedOver(t, func(c *service.Config, _ *httpapi.Options) { c.CRM = crm })
	saysNot(t, o.prints(t, "agreements", "verify", number), "FAIL")
	c := crm.Records()[0].Enrolment.Checkout
	says(t, o.prints(t, "export"), `"contact_id":"`+c.Records(catalogue.Sandbox).ContactID, `"agreement_id":"`+c.AgreementID(catalogue.Sandbox, number),
		`"document_id":"`+c.DocumentID(catalogue.Sandbox, number))
}

func TestServeRefusesAnOrganisationOfAnotherEnvironment(t *testing.T) {
	o, org := newOperator(t), newOrganisation(t, func(o *salesforcetest.Options) { o.Production = true })
	try(t, append(org.env, "PROVIDER_CHECKOUT_CRM=salesforce"), "", "serve", "--addr", "127.0.0.1:0", "--store", "sqlite:"+o.path).
		refuses(t, exitFailed, "the organisation is for another environment")
}

func TestAnOrganisationThatDoesNotAnswerIsNoReasonNotToServe(t *testing.T) {
	t.Parallel()
	crm, err := salesforce.New(salesforce.Options{Environment: catalogue.Sandbox, URL: "http://127.0.0.1:1", ClientID: "client",
		ClientSecret: salesforceSecret})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	err = checkOrganisation(t.Context(), crm, httpserver.NewLog(&log))
	if err != nil || !strings.Contains(log.String(), "the CRM cannot be asked whether it is for this environment") || strings.Contains(log.String(), "hunter2") {
		t.Errorf("checkOrganisation = %v; logged %s", err, &log)
	}
}
