// Command release writes what goes out beside a binary of provider-checkout: the bill of
// materials, in CycloneDX JSON, and the licences and notices of all that is linked into it.
//
//	go run ./cmd/provider-checkout/internal/release BINARY DIR
//
// It refuses a module whose licence is not in licences.txt. Its output depends on the binary
// and on the modules' own files alone, so that the same commit always gives the same bytes.
package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: release BINARY DIR")
		os.Exit(2)
	}
	if err := write(ctx, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// write puts the bill of materials and the third parties' texts of a binary into a folder.
func write(ctx context.Context, binary, dir string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	if setting(info, "vcs.revision") == "" || setting(info, "vcs.modified") != "false" {
		return fmt.Errorf("%s does not name the commit that it was built from", binary)
	}
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	packages, err := list(ctx, info)
	if err != nil {
		return err
	}
	known, err := parseTable(licences)
	if err != nil {
		return err
	}
	modules, err := linked(info, packages, known)
	if err != nil {
		return err
	}
	bill, err := billOfMaterials(info, content, modules, importsOf(packages))
	if err != nil {
		return err
	}
	fonts, err := embeddedFonts(packages, known)
	if err != nil {
		return err
	}
	name := filepath.Base(binary)
	if err := os.WriteFile(filepath.Join(dir, name+".cdx.json"), bill, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "THIRD_PARTY.txt"), thirdParty(append(modules, fonts)), 0o644)
}
