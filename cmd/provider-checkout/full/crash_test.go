package full_test

import (
	"database/sql"
	"encoding/json"
	"os"
	"os/user"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

// TestBinary tests what only a process of the program can show: that it starts, stops and is
// killed without harm. The other tests run its commands within their own process.
func TestBinary(t *testing.T) {
	t.Parallel()
	b := newSuite(t)
	t.Run("answers soon after its start", b.answersSoon)
	t.Run("keeps its files to their owner", b.keepsItsFilesToTheirOwner)
	t.Run("finishes a first start that was killed", b.finishesAKilledFirstStart)
	t.Run("drains on SIGTERM", b.drains)
	t.Run("serves on whatever becomes of the reader of its log", b.servesWithoutALog)
	t.Run("records its operators", b.recordsItsOperators)
	t.Run("demonstrates itself in a shell until SIGINT", b.demonstrates)
	t.Run("survives being killed at any moment", b.survivesKills)
}

// ownersAlone checks that only the owner may open the files of the folder, and returns their names.
func ownersAlone(t testing.TB, dir string) string {
	t.Helper()
	var names []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != 0o600 {
			t.Errorf("the mode of %s is %v, want 0600", e.Name(), info.Mode())
		}
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// checkIntact runs SQLite's integrity check on a store that is not open.
func checkIntact(t *testing.T, store string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+store+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRow(`PRAGMA quick_check`).Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("quick_check says %q, %v", verdict, err)
	}
}

// did is an act as acts --json prints it, without its time.
type did struct {
	Operator, Act, Subject, Reason string
	Changes                        []string
}

// What operators change is on record with who they are, why, and what was before and after; and no secret is.
func (b suite) recordsItsOperators(t *testing.T) {
	store := filepath.Join(t.TempDir(), "records.db")
	demo, err := os.ReadFile("../demo.json")
	if err != nil {
		t.Fatal(err)
	}
	raised := strings.Replace(string(demo), `"course_price": 2990.00`, `"course_price": 3190.00`, 1)
	raised = strings.Replace(raised, "whsec_", "whsec_new_", 1)
	run := func(operator string, args ...string) string {
		t.Helper()
		cmd := b.Command(append(args, "--store", "sqlite:"+store)...)
		if operator != "" {
			cmd.Env = append(cmd.Env, operator)
		}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return string(out)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	added := run("", "apply", "-f", "../demo.json")
	changed := run("PROVIDER_CHECKOUT_OPERATOR=Aroha Ngata", "apply", "-f", proc.TempFile(t, raised), "--reason", "prices of 2027")
	run("PROVIDER_CHECKOUT_OPERATOR=Aroha Ngata", "apply", "-f", proc.TempFile(t, raised)) // which changes nothing
	key := strings.TrimSpace(run("SUDO_USER=matiu", "keys", "issue", "--provider", "TUI"))
	id := strings.Split(key, "_")[2]
	run("SUDO_USER=matiu", "keys", "revoke", key, "--reason", "it was in a chat")
	run("SUDO_USER=matiu", "keys", "revoke", id) // which it is already

	lines := func(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }
	changes := func(applied string) []string { // without the revision, which comes last
		all := lines(applied)
		return all[:len(all)-1]
	}
	about := func(provider string, changes []string) (list []string) {
		for _, change := range changes {
			if strings.Contains(change, provider) {
				list = append(list, change)
			}
		}
		return list
	}
	want := []did{
		{Operator: me.Username, Act: "apply", Subject: "KOWHAI", Changes: about("KOWHAI", changes(added))},
		{Operator: me.Username, Act: "apply", Subject: "TUI", Changes: about("TUI", changes(added))},
		{Operator: "Aroha Ngata", Act: "apply", Subject: "KOWHAI", Reason: "prices of 2027", Changes: changes(changed)},
		{Operator: "matiu", Act: "keys issue", Subject: id, Changes: []string{"+ key " + id + ": of provider TUI, for sandbox"}},
		{Operator: "matiu", Act: "keys revoke", Subject: id, Reason: "it was in a chat",
			Changes: []string{"- key " + id + ": of provider TUI, for sandbox, live → revoked"}},
	}
	var got []did
	for _, line := range lines(run("", "acts", "--json")) {
		var d did
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		got = slices.Insert(got, 0, d) // the newest comes first
	}
	slices.SortFunc(got[:2], func(a, b did) int { return strings.Compare(a.Subject, b.Subject) }) // of one moment
	if !reflect.DeepEqual(got, want) {
		t.Errorf("on record are\n%+v\nwant\n%+v", got, want)
	}
	if !strings.Contains(changed, "course_price 2990.00 → 3190.00") || !strings.Contains(changed, "signing secret changed") {
		t.Errorf("apply prints\n%s", changed)
	}
	checkNoSecrets(t, store, "whsec", key, strings.Split(key, "_")[3])
}

// checkNoSecrets checks that no act on record in a store holds any of the texts.
func checkNoSecrets(t *testing.T, store string, secrets ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+store+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT operator || act || subject || reason || changes FROM acts`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	acts := 0
	for ; rows.Next(); acts++ {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("an act holds the secret %s:\n%s", secret, text)
			}
		}
	}
	if err := rows.Err(); err != nil || acts == 0 {
		t.Errorf("%d acts were read, %v", acts, err)
	}
}

const (
	crashRounds  = 50
	crashClients = 16
)

// crashRun is a store in a folder, whose servers are killed one after the other.
type crashRun struct {
	*workload.Workload
	dir     string
	longest time.Duration // that a server lives under load
	hit     int           // kills that cut a request
}

// Servers on one store are killed, each at a random moment: during its start, under the load of 16
// clients, or during its shutdown. Then a last one runs undisturbed until every enrolment is
// confirmed and no event is pending, and the record is compared with every answer that a client got.
//
// A long run has as many enrolments, or more: the servers then live for seconds, and there are as many as that takes.
func (b suite) survivesKills(t *testing.T) {
	rounds, lives, longest := crashRounds, 0, 400*time.Millisecond
	if testlevel.IsLong() {
		lives, longest = testlevel.Runs(t, 0), 10*time.Second
	}
	dir := t.TempDir()
	r := &crashRun{Workload: workload.New(t, b.Binary, "sqlite:"+filepath.Join(dir, "records.db")), dir: dir, longest: longest}
	n := 0
	for ; n < rounds || len(r.Enrolments.All) < lives; n++ {
		r.round(t, n)
	}
	rounds = n
	t.Logf("%d of %d kills cut a request that was under way; %d enrolments, %d of them incomplete",
		r.hit, rounds, len(r.Enrolments.All), len(r.Enrolments.Open))
	if r.hit < rounds*2/5 {
		t.Errorf("void: only %d of %d kills cut a request that was under way", r.hit, rounds)
	}

	p := r.Serve(t, r.Store)
	base, restarted := p.Listening(t), time.Now()
	r.Finish(t, apiclient.New(base, r.Keys))
	t.Logf("every enrolment was done %v after the restart", time.Since(restarted))
	r.Settle(t)
	t.Logf("no event was pending %v after the restart", time.Since(restarted))
	p.Stop(t, syscall.SIGTERM)
	checkIntact(t, filepath.Join(dir, "records.db"))
	r.checkVerified(t)
	if lost := r.Check(t); lost == 0 {
		t.Error("void: no kill came between a commit and its answer")
	}
	r.checkTakenUp(t, restarted)
}

// checkVerified checks that no kill left an agreement that looks forged.
func (r *crashRun) checkVerified(t *testing.T) {
	t.Helper()
	verified := verifiedAgreements(r.Run(t, "agreements", "verify", "--all", "--store", r.Store))
	t.Logf("%d agreements were verified", verified)
	if want := len(r.Enrolments.All); verified != want || want == 0 {
		t.Errorf("%d agreements were verified, want those of %d enrolments", verified, want)
	}
}

// verifiedAgreements returns the number of the agreements that agreements verify has printed.
func verifiedAgreements(printed string) int {
	numbers := map[string]bool{}
	for line := range strings.Lines(printed) {
		number, _, _ := strings.Cut(line, " ")
		numbers[number] = true
	}
	return len(numbers)
}

// round starts a server and kills it: in one of six rounds before it listens, in another one of six
// while it shuts down, otherwise under load.
func (r *crashRun) round(t *testing.T, n int) {
	t.Helper()
	p := r.Serve(t, r.Store)
	if n%6 == 3 {
		<-time.After(workload.Within(r.Rand, 0, 20*time.Millisecond))
		p.Kill(t)
		return
	}
	c := apiclient.New(p.Listening(t), r.Keys)
	stop := load{clients: crashClients, excused: apiclient.IsCut, once: true}.enrol(t, r.Workload, c)
	<-time.After(workload.Within(r.Rand, 50*time.Millisecond, r.longest))
	if n%6 == 5 {
		p.Signal(t, syscall.SIGTERM)
		<-time.After(workload.Within(r.Rand, 0, 30*time.Millisecond))
	}
	p.Kill(t)
	stop()
	if c.Cut.Load() > 0 {
		r.hit++
	}
	ownersAlone(t, r.dir)
}

// checkTakenUp checks that deliveries that a kill cut off were recovered in time.
func (r *crashRun) checkTakenUp(t *testing.T, restarted time.Time) {
	t.Helper()
	first := make(map[string]time.Duration) // delivery of each checkout's older events since
	for _, h := range r.Receiver.Deliveries() {
		made, err := time.Parse(time.RFC3339, h.JSON.Text("created_at"))
		if err != nil {
			t.Fatal(err)
		}
		id := h.JSON.Text("data.checkout_id")
		if _, known := first[id]; !known && made.Before(restarted) && h.At.After(restarted) {
			first[id] = testlevel.Between(restarted, h.At)
		}
	}
	var slowest time.Duration
	for id, took := range first {
		if slowest = max(slowest, took); took > 15*time.Second {
			t.Errorf("the events of %s were recovered %v after the restart, want within 15 s", id, took)
		}
	}
	t.Logf("the events of %d checkouts were recovered, the last %v after the restart", len(first), slowest)
	if len(first) == 0 {
		t.Error("void: no kill cut a delivery off")
	}
}
