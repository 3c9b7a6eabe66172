package bench_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/mail"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/mux"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "modernc.org/sqlite"
)

// The floor is the least that still creates a checkout durably: it routes, decodes, checks the maths,
// stores one row and answers. It has no intents, events, agreements or log. With the same router and driver
// a machine cannot create checkouts faster, so the service is measured as a ratio of it.

// startFloor starts a floor over a store: see openFloor. It accepts only this key.
func startFloor(b *testing.B, store, key string) *contender {
	b.Helper()
	cmd := exec.Command(os.Args[0], floorCommand, "--store", store, "--key", key)
	cmd.Env = []string{}
	return &contender{name: "floor", key: key, child: startChild(b, cmd)}
}

func floorMain(args []string) {
	debug.SetGCPercent(300) // as in main, so that the comparison is not about the garbage collector
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, func() { os.Exit(0) })
	if err := serveFloor(ctx, args); err != nil {
		os.Exit(1)
	}
}

func serveFloor(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("floor", flag.ExitOnError)
	store, key, addr := fs.String("store", "", ""), fs.String("key", "", ""), fs.String("addr", "", "")
	if err := fs.Parse(args); err != nil {
		return err
	}
	rows, err := openFloor(ctx, *store)
	if err != nil {
		return err
	}
	f := &floor{rows: rows, authorization: "Bearer " + *key}
	r := mux.NewRouter()
	r.HandleFunc("/v1/provider-checkouts", f.called(f.create)).Methods(http.MethodPost)
	r.HandleFunc("/v1/provider-checkouts/{checkoutId}", f.called(f.get)).Methods(http.MethodGet)
	return http.ListenAndServe(*addr, r)
}

// floorRow is the floor's record of a checkout.
type floorRow struct {
	id, order, token string
	body             []byte
	found            bool // the order had a row, whose id and token are these
}

// floorRows is the floor's store.
type floorRows interface {
	// put stores the row durably, or finds the row that the order already has.
	put(ctx context.Context, r *floorRow) error
	status(ctx context.Context, id string) (string, error)
}

type floor struct {
	rows          floorRows
	authorization string
}

func (f *floor) called(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := errors.New("unknown key")
		if r.Header.Get("Authorization") == f.authorization {
			err = h(w, r)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}
}

// floorCreate is a create's body, as it is read and echoed.
type floorCreate struct {
	Provider struct {
		Code  string `json:"provider_code"`
		Order string `json:"provider_order_id"`
	} `json:"provider"`
	Student struct {
		First string `json:"first_name"`
		Last  string `json:"last_name"`
		Email string `json:"email"`
	} `json:"student"`
	Course struct {
		Name string `json:"course_name"`
	} `json:"course"`
	Pricing floorPricing `json:"pricing"`
	Plan    floorPlan    `json:"plan"`
}

type floorPricing struct {
	Price     floorCents `json:"course_price"`
	Principal floorCents `json:"amount_to_finance"`
	Upfront   floorCents `json:"upfront_payment"`
}

type floorPlan struct {
	Type      string     `json:"payment_type"`
	Frequency string     `json:"payment_frequency"`
	Number    int64      `json:"number_of_instalments"`
	Regular   floorCents `json:"instalment_amount"`
	Final     floorCents `json:"final_instalment_amount"`
	First     string     `json:"first_payment_date"`
}

// floorCents is an amount that is written with two decimals.
type floorCents int64

func (c *floorCents) UnmarshalJSON(text []byte) error {
	point := len(text) - 3
	if point < 1 || text[point] != '.' {
		return fmt.Errorf("%s is no amount", text)
	}
	n, err := strconv.ParseUint(string(text[:point])+string(text[point+1:]), 10, 40)
	*c = floorCents(n)
	return err
}

func (c floorCents) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%d.%02d", c/100, c%100), nil
}

func (c *floorCreate) check() error {
	if _, err := mail.ParseAddress(c.Student.Email); err != nil {
		return err
	}
	if _, err := time.Parse(time.DateOnly, c.Plan.First); err != nil {
		return err
	}
	price, plan := c.Pricing, c.Plan
	switch {
	case c.Provider.Code == "", c.Provider.Order == "", c.Student.First == "", c.Student.Last == "", c.Course.Name == "",
		plan.Type != "interest_free_payment_plan", plan.Frequency != "Weekly", plan.Number < 1:
		return errors.New("a field is missing or invalid")
	case price.Price != price.Upfront+price.Principal,
		floorCents(plan.Number-1)*plan.Regular+plan.Final != price.Principal:
		return errors.New("the amounts do not add up")
	}
	return nil
}

func (f *floor) create(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
	if err != nil {
		return err
	}
	var c floorCreate
	if err := json.Unmarshal(body, &c); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	row := &floorRow{id: floorID(time.Now()), order: c.Provider.Order, token: rand.Text(), body: body}
	if err := f.rows.put(r.Context(), row); err != nil {
		return err
	}
	status := http.StatusCreated
	if row.found {
		status = http.StatusOK
	}
	type object = map[string]any
	return f.answer(w, status, object{"success": true, "idempotent_replay": row.found, "provider": c.Provider,
		"records":  object{"contact_id": "con-" + row.id, "opportunity_id": "opp-" + row.id, "dda_id": "dda-" + row.id},
		"checkout": object{"checkout_id": row.id, "status": "direct_debit_setup_required", "requires_direct_debit": true},
		"direct_debit": object{"setup_complete": false, "dda_id": "dda-" + row.id, "token": row.token,
			"setup_url": "http://127.0.0.1/api/dd-setup?token=" + row.token},
		"plan": c.Plan, "pricing": c.Pricing})
}

func floorID(now time.Time) string {
	return fmt.Sprintf("TUI-%d-%s", now.UnixMilli(), strings.ToLower(rand.Text()[:16]))
}

func (f *floor) get(w http.ResponseWriter, r *http.Request) error {
	id := mux.Vars(r)["checkoutId"]
	status, err := f.rows.status(r.Context(), id)
	if err != nil {
		return err
	}
	type object = map[string]any
	return f.answer(w, http.StatusOK, object{"success": true, "checkout": object{"checkout_id": id, "status": status},
		"direct_debit": object{"setup_complete": false, "billing_request_status": "pending",
			"authorisation_status": "Customer In Progress", "authorised": false, "dda_id": "dda-" + id}})
}

func (f *floor) answer(w http.ResponseWriter, status int, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, err = w.Write(text)
	return err
}

// openFloor opens the floor's store: sqlite:PATH, which batches commits, or the URL of a PostgreSQL, which gets one statement for
// each row and batches commits itself.
func openFloor(ctx context.Context, store string) (floorRows, error) {
	if path, isFile := strings.CutPrefix(store, "sqlite:"); isFile {
		return openFloorFile(ctx, path)
	}
	return openFloorServer(ctx, store)
}

const floorTable = `CREATE TABLE IF NOT EXISTS checkouts (
	id text NOT NULL PRIMARY KEY, order_id text NOT NULL UNIQUE, token text NOT NULL, status text NOT NULL, body text NOT NULL)`

// floorFile is the floor's SQLite file.
type floorFile struct {
	db      *sql.DB
	writer  *sql.Conn
	insert  *sql.Stmt // on the writer, as found is
	found   *sql.Stmt
	state   *sql.Stmt
	ready   chan struct{} // has one value while writes wait
	mu      sync.Mutex
	waiting []*floorWrite
}

// floorWrite is a row on its way to the disk.
type floorWrite struct {
	row  *floorRow
	done chan error
}

func openFloorFile(ctx context.Context, path string) (*floorFile, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, err
	}
	db.SetMaxIdleConns(5)
	db.SetMaxOpenConns(5)
	f := &floorFile{db: db, ready: make(chan struct{}, 1)}
	if f.writer, err = db.Conn(ctx); err != nil {
		return nil, err
	}
	_, made := f.writer.ExecContext(ctx, floorTable)
	var errs [3]error
	f.insert, errs[0] = f.writer.PrepareContext(ctx, `INSERT INTO checkouts (id, order_id, token, status, body)
		VALUES (?, ?, ?, 'direct_debit_setup_required', ?) ON CONFLICT (order_id) DO NOTHING`)
	f.found, errs[1] = f.writer.PrepareContext(ctx, `SELECT id, token FROM checkouts WHERE order_id = ?`)
	f.state, errs[2] = db.PrepareContext(ctx, `SELECT status FROM checkouts WHERE id = ?`)
	go f.work()
	return f, errors.Join(append(errs[:], made)...)
}

func (f *floorFile) put(_ context.Context, r *floorRow) error {
	w := &floorWrite{r, make(chan error, 1)}
	f.mu.Lock()
	f.waiting = append(f.waiting, w)
	f.mu.Unlock()
	select {
	case f.ready <- struct{}{}:
	default:
	}
	return <-w.done
}

// work commits the rows that arrived during the previous commit.
func (f *floorFile) work() {
	for range f.ready {
		f.mu.Lock()
		group := f.waiting
		f.waiting = nil
		f.mu.Unlock()
		err := f.commit(group)
		for _, w := range group {
			w.done <- err
		}
	}
}

func (f *floorFile) commit(group []*floorWrite) error {
	ctx := context.Background()
	if _, err := f.writer.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	for _, w := range group {
		if err := f.store(ctx, w.row); err != nil {
			_, undone := f.writer.ExecContext(ctx, `ROLLBACK`)
			return errors.Join(err, undone)
		}
	}
	_, err := f.writer.ExecContext(ctx, `COMMIT`)
	return err
}

func (f *floorFile) store(ctx context.Context, r *floorRow) error {
	done, err := f.insert.ExecContext(ctx, r.id, r.order, r.token, r.body)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); n == 1 || err != nil {
		return err
	}
	r.found = true
	return f.found.QueryRowContext(ctx, r.order).Scan(&r.id, &r.token)
}

func (f *floorFile) status(ctx context.Context, id string) (status string, err error) {
	err = f.state.QueryRowContext(ctx, id).Scan(&status)
	return status, err
}

// floorServer is the floor's PostgreSQL.
type floorServer struct{ pool *pgxpool.Pool }

func openFloorServer(ctx context.Context, url string) (floorServer, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return floorServer{}, err
	}
	config.MaxConns = 32
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return floorServer{}, err
	}
	_, err = pool.Exec(ctx, floorTable)
	return floorServer{pool}, err
}

func (f floorServer) put(ctx context.Context, r *floorRow) error {
	done, err := f.pool.Exec(ctx, `INSERT INTO checkouts (id, order_id, token, status, body)
		VALUES ($1, $2, $3, 'direct_debit_setup_required', $4) ON CONFLICT (order_id) DO NOTHING`,
		r.id, r.order, r.token, string(r.body))
	if err != nil || done.RowsAffected() == 1 {
		return err
	}
	r.found = true
	return f.pool.QueryRow(ctx, `SELECT id, token FROM checkouts WHERE order_id = $1`, r.order).Scan(&r.id, &r.token)
}

func (f floorServer) status(ctx context.Context, id string) (status string, err error) {
	err = f.pool.QueryRow(ctx, `SELECT status FROM checkouts WHERE id = $1`, id).Scan(&status)
	return status, err
}
