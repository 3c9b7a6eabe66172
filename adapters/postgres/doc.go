// Package postgres keeps everything in a PostgreSQL database, which any number of processes on any
// number of machines share: migrations/0001_initial.sql says what stands where. Its SQL is plain, so that
// distributed engines that speak PostgreSQL's protocol run it too: unique indexes, row locks and
// epochs; no advisory locks, no notifications, and never the database's clock.
//
// A process may die at any moment, and so may the server: what was acknowledged is on the server's
// disk, and a write whose acknowledgement was lost is looked up before it is answered. The tables
// are made in the first schema of the search path. Connect directly or through a pooler that keeps
// sessions: time-outs and prepared statements are the session's. A process opens up to 20
// connections, or as many as pool_max_conns in the connection string says.
//
// # Past one database
//
// One database carries more than it may seem. What follows is arithmetic from measurements on two cores
// that the server shared with the service, its clients and other work; assumptions say that they are.
//
// What it takes:
//
//	              database's processor   log (WAL)   on disk, with indexes
//	create              0.18 ms            1.9 KB     1.6 KB
//	get                 0.05 ms             0          0
//	confirm             2.3 ms             60 KB      57 KB, of which the PDF is 54
//
// What a provider sends: few creates, and many gets. Assume that a payer takes five minutes and that
// the provider polls every three seconds. Then an enrolment is a create, a hundred gets and a confirm:
// 0.2 + 5 + 2.3 = 7.5 ms of the database's processor. Assume a thousand providers with a thousand
// enrolments a year, a fifth of them in the busiest week, and half a day's in four hours: one enrolment a
// second, and ten in a burst, with a thousand gets. That is 75 ms of processor time a second: 4 % of two cores.
//
// When one PostgreSQL ends, in the order in which it does:
//
//   - Size. A million enrolments a year are 59 GB a year, and 62 GB of log to keep. A database of 1 TB (17
//     million enrolments) takes an hour and a half to restore at 200 MB a second: decide how long that
//     may be. Nearly all of it is the table documents, which only a confirm writes and only the operator
//     reads: moved to storage of its own, with the SHA-256 kept on record, it leaves 4.5 GB a million.
//   - Failure. Whoever shares a database shares its outages, its upgrades and its restores. That
//     is the reason to part providers before any figure is.
//   - Agreement numbers. Confirms take turns at one row, each for as long as a commit takes: 1,200 a
//     second were measured. Each store may draw from a range of its own: numbers may stay unused.
//   - Processor. Two cores are full at 270 enrolments a second, two thirds of that with gets. No
//     provider comes near: a single one never needs more than one database.
//   - Connections. Each process opens up to 20, and a server allows 100 unless told otherwise: four
//     processes. More need a higher max_connections, a lower pool_max_conns, or a pooler.
//
// What is parted by what: everything belongs to one provider, and nothing joins two. The provider's code is on
// every row that a request looks up or stands in front of its checkout's id, so that a [ports.Store] which
// holds one DB for each part can route by it:
//
//	checkouts, with their records    by provider_code; an id begins with it
//	events, and their deliverers     with their checkout; each part recovers its own
//	agreements, documents            with their checkout
//	providers, courses, options      by code
//
// A provider moves while its configuration is inactive: its rows are copied, the route is changed, and its
// keys work again. Nothing of another provider is touched.
//
// What stays global:
//
//   - API keys: a key's hash does not say whose it is. They are few and read from memory for half a second at a
//     time: every part may hold them all, or one place the route from hash to provider.
//   - Events by their id alone, and agreements by their number alone: [ports.Outbox] and the operator's
//     commands name no provider. A router asks each part, or remembers where it read the event.
//   - The sequence of agreement numbers, if it must stay without ranges.
//   - The provider file, all or nothing in one database; over several it is so in each.
//   - An export: of one moment in one database, and of as many as there are parts otherwise.
//   - The operator's secret: every part is sealed under the same.
package postgres
