package postgrestest_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
)

// A commit of the primary waits for the standby, and a standby that is promoted has what was committed.
func TestPair(t *testing.T) {
	p := postgrestest.NewPair(t)
	url := p.URL(t)
	// What is to wait is given up soon, and what is to succeed has time also on a busy machine.
	const soon, late = 300 * time.Millisecond, 20 * time.Second
	write := func(limit time.Duration, statement string) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return err
		}
		defer conn.Close(context.Background())
		_, err = conn.Exec(ctx, statement)
		return err
	}
	if err := write(late, `CREATE TABLE mine (n bigint)`); err != nil {
		t.Fatal(err)
	}
	p.Save(t)
	for _, tt := range []struct {
		name     string
		lose, by func()
	}{
		{"cut off", p.Link.Cut, p.Link.Mend},
		{"reset", p.Link.Reset, p.Link.Mend},
		{"frozen", p.Standby.Freeze, p.Standby.Thaw},
		{"killed", p.Standby.Kill, func() { p.Standby.Start(t) }},
	} {
		t.Run("a standby "+tt.name, func(t *testing.T) {
			if err := write(late, `INSERT INTO mine VALUES (1)`); err != nil {
				t.Fatalf("with the standby there: %v", err)
			}
			tt.lose()
			if err := write(soon, `INSERT INTO mine VALUES (2)`); err == nil {
				t.Error("a commit did not wait")
			}
			tt.by()
			p.AwaitStandby(t)
		})
	}
	p.Restore(t)
	if err := write(late, `INSERT INTO mine VALUES (3)`); err != nil {
		t.Fatal(err)
	}
	p.Primary.Kill()
	p.Standby.Promote(t)
	if err := write(late, `INSERT INTO mine VALUES (4)`); err != nil {
		t.Errorf("the promoted standby: %v", err)
	}
	conn, err := pgx.Connect(t.Context(), p.Standby.At(url))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	var n int
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM mine`).Scan(&n); err != nil || n != 2 {
		t.Errorf("%d rows on the promoted standby, %v; want what was written since Restore: 2", n, err)
	}
}
