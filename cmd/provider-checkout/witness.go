package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"

	"filippo.io/torchwood"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/in/witness"
	"github.com/provider-checkout/provider-checkout/adapters/out/witnesses"
	"github.com/provider-checkout/provider-checkout/adapters/store/privatefile"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/ports"
)

// serveWitness serves a witness until ctx ends.
func serveWitness(c *call) action {
	addr := c.flags.String("addr", "127.0.0.1:8092", "`HOST:PORT` to listen on")
	keyFile := c.requiredFlag("key-file", "`FILE` with a private key of the witness's own, as \"evidence key --new --name NAME\" prints it")
	logs := c.requiredFlag("log", "public `KEYS` of the logs that it cosigns, comma-separated, former ones included")
	state := c.requiredFlag("state", "`FOLDER` for what it cosigned last, and for evidence of logs that contradict it; never an old copy")
	return func(ctx context.Context) error {
		text, err := readFile(c.Stdin, *keyFile)
		if err != nil {
			return err
		}
		named, key, err := evidence.PrivateKey(strings.TrimSpace(string(text)))
		if err != nil {
			return fmt.Errorf("%s: %w", inputName(*keyFile), err)
		}
		signer, err := torchwood.NewCosignatureSigner(named.Name(), key)
		if err != nil {
			return err
		}
		keys, err := publicKeys("--log", *logs)
		if err != nil {
			return err
		}
		log := httpserver.NewLog(c.Stderr)
		handler, err := witness.New(witness.Options{Logs: keys, Signer: signer, Folder: *state, Write: privatefile.Replace, Log: log})
		if err != nil {
			return err
		}
		ln, err := c.listen(ctx, "addr", *addr)
		if err != nil {
			return err
		}
		fmt.Fprintln(c.Stdout, signer.Verifier())
		log.LogAttrs(ctx, slog.LevelInfo, "listening", slog.String("addr", ln.Addr().String()))
		return httpserver.Serve(ctx, httpserver.Config{Listener: ln, Handler: handler, Log: log})
	}
}

// witnessFlag defines the flag that names witnesses.
func (c *call) witnessFlag() {
	c.flags.StringSliceVar(&c.witnesses, "witness", nil, "public `KEY` of a witness that must have cosigned the checkpoint; give it for each of several")
}

// checkWitnesses returns an error unless every witness that was named has cosigned a checkpoint.
func (c *call) checkWitnesses(signed []byte) error {
	for _, text := range c.witnesses {
		w, err := torchwood.NewCosignatureVerifier(text)
		switch {
		case err != nil:
			return cli.UsageError(fmt.Sprintf("--witness %q: %v", text, err))
		case !evidence.Cosigned(signed, w):
			return fmt.Errorf("the witness %s has not cosigned the checkpoint; the newest is cosigned within seconds", w.Name())
		}
		fmt.Fprintf(c.Stderr, "cosigned by %s\n", w.Name())
	}
	if others := bytes.Count(signed, []byte("\n— ")) - 1 - len(c.witnesses); others > 0 {
		fmt.Fprintf(c.Stderr, "%s of others, not checked: name each with --witness\n", counted(others, "cosignature"))
	}
	return nil
}

// keepWitnesses has the witnesses of a server cosign what is sealed.
func (s *server) keepWitnesses(store ports.Evidence, cfg *site.Config, newest func(context.Context) ([]byte, error)) {
	if s.witnessList == nil {
		return
	}
	all := witnesses.Witnesses{List: s.witnessList, Store: store, Keys: cfg.Service.Evidence, Newest: newest, Log: cfg.Log}
	cfg.Service.Tasks = append(cfg.Service.Tasks, service.Task{Kind: checkout.JobCosign, Run: all.Run})
	all.EachSeen(func(name string, seen func() float64) {
		cfg.Metrics.Gauge("evidence_witnessed_timestamp_seconds", "When the newest checkpoint was last seen with the cosignature of a witness; 0 before.",
			prometheus.Labels{"witness": name}, seen)
	})
}
