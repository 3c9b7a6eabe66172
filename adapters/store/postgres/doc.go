// Package postgres keeps everything in a PostgreSQL database that any number of processes on any number of machines
// share. The files in migrations say what each table and column holds.
//
// [Open] makes a pool of connections of its own, and uses the first schema of the search path. [New] takes a pool that
// the host has, and uses a schema of its own, provider_checkout, beside the host's tables. Both make the store if
// it does not exist, and migrate it.
//
// # What is acknowledged
//
// It is on the server's disk and, where the server demands that (synchronous_standby_names), with its standbys: it is
// there after a failover to one of them. The store raises a synchronous_commit that is weaker than on, and leaves
// remote_apply. Its statements run at READ COMMITTED, whatever isolation is the default.
//
// A commit that waits for a standby can be given up, but not undone. If the wait is broken, by a cancel request, by an
// administrator or by a restart, everybody sees on this server what no standby has. Therefore
//
//   - the store never asks the server to cancel a commit: a call gives it up after six seconds, and only closes the
//     connection. The server goes on to wait, and no reader sees the commit before the standby has it;
//   - a commit that ends with a warning, as the server sends it for a broken wait, is taken for an unknown outcome, as is one
//     whose answer was lost with its connection. Both are looked up before the call returns;
//   - what is found then is returned only after a further commit on the same server, made for that purpose, ended by itself
//     and without a warning. A standby receives commits in their order: that one proves every earlier one. Else the call returns
//     an error that says that the outcome is not known, and may be made again;
//   - each new connection of a server begins with such a proof, because a restart, which breaks every wait, ends every
//     connection. So no read shows what a restart has made visible too early;
//   - a checkout that a repeated create or confirm is answered from (it is read by its order or key, or is confirmed) is
//     proven again each time, because an administrator may have broken a wait without a restart. A poll of a checkout that
//     is not confirmed yet is not: it acknowledges nothing, and may show for a moment what only this server has.
//
// A proof is one round trip and locks a row, which only writes where standbys are demanded. A server whose standby is away
// keeps the connection of each commit that was given up. From the first one on each commit waits for the one before,
// so that they are not more than the pool has connections, and the calls after that are refused as busy.
//
// # Connections
//
// Connect to the server directly, or through a pooler that keeps sessions: their settings, and the prepared statements,
// are the store's. A pooler that lends its connections by transaction (pgbouncer: pool_mode = transaction) keeps neither. A
// connection string may name several hosts and target_session_attrs=read-write: the store follows a promotion.
//
// The SQL is plain: unique indexes, row locks and fencing tokens, no advisory locks and no notifications. Each write is one explicit
// transaction, each message one statement, and every order that of a value that the store writes, so that it also runs on engines
// and through poolers that speak PostgreSQL's protocol in their own way. On Citus, [DB.Distribute] spreads the providers over nodes.
// Of the database's clock the store asks when a job is due and when a lease is over, so that a process whose clock is wrong neither
// holds work back nor does it twice; every time on record is that of the process that stored it.
//
// The manuals in cmd/provider-checkout/docs have its capacity (postgres-capacity.md), its backup
// and recovery (postgres-backup.md), and a cluster that survives the loss of a machine (postgres-ha.md).
package postgres
