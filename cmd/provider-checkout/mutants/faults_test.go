package mutants_test

// Packages whose tests look for a bug.
const (
	core      = "./checkout"
	ofService = "./checkout/service"
	ofSealing = "./checkout/service -run Forged|ALog|Clock|Hook|Checkpoint|Promise|Gap|Seal|Receipt"
	ofSQLite  = "./adapters/store/sqlite"
	ofStores  = "./adapters/store/sqlite ./adapters/store/memory"
	ofProgram = "./cmd/provider-checkout"
	bank      = "./adapters/out/gocardless"
	ofLog     = "./agreement/evidence ./checkout/service -run Forged|ALog|Clock|Hook|Checkpoint|Promise|Gap|Seal|Receipt|Backdated|Attest|Record|Log"
)

// faults are bugs that a reviewer planted before there was this list: the first dozen of them no test had found.
func faults() []mutant {
	return []mutant{
		{"a kept checkpoint of the same size is not compared", "agreement/evidence/proof.go",
			"case earlier.Size == 0:", "case earlier.Size == 0, earlier.Size == later.Size:", "./agreement/evidence"},
		{"what is erased stays in the write-ahead log", "adapters/store/sqlite/scrub.go", "wal_checkpoint(TRUNCATE)", "wal_checkpoint(PASSIVE)", ofSQLite},
		{"an erasure that is not genuine excuses missing data", "cmd/provider-checkout/internal/evidencelog/erasure.go",
			"if position == evidence.Unsealed && !l.Attests(e) || position != evidence.Unsealed && !l.sealed(ctx, e, position) {",
			"if false && (!l.Attests(e) || !l.sealed(ctx, e, position)) {", ofProgram},
		{"a backup gets its name before its contents are on the disk", "adapters/store/privatefile/privatefile.go",
			"\tif err := f.Sync(); err != nil {\n\t\treturn err\n\t}\n\terr := f.link(name)", "\terr := f.link(name)",
			"full ./cmd/provider-checkout/full -run TestPowerLoss"},
		{"the name of a checkpoint is not on the disk", "adapters/store/privatefile/privatefile.go",
			"\t\terr = syncFolder(filepath.Dir(name))", "\t\terr = nil", "full ./cmd/provider-checkout/full -run TestPowerLoss"},
		{"a checkpoint of a full batch says that nothing else was recorded", "checkout/service/seal.go",
			"\tif !more {\n", "\tif true {\n", ofSealing},
		{"a call of the CRM outlives its lease", "checkout/service/jobs.go",
			"calling, cancel := context.WithTimeout(ctx, limit)", "_ = limit\n\tcalling, cancel := context.WithCancel(ctx)", ofService},
		{"the cursor of the events moves on though a page was not kept", "adapters/out/gocardless/reconcile.go",
			`return cursor, reconcileEvery, fmt.Errorf("store %d`, `return now.Format(time.RFC3339Nano), reconcileEvery, fmt.Errorf("store %d`, bank},
		{"no events are read again", "adapters/out/gocardless/reconcile.go", "since.Add(-overlap), after", "since, after", bank},
		{"a lock that comes as its caller gives up is never given back", "checkout/service/locks.go",
			"\t\tunlock()\n\t\treturn nil, waited, err", "\t\tleave()\n\t\treturn nil, waited, err", ofService},
		{"a write that is committed is answered as an error", "adapters/store/sqlite/writer.go",
			"\tif job.take() {\n\t\treturn fmt.Errorf(\"wait", "\tif job.take() || ctx.Err() != nil {\n\t\treturn fmt.Errorf(\"wait", ofSQLite},
		{"half of a notification's signature counts", "adapters/out/gocardless/notify.go",
			"hmac.Equal(mac.Sum(nil), signature)", "hmac.Equal(mac.Sum(nil)[:16], signature[:16])", bank},

		{"an old owner settles a job that another process has leased", "adapters/store/sqlstore/queue.go",
			"!row.found || row.Token != lease.Token || row.State", "!row.found || row.State", ofSQLite},
		{"a part of a token's signature is enough", "checkout/token.go", "if !hmac.Equal([]byte(mac(key, signed)), []byte(parts[3])) {",
			"if !strings.HasPrefix(mac(key, signed), parts[3]) {", core},
		{"an agreement is erased on the day of its last payment", "checkout/erase.go", "!last.Before(today) {", "today.Before(last) {", core},
		{"the retention ends a day early", "checkout/erase.go", "12*r.AgreedYears).Before(today)", "12*r.AgreedYears).AddDays(-1).Before(today)", core},
		{"a second try has the idempotency key of the first", "checkout/erase.go", "strconv.Itoa(try))\n}", "strconv.Itoa(min(try, 1)))\n}", core},
		{"an observation of an earlier billing request is stored for the next", "checkout/service/observe.go",
			"if c.Setup.BillingRequestID != stored.Setup.BillingRequestID {", "if false {", ofService},
		{"the date of an agreement is that in UTC", "checkout/service/confirm.go",
			"money.DateOf(agreed.AcceptedAt.In(c.zone))", "money.DateOf(agreed.AcceptedAt.UTC())", ofService},
		{"the year of a number is that in UTC", "checkout/service/confirm.go", "now.In(c.zone).Year()", "now.UTC().Year()", ofService},
		{"an attestation does not cover the id of its entry", "agreement/evidence/evidence.go",
			`"%s\n%d %d %s\n", e.ID`, `"%.0s\n%d %d %s\n", e.ID`, core},
		{"500 forged entries stop the sealing", "checkout/service/seal.go",
			"limit := sealBatch + min(s.refusals, maxRefused)", "limit := sealBatch", ofSealing},
		{"a head with another root than the signed one is sealed on", "agreement/evidence/checkpoint.go",
			"(c.Size != h.Size || c.Root != h.Root())", "c.Size != h.Size", ofSealing},
		{"the second checkpoint is not passed to the hook", "checkout/service/seal.go", "string(newest) != passed {", `passed == "" {`, ofSealing},
		{"the second of two confirms says that it is the first", "checkout/service/confirm.go",
			"Already: stored.Confirmation.AgreementNumber != c.concluded}", `Already: stored.Confirmation.AgreementNumber == ""}`, ofService},
		{"events of one millisecond are sent in any order", "adapters/store/sqlstore/due.go",
			"e.position < j.position AND (e.kind = 'deliver'", "e.id < j.id AND (e.kind = 'deliver'", ofSQLite},
		{"an erasure leaves the answer of the mail server", "adapters/store/sqlstore/privacy.go", "reference = '', answer = '',", "reference = '',", ofSQLite},
		{"half of a write that failed is committed with others", "adapters/store/sqlite/writer.go",
			"(t.changed || t.broken) {", "t.broken {", ofSQLite},
		{"an old owner settles an event in memory", "adapters/store/memory/queue.go",
			"!ok || j.Token != l.Token || j.State", "!ok || j.State", "./adapters/store/memory"},
		{"an old owner extends the lease of another", "adapters/store/sqlstore/statements.go",
			"AND state = 'pending' AND token = ?`\n", "AND state = 'pending' AND token > ? - 1`\n", ofSQLite},
		{"a backup is of several moments", "adapters/store/sqlite/backup.go",
			"rows, err := tx.QueryContext(ctx, `SELECT data", "rows, err := from.QueryContext(ctx, `SELECT data", ofSQLite},
		{"a write that waits when the store closes is lost and acknowledged", "adapters/store/sqlite/writer.go",
			"\tif job.take() {\n\t\treturn fmt.Errorf(\"wait for the writer: %w\", cmp.Or(ctx.Err(), errClosed))", "\tif job.take() {\n\t\treturn cmp.Or(ctx.Err())", ofSQLite},
		{"a store is restored beside the log of another", "adapters/store/sqlite/restore.go",
			`[]string{"", "-wal", "-shm", "-journal"}`, `[]string{""}`, ofSQLite},
		{"a last instalment of one cent is paid with the one before", "money/plan.go", "n := (principal-1)/regular + 1", "n := (principal-2)/regular + 1", "./money"},
		{"two processes seal at once", "adapters/store/sqlstore/statements.go", "s.lockHead = selectHead + d.ForUpdate", "s.lockHead = selectHead",
			"full ./adapters/store/postgres -run TestStore|TestSameAsMemory"},
		{"a limit is of one IPv6 address", "adapters/internal/web/client.go", "netip.PrefixFrom(addr, 64)", "netip.PrefixFrom(addr, 128)", "./adapters/internal/web"},
		{"a word of the processor's may end a line", "adapters/internal/outbound/outbound.go",
			"`^[A-Za-z0-9_.-]{0,100}$`", "`(?m)^[A-Za-z0-9_.-]{0,100}$`", "./adapters/internal/outbound"},
	}
}
