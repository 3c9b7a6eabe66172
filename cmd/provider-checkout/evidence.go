package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/timestamp"
	"github.com/provider-checkout/provider-checkout/adapters/store/privatefile"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/evidencelog"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/ports"
)

const evidenceVariable = "PROVIDER_CHECKOUT_EVIDENCE_KEY"

// evidenceKeys returns the evidence keys that were given, or else the own keys of a sandbox's SQLite store.
func (c *call) evidenceKeys() (evidence.Keys, error) {
	keys, err := c.givenEvidenceKeys()
	if err != nil || keys.CanVerify() {
		return keys, err
	}
	if path, ok := c.ownEvidenceKey(); ok {
		return evidencelog.ReadKeys(path)
	}
	return evidence.Keys{}, nil
}

// givenEvidenceKeys returns the evidence keys of the settings. They are zero if no key is given.
func (c *call) givenEvidenceKeys() (evidence.Keys, error) {
	return parsed(c, evidenceVariable, func(l secretList) (evidence.Keys, error) { return evidencelog.ParseKeys(l.text) })
}

// ownEvidenceKey returns the file of a SQLite store's own key.
func (c *call) ownEvidenceKey() (path string, ok bool) {
	path, ok = strings.CutPrefix(c.store, "sqlite:")
	return path + ".evidence", ok
}

// signingKeys returns the keys with which a server seals the evidence log of a store. A sandbox on SQLite gets its own.
func (s *server) signingKeys(ctx context.Context, store ports.Evidence) (evidence.Keys, error) {
	keys, err := s.givenEvidenceKeys()
	path, ok := s.ownEvidenceKey()
	if err != nil || keys.CanVerify() || !ok || s.environment == catalogue.Production {
		return keys, err
	}
	head, err := store.EvidenceHead(ctx)
	if err != nil {
		return evidence.Keys{}, err
	}
	return evidencelog.OwnKeys(path, head.Checkpoint)
}

// knownCheckpoint returns the contents of the file of --checkpoint-file, or nil if the file does not exist yet.
func (s *server) knownCheckpoint(keys evidence.Keys) ([]byte, error) {
	if s.checkpointFile == "" {
		return nil, nil
	}
	known, err := os.ReadFile(s.checkpointFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", s.name("checkpoint-file"), err)
	case !keys.Signed(known):
		return nil, fmt.Errorf("%s: %s is no checkpoint that the evidence key has signed; move it away, or give the key that has", s.name("checkpoint-file"), s.checkpointFile)
	}
	return known, nil
}

// keepEvidence configures how a site seals the evidence log of its store, and keeps the checkpoints.
func (s *server) keepEvidence(ctx context.Context, store ports.Evidence, c *site.Config) (err error) {
	if c.Service.Evidence, err = s.signingKeys(ctx, store); err != nil {
		return err
	}
	if !c.Service.Evidence.CanSign() {
		c.Log.Warn("no evidence is sealed by this server", "reason", "it has no private evidence key, or not as the first of the list")
	}
	if c.Service.KnownCheckpoint, err = s.knownCheckpoint(c.Service.Evidence); err != nil || s.checkpointFile == "" {
		return err
	}
	c.Service.Checkpoint = func(_ context.Context, signed []byte) error { return privatefile.Replace(s.checkpointFile, signed) }
	return nil
}

// stamper returns the task that has a checkpoint stamped each day, which is yet to be told the newest, or nil where that is not asked for.
func (s *server) stamper() (*timestamp.Daily, error) {
	if (s.timestampURL == "") != (s.timestamps == "") {
		return nil, cli.UsageError(s.name("timestamp-url") + " and " + s.name("timestamps") + " belong together")
	}
	if s.timestampURL == "" {
		return nil, nil
	}
	authority, err := timestamp.New(s.timestampURL, rand.Reader)
	if err != nil {
		return nil, cli.UsageError(s.name("timestamp-url") + ": " + err.Error())
	}
	return &timestamp.Daily{Authority: authority, Folder: s.timestamps, Write: privatefile.Replace, Now: time.Now}, nil
}

// onLog returns the work of a command on the open store and its evidence log.
func (c *call) onLog(work func(context.Context, records, evidencelog.Log) error) action {
	return func(ctx context.Context) error {
		keys, err := c.evidenceKeys()
		if err != nil {
			return err
		}
		outside, err := c.outsideCheckpoint(keys)
		if err != nil {
			return err
		}
		receipt, err := c.givenReceipt(keys)
		if err != nil {
			return err
		}
		log := evidencelog.Log{Keys: keys, Outside: outside, Receipt: receipt, Now: time.Now()}
		return c.onRecords(func(ctx context.Context, db records) error {
			if c.readOnly {
				fmt.Fprintln(c.Stderr, "entries that are not sealed are not checked: that needs the operator's secret")
				log.Store, log.Attests = db, func(evidence.Entry) bool { return true }
				return work(ctx, db, log)
			}
			keyring, err := checkout.NewKeyring(db.Secrets()...)
			if err != nil {
				return err
			}
			log.Store, log.Attests = db, keyring.Attests
			return work(ctx, db, log)
		})(ctx)
	}
}

// outsideCheckpoint returns the checkpoint in the file of --checkpoint, which one of the keys must have signed, or nil without
// such a file.
func (c *call) outsideCheckpoint(keys evidence.Keys) (*evidence.Checkpoint, error) {
	if c.checkpoint == "" {
		return nil, nil
	}
	if !keys.CanVerify() {
		return nil, errNoEvidenceKey
	}
	signed, err := readFile(c.Stdin, c.checkpoint)
	if err != nil {
		return nil, fmt.Errorf("--checkpoint: %w", err)
	}
	checkpoint, err := keys.Open(signed)
	switch signer := evidence.Signer(signed); {
	case err == nil:
		return &checkpoint, c.checkWitnesses(signed)
	case signer == "":
		return nil, fmt.Errorf("--checkpoint: %s is no checkpoint", inputName(c.checkpoint))
	default:
		return nil, fmt.Errorf("--checkpoint: %s says that the key %s signed it, which is not given or did not", inputName(c.checkpoint), signer)
	}
}

// givenReceipt returns the receipt in the file of --receipt, which one of the keys must have signed, or nil without such a file. Its
// words may stand on several lines, as a mail program breaks them.
func (c *call) givenReceipt(keys evidence.Keys) (*evidence.Receipt, error) {
	if c.receipt == "" {
		return nil, nil
	}
	if !keys.CanVerify() {
		return nil, errNoEvidenceKey
	}
	text, err := readFile(c.Stdin, c.receipt)
	if err != nil {
		return nil, fmt.Errorf("--receipt: %w", err)
	}
	r, err := keys.OpenReceipt(strings.Join(strings.Fields(string(text)), " "))
	if err != nil {
		return nil, fmt.Errorf("--receipt: %s: %w", inputName(c.receipt), err)
	}
	return &r, nil
}

// errNoEvidenceKey: a command needs the evidence key.
var errNoEvidenceKey = errors.New("there is no evidence key: give it, or its public half, in " + evidenceVariable + " or the file that " + evidenceVariable + "_FILE names")

// notOnRecord returns the error of a command that could not read an agreement, which the evidence log may have.
func notOnRecord(ctx context.Context, log evidencelog.Log, number string, err error) error {
	if errors.Is(err, ports.ErrNotFound) {
		if e, _, missing := log.Store.EvidenceEntry(ctx, evidence.AgreementID(number)); missing == nil {
			return fmt.Errorf("agreement %s is not on record, and the evidence log has it, recorded %s: it was removed", number, formatTime(e.At))
		}
	}
	return readingAgreement(number, err)
}

// printEvidenceKey prints the public half of the evidence key, or a new private key.
func printEvidenceKey(c *call) action {
	c.storeFlag()
	newKey := c.flags.Bool("new", false, "make a new private key and print it, once")
	name := c.flags.String("name", evidencelog.KeyName, "`NAME` of the log in a new key, by which witnesses tell it from others: that of the former key, where there is one")
	return func(context.Context) error {
		if *newKey {
			private, err := evidencelog.NewKey(*name)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.Stdout, private)
			return err
		}
		keys, err := c.evidenceKeys()
		switch {
		case err != nil:
			return err
		case !keys.CanVerify():
			return errNoEvidenceKey
		}
		_, err = fmt.Fprintln(c.Stdout, keys.Public())
		return err
	}
}

// printCheckpoint prints the newest signed checkpoint.
func printCheckpoint(c *call) action {
	c.storeFlag()
	return c.onLog(func(ctx context.Context, _ records, log evidencelog.Log) error {
		if !log.Keys.CanVerify() {
			return errNoEvidenceKey
		}
		signed, _, err := log.Newest(ctx)
		if err != nil {
			return err
		}
		_, err = c.Stdout.Write(signed)
		return err
	})
}

// proveAgreement writes the proof of an agreement to a file.
func proveAgreement(c *call) action {
	c.storeFlag()
	out := c.requiredFlag("out", "`FILE` to write; - is standard output")
	return c.onLog(func(ctx context.Context, db records, log evidencelog.Log) error {
		if !log.Keys.CanVerify() {
			return errNoEvidenceKey
		}
		if _, err := db.Agreement(ctx, c.Args[0]); err != nil {
			return notOnRecord(ctx, log, c.Args[0], err)
		}
		proof, err := log.Prove(ctx, c.Args[0])
		if err != nil {
			return err
		}
		if err := c.writeFile(*out, proof.Text()); err != nil {
			return fmt.Errorf("write the proof of %s: %w", c.Args[0], err)
		}
		_, err = fmt.Fprintf(c.Stderr, "wrote %s; anybody can check it: provider-checkout verify-proof %s --key '%s'\n", outputName(*out), *out, log.Keys.Public())
		return err
	})
}

// verifyProof checks a proof with nothing but the public key.
func verifyProof(c *call) action {
	key := c.requiredFlag("key", "public evidence `KEY`, as \"evidence key\" prints it")
	pdf := c.flags.String("pdf", "", "`FILE` that must be the agreement's PDF; - is standard input")
	c.witnessFlag()
	c.receiptFlag()
	c.check = func(args []string) error {
		if inputs := strings.Join([]string{args[0], *pdf, c.receipt}, " "); strings.Count(" "+inputs+" ", " "+standard+" ") > 1 {
			return cli.UsageError("only one of FILE, --pdf and --receipt can be standard input")
		}
		return nil
	}
	return func(context.Context) error {
		keys, err := publicKeys("--key", *key)
		if err != nil {
			return err
		}
		text, err := readFile(c.Stdin, c.Args[0])
		if err != nil {
			return err
		}
		proof, err := evidence.ParseProof(text)
		if err != nil {
			return fmt.Errorf("%s: %w", inputName(c.Args[0]), err)
		}
		checkpoint, err := proof.Check(keys)
		if err != nil {
			return fmt.Errorf("%s proves nothing: %w", inputName(c.Args[0]), err)
		}
		if err := c.checkWitnesses(proof.Checkpoint); err != nil {
			return err
		}
		if err := c.checkPDF(*pdf, proof); err != nil {
			return err
		}
		switch receipt, err := c.givenReceipt(keys); {
		case err != nil:
			return err
		case receipt != nil && !receipt.Of(proof.Leaf):
			return fmt.Errorf("%s is the receipt of another record, of agreement %s", inputName(c.receipt), receipt.Number)
		case receipt != nil:
			fmt.Fprintf(c.Stderr, "%s is the receipt of the record\n", inputName(c.receipt))
		}
		fmt.Fprintf(c.Stderr, "record %d of the %d under the checkpoint of %s\n", proof.Position+1, checkpoint.Size,
			checkpoint.At.Format("2006-01-02 15:04:05 UTC"))
		_, err = fmt.Fprintf(c.Stdout, "%s\n", proof.Leaf)
		return err
	}
}

// publicKeys reads the public evidence keys of a flag.
func publicKeys(flag, text string) (evidence.Keys, error) {
	keys, err := evidencelog.ParseKeys(text)
	if err == nil && keys.CanSign() {
		err = errors.New("it is the private key, which everybody could see there; give the public one, which \"evidence key\" prints")
	}
	if err != nil {
		return keys, cli.UsageError(flag + ": " + err.Error())
	}
	return keys, nil
}

// checkPDF returns an error if a file, where there is one, is not the document of the record.
func (c *call) checkPDF(file string, proof evidence.Proof) error {
	if file == "" {
		return nil
	}
	data, err := readFile(c.Stdin, file)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	if recorded := evidence.DocumentHash(proof.Leaf); recorded != hex.EncodeToString(sum[:]) {
		return fmt.Errorf("%s is not the document of the record: its SHA-256 is %x, and %s is on record", inputName(file), sum, recorded)
	}
	_, err = fmt.Fprintf(c.Stderr, "%s is the document of the record\n", inputName(file))
	return err
}
