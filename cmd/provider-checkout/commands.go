package main

import (
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
)

// commands returns every command, in the order in which an operator needs them.
func commands() []cli.Command {
	return []cli.Command{
		{Name: "demo", Setup: command(demonstrate),
			About: "Serve a sandbox with two providers, or walk the whole flow (--walk)",
			More: "Everything is kept in a temporary folder, which is removed at the end; only the PDF of --walk\n" +
				"stays. Prints the address of a make-believe provider's website, which leads by clicks from a course\n" +
				"to an agreement; then keys and curl lines for the same flow, and every event that its own receiver\n" +
				"verified.\n" +
				"With --walk it walks that flow itself over HTTP, and exits 0 only if every step succeeds."},
		{Name: "listen", Setup: command(followEvents),
			About: "Print a provider's events as they come, and forward them to a receiver on this machine",
			More: "For a provider's developer: no tunnel, and no change of the destination on record. Prints a line for each event: its time,\n" +
				"name, order, checkout and id, and the receiver's status and how long it took. Each is sent once it is verified, with the\n" +
				"headers of a real delivery, under the secret of " + signingVariable + ", or one that it makes and prints.\n" +
				"It begins with the events from now on, or with those of --since; with --state it goes on where it stopped. A receiver that\n" +
				"nobody listens at is waited for. An event that is refused is sent again later, and the later events of its checkout wait\n" +
				"for it, and no others. " + keyHelp},
		{Name: "trigger", Args: []string{"SCENARIO"}, Setup: command(trigger),
			About: "Create a checkout in a sandbox, and have a scenario happen to it",
			More: "For a provider's developer. Creates a checkout as the provider does, sets its direct debit up and confirms it where the\n" +
				"scenario needs that, as before each mandate_*, and prints each request with its answer and its id, and the checkout at\n" +
				"the end. An answer that is refused or lost because of the scenario is no failure. " + keyHelp + "\n\n" +
				"Scenarios: " + strings.Trim(fmt.Sprint(scenario.All()), "[]") + "."},
		{Name: "serve", Setup: command(serve),
			About: "Serve the API and the setup pages",
			More:  configHelp + "\n\n" + secretHelp + "\n\n" + evidenceHelp + "\n\n" + processorHelp + "\n\n" + crmHelp + "\n\n" + mailHelp + "\n\n" + opsHelp + "\n\n" + deskHelp},
		{Name: "config check", Setup: command(checkConfig),
			About: "Print what the settings of serve mean, and what is missing",
			More: "Takes the flags and variables of serve. Prints a line for each setting with its value, its origin and its meaning, and a\n" +
				"line for everything that is missing or contradictory; of a secret only where it comes from. Exits 0 if nothing is missing,\n" +
				"and 1 if anything is. It asks neither the store nor the network.\n\n" + configHelp},
		{Name: "apply", Setup: command(apply),
			About: "Create or update providers and their catalogues from a file",
			More: "All or nothing. A provider that the file names is replaced whole; one that it does not name\n" +
				"stays, unless --prune is given. Prints what changed, and the revision that is on record then: --expect REVISION\n" +
				"refuses the file if somebody has changed the providers since. A running server sees it within 5 s.\n" +
				"A signing secret may be env:NAME or file:PATH, the variable or the file that has it.\n\n" +
				"With --processor gocardless, and its access token in " + tokenVariable + ",\n" +
				"it warns of providers whose account is unknown there, or needs more notice of a payment."},
		{Name: "providers ping", Args: []string{"CODE"}, Setup: command(pingProvider),
			About: "Send a test event to a provider's receiver, and ask whether its pages answer",
			More: "For a provider that is new, or has changed its receiver. The event ping is signed like the others, has one attempt and is\n" +
				"listed nowhere. Prints the answer to it, and exits 0 if it was taken. If it was, one with a wrong signature follows,\n" +
				"which a receiver must refuse; that it does not, and origins at which nothing answers, are warnings."},
		{Name: "providers pull", Setup: command(pullProviders),
			About: "Create or update providers and their catalogues from the CRM",
			More: "As apply does from a file: all or nothing; a provider that the organisation has is replaced whole, one that it\n" +
				"does not have stays, unless --prune is given. A provider's destination of events, with its signing secret, never\n" +
				"comes from the CRM: it stays as it is on record, and a new provider has none. A running server can do this itself:\n" +
				"serve --pull-providers, which never removes a provider.\n\n" + crmHelp},
		{Name: "crm check", Setup: command(checkCRM),
			About: "Check that the CRM has every object and field that is needed",
			More: "Signs in, and prints a line for everything that is missing. Exits 0 if nothing is, and 1 if anything is.\n\n" +
				administratorHelp + "\n\n" + crmHelp},
		{Name: "jobs list", Setup: command(listJobs),
			About: "List everything that is to be done later",
			More: "Prints a line for each job that waits, the oldest first: an event that is to be delivered, a notice to a payer, an\n" +
				"enrolment that the CRM is to open or to complete, a setup that is looked at again, a notification of the processor,\n" +
				"and what the service itself does again and again; since when it waits, how often it was attempted, when it is due\n" +
				"and why the latest attempt failed. The store alone is asked."},
		{Name: "jobs show", Args: []string{"JOB-ID"}, Setup: command(showJob),
			About: "Print everything on record about a job"},
		{Name: "jobs retry", Args: []string{"JOB-ID"}, Setup: command(retryJob),
			About: "Have a job attempted again, now",
			More: "For an enrolment that the CRM refused, once an administrator has mended what it names, or a notice that was put off.\n" +
				"A running server attempts it within seconds."},
		{Name: "today", Setup: command(today),
			About: "List what needs a hand",
			More: "Prints a line for each reason: how many there are, since when the oldest waits, and the provider that has the most.\n" +
				"Nothing is printed of what is well. What is older than 30 days is left out, but for calls of the CRM, notifications of\n" +
				"the processor and entries of the evidence log that still wait."},
		{Name: "find", Args: []string{"QUERY"}, Setup: command(find),
			About: "Find checkouts by an id, an e-mail address or the beginning of a name",
			More: "QUERY is an id of a checkout, an order, an agreement, a mandate, a billing request, an event (evt_), a request (req_) or\n" +
				"an API key, an e-mail address, or the beginning of a name, given name or family name first. In names and addresses\n" +
				"neither case nor macrons matter. An API key finds the checkouts of its provider. Exits 1 if nothing is found.\n" +
				"A person whose data was erased is not found by name or address."},
		{Name: "show", Args: []string{"ID"}, Setup: command(show),
			About: "Print what happened to a checkout",
			More: "ID is an id that find knows, but for that of an API key. Prints its state, and then its journal, a line for each moment: when it was\n" +
				"(UTC), what happened, who did it (provider:KEY-ID, payer, processor, crm, service, operator:NAME), and in which request.\n" +
				"With --json the moments alone. They have no personal data. That a page was opened is noted a little\n" +
				"later, and is lost if the process is killed before. The e-mail address is masked; --reveal prints it, and the\n" +
				"evidence log keeps who looked and why.\n\n" + trailHelp},
		{Name: "funnel", Setup: command(funnel),
			About: "Count by provider and week how far checkouts came",
			More: "Prints a line for each ISO week (from Monday, UTC) and provider: of the checkouts that were created in it, how many payers\n" +
				"opened the page, how many went on to the bank, how many were set up and how many the provider confirmed, by now."},
		{Name: "month", Args: []string{"YYYY-MM"}, Setup: command(month),
			About: "Write the agreements and payments of a month as CSV",
			More: "A line for each agreement that was accepted in the month (in New Zealand), or of which payments are due in it: what was\n" +
				"financed and paid up front (in the month of the acceptance), payments due and their sum, the status of the mandate, and\n" +
				"where the record, the CRM as far as the record knows it, and the mandate differ. No names.\n\n" + trailHelp},
		{Name: "cancel", Args: []string{"CHECKOUT"}, Setup: command(cancelCheckout),
			About: "Cancel a checkout before its confirm",
			More: "The payer's link then says so, without the reason, and who to ask. A running server cancels the direct debit at the\n" +
				"processor and tells the CRM, within seconds, and a provider that lists checkout.cancelled. The order id stays taken.\n" +
				"A confirmed checkout is refused: its agreement is withdrawn. The reason has 1 to 255 characters and stays on record\n" +
				"for ever; it must name no person. A repeat changes nothing and exits 0."},
		{Name: "withdraw", Args: []string{"NUMBER"}, Setup: command(withdrawAgreement),
			About: "Withdraw the agreement of a confirmed checkout",
			More: "For a payer who cancelled in the time that the agreement gives, and the like. The agreement and its PDF stay, and the\n" +
				"evidence log has who withdrew it, when and on which ground. A running server cancels the mandate at the processor and\n" +
				"tells the CRM, within seconds, then the payer by e-mail, and a provider that lists agreement.withdrawn. What was paid or\n" +
				"is owed is not settled by it. There is no way back. The reason stays on record for ever and must name no person. A\n" +
				"repeat changes nothing and exits 0."},
		{Name: "link", Args: []string{"CHECKOUT"}, Setup: command(mailLink),
			About: "Send the payer a new link to the setup page",
			More: "To the e-mail address on record, by a running server that sends e-mail; the link is never shown. --setup-lifetime is how\n" +
				"long it opens, as for serve. Refused where there is nothing to set up. A repeat within ten minutes sends nothing and\n" +
				"exits 0."},
		{Name: "keys issue", Setup: command(issueKey),
			About: "Make an API key for a provider and print it, once",
			More:  "Only its hash is stored: keep what is printed. With --expires DATE it is refused once that day in New Zealand is over."},
		{Name: "keys list", Setup: command(listKeys),
			About: "List the API keys",
			More:  "With the day (UTC) of their last use, which is noted once a day."},
		{Name: "keys revoke", Args: []string{"KEY-OR-ID"}, Setup: command(revokeKey),
			About: "Revoke an API key",
			More:  "A running server refuses it within 1 s."},
		{Name: "agreements pdf", Args: []string{"[NUMBER]"}, Setup: command(agreementPDF),
			About: "Write the PDF of an agreement to a file, or of many to a folder",
			More: "Writes the document that was stored at the confirm. If none could be rendered then, it is rendered now\n" +
				"from the agreement's figures, in the words that were accepted, and every page says that it is a copy. A\n" +
				"document that was stored and is missing or damaged is refused; --redraw renders such a copy instead.\n\n" +
				"With --all --since DATE and no NUMBER, every agreement accepted on that day in New Zealand or later is written\n" +
				"to a file of its own. One that cannot be is named at the end, the others are written, and the status is 1."},
		{Name: "agreements verify", Args: []string{"[NUMBER]"}, Setup: command(verifyAgreement),
			About: "Check an agreement, or all of them, against the record and the evidence log",
			More: "Prints a line for each check: ok, FAIL, or none where there is nothing to check. The stored bytes\n" +
				"must have the SHA-256 on record; the charges must sum to the course price and be the schedule of\n" +
				"the plan; and the checkout must have been confirmed with this agreement. The evidence log must have the\n" +
				"same agreement, with the same SHA-256 of the PDF, in a tree whose root was\n" +
				"signed. Whoever can edit the store may cut off the end of the log: only with --checkpoint does that show.\n" +
				"Exits 0 if no check fails, and 1 if any does.\n\n" +
				"--receipt holds the log to the receipt of an agreement, also where the agreement is missing: it must be sealed, or\n" +
				"the time that the receipt promises must not be over.\n\n" +
				"With --all and no NUMBER, the whole log is checked, then every agreement, a line each, and that none is missing\n" +
				"which the log has; and the providers, API keys and withdrawals must be what operators made, as the log says.\n\n" +
				evidenceHelp},
		{Name: "agreements prove", Args: []string{"NUMBER"}, Setup: command(proveAgreement),
			About: "Write a proof that an agreement is in the evidence log",
			More: "The proof holds what was agreed, but no name or address. It is checked with verify-proof, for which nothing of\n" +
				"this service is needed but the public key.\n\n" + evidenceHelp},
		{Name: "verify-proof", Args: []string{"FILE"}, Setup: command(verifyProof),
			About: "Check a proof with nothing but the public key",
			More: "FILE may be -, standard input. Prints the record that is proven. It has the SHA-256 of the agreement's PDF, which\n" +
				"--pdf compares. --receipt is the receipt that must be of the same record. Needs no store and no network."},
		{Name: "evidence checkpoint", Setup: command(printCheckpoint),
			About: "Print the newest signed checkpoint of the evidence log",
			More: "Keep it where those who can edit the store cannot. \"agreements verify --checkpoint\" holds the store to it.\n\n" +
				evidenceHelp},
		{Name: "evidence key", Setup: command(printEvidenceKey),
			About: "Print the public half of the evidence key, or a new key",
			More:  evidenceHelp},
		{Name: "privacy export", Setup: command(exportStudent),
			About: "Write everything on record about one student as JSON Lines",
			More:  "As export does, of the checkouts of one student.\n\n" + studentHelp},
		{Name: "privacy erase", Setup: command(eraseStudent),
			About: "Erase the personal data of one student, for good",
			More: "Names, e-mail address, account holder, account, network address, the ids of bank setups and the PDFs are\n" +
				"emptied; figures, dates, record ids and hashes stay, and so does the proof of every agreement, with the salt by\n" +
				"which a name can be checked against it until serve --erase-agreed-years ends the retention. Prints the ids\n" +
				"by which the processor and an outside CRM know the student: what they have must be erased there. It is refused\n" +
				"while a checkout waits for the CRM and, without --force, while payments are still to be collected. Then it\n" +
				"writes a SQLite store's file anew, or vacuums the tables of PostgreSQL: choose a quiet hour.\n\n" + studentHelp},
		{Name: "witness serve", Setup: command(serveWitness),
			About: "Serve a witness, which cosigns the checkpoints of others' evidence logs",
			More: "For a provider, or anybody but the operator of the log. The operator puts the witness's public key and its URL into the\n" +
				"file of serve --witnesses. A log that does not go on from the checkpoint that was cosigned last is refused and logged, and\n" +
				"a file keeps both checkpoints. It speaks HTTP: put it behind a proxy with TLS. Prints the witness's public key.\n" +
				"cmd/provider-checkout/docs/evidence.md has the steps, and the names of the files."},
		{Name: "evidence list", Setup: command(listEvidence),
			About: "List the evidence log: what was agreed and what operators did",
			More: "Prints a line for each entry: its number in the log, from 1, or - until a server has sealed it; when it was recorded; and\n" +
				"an agreement's number, or an operation with what it was done to, by whom and why, and below it a line for each thing\n" +
				"that changed. Entries that no process with the operator's secret recorded are marked FORGED: they are never sealed.\n" +
				"The sealed entries are held to the newest checkpoint, and to the one of --checkpoint: exits 1 if they are not what\n" +
				"was signed. Only by a checkpoint that was kept elsewhere does it show that the end of the log was cut off.\n\n" +
				trailHelp + "\n\n" + evidenceHelp},
		{Name: "events list", Setup: command(listEvents),
			About: "List events with their attempts, the newest first",
			More: "Prints a line for each: its id, name, provider and order, its status, the attempts of the service, when it was made,\n" +
				"and when and why the latest attempt that failed did."},
		{Name: "events show", Args: []string{"EVENT-ID"}, Setup: command(showEvent),
			About: "Print everything on record about an event",
			More:  "Its status and attempts, why it failed, every redelivery, and its body as it is signed and sent."},
		{Name: "events redeliver", Args: []string{"[EVENT-ID]"}, Setup: command(redeliverEvents),
			About: "Send an event again, or all that failed since a time",
			More: "Sends it from here, whether a server runs or not: three attempts, with the same event id and body, and a fresh\n" +
				"timestamp and signature. Prints a line for each event and what came of it, and exits 0 if every one was delivered. An\n" +
				"event that is named is sent even if it had been delivered; one that is pending is left to the server. Of a receiver\n" +
				"that takes none of five attempts in a row the rest is not tried. What came of it is on record: see events show."},
		{Name: "golive", Setup: command(checkGoLive),
			About: "Say which steps an integration has proven in the sandbox, and which are missing",
			More: "Prints a line for each step: when it was done and in which request, or what to do and the page that explains it. The\n" +
				"proofs are the journals of the provider's checkouts and its requests of the last day; a step that was proven stays\n" +
				"proven. Exits 0 once every step is done, and 1 before. --provider is for the operator, who has the store; --base-url for\n" +
				"the provider itself. --report is signed with the evidence key, and checked with \"golive verify\".\n\n" + keyHelp},
		{Name: "golive verify", Args: []string{"FILE"}, Setup: command(verifyGoLive),
			About: "Check a signed report of golive, and print it",
			More:  "FILE may be -, standard input. Needs no store and no network."},
		{Name: "export", Setup: command(export),
			About: "Write everything on record as JSON Lines",
			More:  "One moment's state, one object a line, each with a kind. Secrets and the text of keys are left out."},
		{Name: "store distribute", Setup: command(distributeStore),
			About: "Spread a store in PostgreSQL over the nodes of a Citus cluster",
			More: "Everything of a provider is on one node then, and each node has a copy of the providers, the keys and the evidence\n" +
				"log. All of it or nothing: stop every server before. A store that is distributed already stays as it is. See\n" +
				"cmd/provider-checkout/docs/postgres-capacity.md."},
		{Name: "backup", Setup: command(backup),
			About: "Copy a SQLite store, which may be served meanwhile, to a file",
			More: "Everything that was acknowledged before is in the copy, which is checked, and complete or not there at all. The\n" +
				"operator's secret is not in it, and it cannot be restored without: keep that too, in another place. A store in\n" +
				"PostgreSQL is backed up with its server's own tools: cmd/provider-checkout/docs/postgres-backup.md."},
		{Name: "restore", Setup: command(restore),
			About: "Make a SQLite store of a backup",
			More: "Checks the backup first, and never takes the place of a store: stop its server, and move its files away. The\n" +
				"secret is the operator's, or the file of the store's own beside either place, under its name with .secret.\n" +
				"Prints what is to be done before it is served. No agreement number, checkout id or event_id that was given since\n" +
				"the backup is ever given again."},
		{Name: "simulate gocardless", Setup: command(simulateGoCardless),
			About: "Serve a simulator of GoCardless, which moves no money",
			More: "Everything is in memory. Prints how to serve with it. Names and accounts with a fixed fate, and the\n" +
				"paths that move its clock and arm faults, are in the documentation of the package\n" +
				"adapters/sim/gocardlesstest."},
		{Name: "simulate salesforce", Setup: command(simulateSalesforce),
			About: "Serve a simulator of a Salesforce organisation",
			More: "Everything is in memory. Prints how to sign in to it. Its objects, and the paths that move its clock,\n" +
				"arm faults and show what was written, are in the documentation of the package\n" +
				"adapters/sim/salesforcetest."},
		{Name: "conformance", Setup: command(conform),
			About: "Test a deployment against the contract, over HTTP and with a provider's key",
			More: "Prints a line for each sentence of the contract: ok, FAIL with what was wanted, the request and the answer, or skip with\n" +
				"the reason. Keys and setup tokens are masked. Exits 0 if no check fails, and 1 if any does. The key comes from\n" +
				keyVariable + ", or the file of --key-file.\n\n" +
				"It makes some dozens of checkouts, whose order ids begin with conformance-, and the sandbox's scenarios play the payer of one.\n" +
				"Where a deployment has no scenarios, what needs a payer is skipped. In production nothing is sent that\n" +
				"could leave anything behind."},
		{Name: "conformance provider", Setup: command(checkProvider),
			About: "Play the service against a provider's integration, and say what it gets wrong",
			More: "Serves the service with a store in memory and the providers of the demonstration, whose keys it prints; they are the same\n" +
				"in every run. Have the integration call it and enrol a student for each situation: answers are lost, late or refused, events\n" +
				"come twice, late, out of order or with a wrong signature, setups are late or fail, and keys and secrets change. The payer is\n" +
				"played too. Prints each fault with the sentence of the documentation that it breaks. Ends once each situation has had its\n" +
				"checkout, and exits 0 if the integration got nothing wrong. Ended before, it says what is missing, and exits 1."},
		{Name: "version", Setup: command(version),
			About: "Print the version, the commit and the version of Go"},
	}
}
