// Command release makes the archive of a binary of provider-checkout, and beside it its bill of materials in CycloneDX
// JSON. The archive holds the program, the bill, the licences and notices of all that is linked into it, the completions of
// the shells, the manual pages, and what is in the folder packaging for an operator.
//
//	go run ./cmd/provider-checkout/internal/release BINARY NATIVE SOURCE DIR
//
// NATIVE is the same program for the system that this runs on, and SOURCE the folder of the module. It refuses a module whose
// licence is not in licences.txt. Its output depends on these alone, so that the same commit always gives the same bytes.
package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: release BINARY NATIVE SOURCE DIR")
		os.Exit(2)
	}
	if err := write(ctx, os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// write puts the archive of a binary and its bill of materials into a folder.
func write(ctx context.Context, binary, native, source, dir string) error {
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
	at, err := time.Parse(time.RFC3339, setting(info, "vcs.time"))
	if err != nil {
		return err
	}
	static, err := fromSource(source)
	if err != nil {
		return err
	}
	printed, err := fromProgram(ctx, native)
	if err != nil {
		return err
	}
	program := filepath.Base(binary)
	entries := slices.Concat(static, printed, []entry{{program, 0o755, content}, {program + ".cdx.json", 0o644, bill},
		{"THIRD_PARTY.txt", 0o644, thirdParty(append(modules, fonts))}})
	name := strings.Join([]string{program, info.Main.Version, setting(info, "GOOS"), setting(info, "GOARCH")}, "_")
	var archive bytes.Buffer
	if err := pack(&archive, name, entries, at); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, name+".tar.gz"), archive.Bytes(), 0o644),
		os.WriteFile(filepath.Join(dir, name+".cdx.json"), bill, 0o644))
}
