// Package postgres keeps everything in a PostgreSQL database that any number of processes on any number of machines
// share. The files in migrations say what each table and column holds.
//
// [Open] makes a pool of connections of its own, and uses the first schema of the search path. [New] takes a pool that
// the host has, and uses a schema of its own, provider_checkout, beside the host's tables. Both make the store if
// there is none, and migrate it.
//
// What is acknowledged is on the server's disk, whatever synchronous_commit is by default. Where an acknowledgement was
// lost with its connection, the outcome is looked up before the call returns. The SQL is plain (unique indexes, row
// locks and fencing tokens, no advisory locks and no notifications) and never asks the database for the time.
//
// Connect to the server directly, or through a pooler that keeps sessions: statements are prepared in the session.
// CAPACITY.md, beside this package, says what one database carries and what to do before it is full, HA.md how to have one
// that survives the loss of a machine.
package postgres
