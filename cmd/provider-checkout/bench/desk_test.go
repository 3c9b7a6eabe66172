package bench_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// The store of BenchmarkDesk has as many providers, and its checkouts were created evenly in so many days until now.
const (
	deskProviders = 60
	deskDays      = 730
	// deskRead is the number of providers whose lists were read. No entry of the others has a cursor.
	deskRead = 54
)

// BenchmarkDesk measures what an operator asks, and what the programs of providers list, of a store with 100,000 checkouts, or with the number in the environment:
//
//	PROVIDER_CHECKOUT_BENCH_CHECKOUTS=1000000 go test -run '^$' -bench Desk -benchtime 300x -timeout 0 ./cmd/provider-checkout/bench
//
// The store is filled by SQL in minutes, in a few statements. Half of the checkouts are confirmed.
func BenchmarkDesk(b *testing.B) {
	n := 100_000
	if given := os.Getenv(checkoutsVariable); given != "" {
		var err error
		if n, err = strconv.Atoi(given); err != nil {
			b.Fatalf("%s is %q", checkoutsVariable, given)
		}
	}
	onEachStore(b, func(b *testing.B, place func() string) {
		spec := place()
		began := time.Now()
		fillDesk(b, spec, n)
		b.Logf("filled with %d checkouts in %v", n, time.Since(began).Round(time.Second))
		db := openStore(b, spec)
		defer db.Close()
		for _, question := range append(questions(db, n), listQuestions(db)...) {
			b.Run(question.name, func(b *testing.B) { ask(b, question.ask) })
		}
	})
}

type question struct {
	name string
	ask  func(ctx context.Context, r *rand.Rand) (found int, err error)
}

// questions returns what a desk asks, each about a random checkout or provider.
func questions(db ports.Admin, n int) []question {
	find := func(q func(r *rand.Rand) checkout.Query) func(context.Context, *rand.Rand) (int, error) {
		return func(ctx context.Context, r *rand.Rand) (int, error) {
			page, err := db.Find(ctx, q(r), "", checkout.MaxPage)
			return len(page.Hits), err
		}
	}
	text := func(of func(n int) string) func(context.Context, *rand.Rand) (int, error) {
		return find(func(r *rand.Rand) checkout.Query { return checkout.Query{Text: of(1 + r.IntN(n-1))} })
	}
	provider := func(r *rand.Rand) string { return fmt.Sprintf("P%02d", 10+r.IntN(deskProviders)) }
	newest := func(ctx context.Context, r *rand.Rand) (string, error) {
		page, err := db.Find(ctx, checkout.Query{ProviderCode: provider(r)}, "", 1)
		if err != nil || len(page.Hits) == 0 {
			return "", err
		}
		return page.Hits[0].Checkout.ID, nil
	}
	return []question{
		{"list", find(func(r *rand.Rand) checkout.Query { return checkout.Query{ProviderCode: provider(r)} })},
		{"name", text(func(n int) string { return deskName(n, 17)[:4] })},
		{"name of one letter", text(func(n int) string { return deskName(n, 17)[:1] })},
		{"given name", text(func(n int) string { return deskName(n, 5) })},
		{"e-mail", text(func(n int) string { return deskName(n, 5) + strconv.Itoa(n) + "@student.example" })},
		{"order", text(func(n int) string { return "O" + strconv.Itoa(n) })},
		{"agreement", text(func(n int) string { return "PPA-2026-" + strconv.Itoa(n/10*10+7) })},
		{"request", text(func(n int) string { return "req_created" + strconv.Itoa(n) })},
		{"event", text(func(n int) string { return "evt_created" + strconv.Itoa(n) })},
		{"nothing", text(func(n int) string { return "q" + strconv.Itoa(n) })},
		{"troubled", find(func(*rand.Rand) checkout.Query {
			return checkout.Query{Trouble: checkout.TroubleUnconfirmed, Now: time.Now()}
		})},
		{"today", func(ctx context.Context, _ *rand.Rand) (int, error) {
			list, err := db.Troubles(ctx, time.Now())
			return len(list), err
		}},
		{"funnel of a month", funnelOf(db, 28)},
		{"funnel of a quarter", funnelOf(db, 91)},
		{"month", func(ctx context.Context, r *rand.Rand) (int, error) {
			m, err := checkout.ParseMonth(time.Now().AddDate(0, -r.IntN(24), 0).Format("2006-01"), time.UTC)
			if err != nil {
				return 0, err
			}
			page, _, err := db.Concluded(ctx, m, "", checkout.MaxPage)
			return len(page), err
		}},
		{"events of a checkout", func(ctx context.Context, r *rand.Rand) (int, error) {
			id, err := newest(ctx, r)
			if err != nil {
				return 0, err
			}
			list, err := db.Jobs(ctx, checkout.JobFilter{CheckoutID: id, Kinds: []checkout.JobKind{checkout.JobDeliver}}, checkout.MaxPage)
			return len(list), err
		}},
		{"timeline", func(ctx context.Context, r *rand.Rand) (int, error) {
			id, err := newest(ctx, r)
			if err != nil {
				return 0, err
			}
			list, err := db.Moments(ctx, id)
			return len(list), err
		}},
	}
}

func funnelOf(db ports.Desk, days int) func(context.Context, *rand.Rand) (int, error) {
	return func(ctx context.Context, r *rand.Rand) (int, error) {
		to := time.Now().UTC().AddDate(0, 0, 1-r.IntN(7))
		list, err := db.Funnel(ctx, to.AddDate(0, 0, -days), to, "")
		return len(list), err
	}
}

// ask reports the median and the 99th percentile of the time that an answer takes, and how many entries it has.
func ask(b *testing.B, asks func(context.Context, *rand.Rand) (int, error)) {
	r := rand.New(rand.NewPCG(1, 2))
	var took []float64
	found := 0
	for b.Loop() {
		began := time.Now()
		n, err := asks(b.Context(), r)
		if err != nil {
			b.Fatal(err)
		}
		took, found = append(took, time.Since(began).Seconds()*1000), found+n
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], "p50-ms")
	b.ReportMetric(took[min(len(took)-1, len(took)*99/100)], "p99-ms")
	b.ReportMetric(float64(found)/float64(len(took)), "found")
}

// letters are the source of names.
var letters = func() string {
	r, text := rand.New(rand.NewPCG(3, 4)), make([]byte, 1000)
	for i := range text {
		text[i] = "aeioukmnprtw"[r.IntN(12)]
	}
	return string(text)
}()

// deskName returns a name of checkout n; of another number by it is another one.
func deskName(n, by int) string {
	first, last := n*by%991, n*by%983
	return letters[first:first+4] + letters[last:last+4]
}

// sqlName is deskName in SQL.
func sqlName(by int) string {
	return fmt.Sprintf("substr('%s', s.n * %d %% 991 + 1, 4) || substr('%[1]s', s.n * %[2]d %% 983 + 1, 4)", letters, by)
}

// stages has the farthest moment of a checkout by the last digit of its number.
var stages = []checkout.MomentKind{checkout.MomentCreated, checkout.MomentOpened, checkout.MomentOpened, checkout.MomentPressed,
	checkout.MomentSetupDone, checkout.MomentConfirmed, checkout.MomentConfirmed, checkout.MomentConfirmed, checkout.MomentConfirmed,
	checkout.MomentConfirmed}

// template returns a checkout that came as far as a stage, at the beginning of 1970.
func template(b *testing.B, digit int) checkout.Change {
	b.Helper()
	order := "T" + strconv.Itoa(digit)
	at := func(minute int) time.Time { return time.UnixMilli(int64(minute) * 60_000).UTC() }
	cmd := benchCommand(order)
	decision, err := cmd.Decide(checkout.Facts{Mode: catalogue.Legacy})
	if err != nil {
		b.Fatal(err)
	}
	reserved := cmd.Reserve(decision.Intent, "TUI-0-"+order, at(0))
	opened, err := reserved.Next.Opened(checkout.RecordIDs(catalogue.Sandbox, "TUI", order),
		checkout.Opening{Now: at(0), Environment: catalogue.Sandbox, Token: checkout.Token{Epoch: 1, KID: "k", Expires: at(9999)}})
	if err != nil {
		b.Fatal(err)
	}
	change := reserved.Answered(opened)
	change.Moments, change.Jobs = nil, nil
	add := func(minute int, kinds ...checkout.MomentKind) {
		for _, kind := range kinds {
			change.Moments = append(change.Moments, checkout.Moment{At: at(minute), Kind: kind, Actor: checkout.ActorPayer,
				RequestID: "req_" + string(kind), Detail: "a detail of the moment"})
		}
	}
	event := func(name events.Name) {
		change.Events = append(change.Events, events.Event{ID: "evt_" + strings.TrimPrefix(string(name), "checkout."), Name: name,
			CheckoutID: change.Next.ID, ProviderCode: "TUI", OrderID: order, CreatedAt: at(1), Body: []byte(strings.Repeat("x", 100))})
	}
	change.Events = nil
	event(events.CheckoutCreated)
	add(1, checkout.MomentCreated, checkout.MomentEventDelivered)
	stage := slices.Index([]checkout.MomentKind{checkout.MomentCreated, checkout.MomentOpened, checkout.MomentPressed,
		checkout.MomentSetupDone, checkout.MomentConfirmed}, stages[digit])
	if stage >= 1 {
		add(10, checkout.MomentOpened)
	}
	if stage >= 2 {
		add(11, checkout.MomentPressed, checkout.MomentReturned)
		change.Next.Setup.Consent = agreement.Consent{At: at(11), From: "192.0.2.1"}
	}
	if stage >= 3 {
		add(12, checkout.MomentSetupDone, checkout.MomentEventDelivered, checkout.MomentNoticeSent)
		setUpByNow(&change.Next)
		change.Next.Setup.CompletedAt, change.Next.Setup.MandateID = at(12), "MD"
	}
	if stage >= 4 {
		add(13, checkout.MomentConfirmed, checkout.MomentEventDelivered, checkout.MomentNoticeSent)
		event(events.CheckoutConfirmed)
		event(events.AgreementGenerated)
		change.Next.Status = checkout.Confirmed
		change.Next.Confirmation = checkout.Confirmation{At: at(13), RequestID: "req_confirmed", AgreementNumber: "PPA-1970-" + order,
			AgreementID: "a"}
		change.Agreement = &agreement.Agreement{Number: "PPA-1970-" + order, ID: "a", CheckoutID: change.Next.ID, OrderID: order,
			AcceptedAt: at(13), Provider: agreement.Party{Code: "TUI"},
			Schedule: money.Schedule(change.Next.Intent.Pricing.Upfront, change.Next.Intent.Plan)[:12]}
	}
	return change
}

// fillDesk makes a store with n checkouts, copies of templates. SQL makes the copies, provider by provider, which is the order of
// the keys.
func fillDesk(b *testing.B, spec string, n int) {
	b.Helper()
	fill(b, spec, 0, 0)
	db := openStore(b, spec)
	for digit := range stages {
		if err := db.InsertCheckout(b.Context(), template(b, digit), checkout.JobEntry{Now: time.Now(), Unsent: true}); err != nil {
			b.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	run, end := shell(b, spec)
	defer end()
	share := n / deskProviders
	code := fmt.Sprintf("'P' || (10 + s.n / %d %% %d)", share, deskProviders)
	earliest, step := time.Now().AddDate(0, 0, -deskDays).UnixMilli(), deskDays*24*time.Hour.Milliseconds()/int64(share)
	began := fmt.Sprintf("(%d + CAST(s.n %% %d AS bigint) * %d)", earliest, share, step)
	id := code + " || '-' || CAST(" + began + " AS text) || '-' || CAST(1000000000000000 + s.n AS text)"
	last := func(column string) string { return "t." + column + " || CAST(s.n AS text)" }
	unlessEmpty := func(column string) string {
		return "CASE t." + column + " WHEN '' THEN '' ELSE " + last(column) + " END"
	}
	shift := func(column string) string { return "t." + column + " + " + began }
	cursor := func(column, order string) string {
		return fmt.Sprintf("CASE WHEN %s >= 'P%02d' THEN 0 ELSE (%s) * 1000 + %s END", code, 10+deskRead, shift(column), order)
	}
	first, family := sqlName(5), sqlName(17)
	email := first + " || CAST(s.n AS text) || '@student.example'"
	names := map[string]string{"provider_code": code, "first_name": first, "last_name": family, "email": email}
	for _, table := range []struct {
		name, key string
		columns   map[string]string
	}{
		{"checkouts", "t.id", map[string]string{"id": id, "provider_order_id": "'O' || CAST(s.n AS text)",
			"idempotency_key": code + " || ':O' || CAST(s.n AS text)", "request_id": "'req_created' || CAST(s.n AS text)",
			"created_ms": shift("created_ms"), "updated_ms": shift("updated_ms"), "listed": cursor("updated_ms", "0"),
			"setup_completed_ms": shift("setup_completed_ms"),
			"confirmed_ms":       shift("confirmed_ms"), "confirmed_by_request_id": unlessEmpty("confirmed_by_request_id"),
			"billing_request_id": unlessEmpty("billing_request_id"), "mandate_id": unlessEmpty("mandate_id"),
			"agreement_number": "CASE t.agreement_number WHEN '' THEN '' ELSE 'PPA-2026-' || CAST(s.n AS text) END",
			"stage":            "CASE t.stage WHEN 0 THEN 1 ELSE t.stage END",
			"search_name":      first + " || ' ' || " + family, "search_family": family + " || ' ' || " + first, "search_email": email}},
		{"agreements", "t.checkout_id", map[string]string{"number": "'PPA-2026-' || CAST(s.n AS text)", "id": last("id"), "checkout_id": id,
			"provider_order_id": "'O' || CAST(s.n AS text)", "accepted_ms": shift("accepted_ms")}},
		{"jobs", "t.checkout_id", map[string]string{"position": "t.position", "checkout_id": id, "id": last("id"), "state": "'done'",
			"provider_order_id": "'O' || CAST(s.n AS text)", "created_ms": shift("created_ms"), "listed": cursor("created_ms", "t.position"), "request_id": "'req_created' || CAST(s.n AS text)"}},
		{"moments", "t.checkout_id", map[string]string{"checkout_id": id, "at_ms": shift("at_ms"), "request_id": last("request_id")}},
	} {
		columns := run("SELECT * FROM " + table.name + " LIMIT 1")
		values := make([]string, len(columns))
		for i, c := range columns {
			values[i] = "t." + c
			if v, ok := table.columns[c]; ok {
				values[i] = v
			} else if v, ok := names[c]; ok {
				values[i] = v
			}
			if c == "position" && (table.name == "jobs" || table.name == "checkouts") && strings.HasPrefix(spec, "sqlite:") {
				values[i] = "NULL"
			}
		}
		run(fmt.Sprintf(`INSERT INTO %s (%s) WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < %d)
			SELECT %s FROM s JOIN %s AS t ON t.provider_code = 'TUI' AND %s = 'TUI-0-T' || CAST(s.n %% 10 AS text)`,
			table.name, strings.Join(columns, ", "), n, strings.Join(values, ", "), table.name, table.key))
	}
	bytes := "bytea"
	if strings.HasPrefix(spec, "sqlite:") {
		bytes = "BLOB"
	}
	for p := range deskProviders {
		run(fmt.Sprintf(`INSERT INTO api_keys (id, provider_code, environment, hash, label, last_used_day) SELECT 'key%02d', 'P%02[1]d', environment,
			CAST('%02[1]d' AS %s), label, last_used_day FROM api_keys WHERE provider_code = 'TUI' LIMIT 1`, 10+p, bytes))
	}
	if !strings.HasPrefix(spec, "sqlite:") { // whose autovacuum does so
		run("ANALYZE")
	}
}

// shell returns a function that runs a statement on the store that --store names, and returns the columns of its result.
func shell(b *testing.B, spec string) (run func(statement string) []string, end func()) {
	b.Helper()
	ctx := context.WithoutCancel(b.Context())
	if path, isFile := strings.CutPrefix(spec, "sqlite:"); isFile {
		db, err := sql.Open("sqlite", path+"?_pragma=synchronous(OFF)&_pragma=cache_size(-500000)&_pragma=journal_mode(OFF)")
		if err != nil {
			b.Fatal(err)
		}
		db.SetMaxOpenConns(1)
		return func(statement string) []string {
			rows, err := db.QueryContext(ctx, statement)
			if err != nil {
				b.Fatalf("%.80s: %v", statement, err)
			}
			defer rows.Close()
			columns, err := rows.Columns()
			for rows.Next() {
			}
			if err != nil || rows.Err() != nil {
				b.Fatalf("%.80s: %v, %v", statement, err, rows.Err())
			}
			return columns
		}, func() { db.Close() }
	}
	conn, err := pgx.Connect(ctx, spec)
	if err != nil {
		b.Fatal(err)
	}
	return func(statement string) (columns []string) {
		rows, err := conn.Query(ctx, statement)
		if err != nil {
			b.Fatalf("%.80s: %v", statement, err)
		}
		for _, f := range rows.FieldDescriptions() {
			columns = append(columns, f.Name)
		}
		rows.Close()
		if rows.Err() != nil {
			b.Fatalf("%.80s: %v", statement, rows.Err())
		}
		return columns
	}, func() { conn.Close(ctx) }
}
