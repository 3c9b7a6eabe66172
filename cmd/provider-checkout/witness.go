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
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/evidencelog"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/ports"
)

// serveWitness serves a witness until ctx ends.
func serveWitness(c *call) action {
	addr := c.flags.String("addr", "127.0.0.1:8092", "`HOST:PORT` to listen on")
	keyFile := c.requiredFlag("key-file", "`FILE` with the witness's private key, as \"witness key --new\" prints it")
	logs := c.requiredFlag("log", "public `KEYS` of the logs that it cosigns, comma-separated, former ones included")
	state := c.requiredFlag("state", "`FOLDER` for what it cosigned last, and for evidence of logs that contradict it; never an old copy")
	return func(ctx context.Context) error {
		signer, err := c.witnessKey(*keyFile)
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
		log.LogAttrs(ctx, slog.LevelInfo, "listening", slog.String("addr", ln.Addr().String()), slog.String("witness", signer.Verifier().String()))
		return httpserver.Serve(ctx, httpserver.Config{Listener: ln, Handler: handler, Log: log})
	}
}

// witnessKey reads the private key of a witness.
func (c *call) witnessKey(path string) (*torchwood.CosignatureSigner, error) {
	text, err := readFile(c.Stdin, path)
	if err != nil {
		return nil, err
	}
	named, key, err := evidence.PrivateKey(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", inputName(path), err)
	}
	return torchwood.NewCosignatureSigner(named.Name(), key)
}

// printWitnessKey prints the public half of a witness's key, or a new private key.
func printWitnessKey(c *call) action {
	newKey := c.flags.String("new", "", "make a private key with a `NAME`, such as witness.provider.example, and print it, once")
	file := c.flags.String("key-file", "", "`FILE` with the private key of which the public half is printed")
	return func(context.Context) error {
		text, err := "", error(nil)
		switch {
		case *newKey != "":
			text, err = evidencelog.NewKey(*newKey)
		case *file != "":
			var signer *torchwood.CosignatureSigner
			if signer, err = c.witnessKey(*file); err == nil {
				text = signer.Verifier().String()
			}
		default:
			err = cli.UsageError("give --new NAME, or --key-file FILE")
		}
		if err == nil {
			_, err = fmt.Fprintln(c.Stdout, text)
		}
		return err
	}
}

// witnessFlag defines the flag that names witnesses.
func (c *call) witnessFlag() {
	c.flags.StringSliceVar(&c.witnesses, "witness", nil, "public `KEY` of a witness that must have cosigned the checkpoint; give it for each of several")
}

// checkWitnesses returns an error unless every witness that was named has cosigned a checkpoint, and otherwise says who has, and
// how many cosignatures were not checked.
func (c *call) checkWitnesses(signed []byte) (said string, err error) {
	var names []string
	for _, text := range c.witnesses {
		witness, err := torchwood.NewCosignatureVerifier(text)
		if err != nil {
			return "", cli.UsageError(fmt.Sprintf("--witness %q: %v", text, err))
		}
		if !evidence.Cosigned(signed, witness) {
			return "", fmt.Errorf("the witness %s has not cosigned the checkpoint; the newest is cosigned within seconds", witness.Name())
		}
		names = append(names, witness.Name())
	}
	if len(names) > 0 {
		said = ", cosigned by " + strings.Join(names, ", ")
	}
	if others := bytes.Count(signed, []byte("\n— ")) - 1 - len(names); others > 0 {
		said += fmt.Sprintf(", with %s that no --witness names", counted(others, "cosignature"))
	}
	return said, nil
}

// requireWitnesses returns an error unless the witnesses that were named have cosigned the newest checkpoint on record; that of
// --checkpoint, where there is one, takes its place: outsideCheckpoint has looked at it.
func (c *call) requireWitnesses(ctx context.Context, log evidencelog.Log) error {
	if len(c.witnesses) == 0 || c.checkpoint != "" {
		return nil
	}
	signed, _, err := log.Newest(ctx)
	if err == nil {
		_, err = c.checkWitnesses(signed)
	}
	return err
}

// keepWitnesses has the witnesses of a server cosign what it seals.
func (s *server) keepWitnesses(store ports.Evidence, cfg *site.Config, newest func(context.Context) ([]byte, error)) {
	all := witnesses.Witnesses{List: s.witnessList, Store: store, Keys: cfg.Service.Evidence, Newest: newest,
		Report: func(ctx context.Context, name string, err error) {
			level := slog.LevelError
			if err == nil {
				level = slog.LevelInfo
			}
			cfg.Log.LogAttrs(ctx, level, "witness", slog.String("witness", name), slog.Any("error", err))
		}}
	all.EachSeen(func(name string, seen func() float64) {
		cfg.Metrics.Gauge("evidence_witnessed_timestamp_seconds", "When the newest checkpoint was last seen with the cosignature of a witness; 0 before.",
			prometheus.Labels{"witness": name}, seen)
	})
	if s.witnessList.Any() {
		cfg.Service.Tasks = append(cfg.Service.Tasks, service.Task{Kind: checkout.JobCosign, Run: all.Run})
	}
}
