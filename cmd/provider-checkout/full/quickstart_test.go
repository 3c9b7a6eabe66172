package full_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

var codeBlock = regexp.MustCompile("(?s)```([a-z]+)\n(.*?)\n```")

// The lines with which the guide for integrators begins, and the quickstart that the program then shows, are pasted into one shell.
// The steps print the answers that stand under them, up to an agreement.
func TestQuickstartEndsInAnAgreement(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/integrating.md")
	if err != nil {
		t.Fatal(err)
	}
	build, start, _ := strings.Cut(codeBlock.FindStringSubmatch(string(guide))[2], "\n")
	if build != "go build -o provider-checkout ./cmd/provider-checkout" {
		t.Fatalf("the guide begins with %q", build)
	}
	shell := newShell(t)
	shell("ln -s " + string(proc.Build(t)) + " provider-checkout")
	reference := strings.TrimSpace(shell(start))
	answer, err := http.Get(reference + ".md")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "## Quickstart")
	text, _, _ = strings.Cut(text, "## Overview")
	steps := codeBlock.FindAllStringSubmatch(text, -1)
	if len(steps) != 10 {
		t.Fatalf("%d blocks are shown, want five steps and their answers", len(steps))
	}
	demo, err := os.ReadFile("../demo.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, provider := range []string{"KOWHAI", "RIMU"} {
		if provider != "KOWHAI" { // as an operator adds it, with a course of its own
			file := proc.TempFile(t, strings.NewReplacer("KOWHAI", provider, "NZDIP-BUS", "RIMU-BUS", "acc-kowhai", "acc-rimu").Replace(string(demo)))
			shell(`STORE=$(sed -n 's/.*provider-checkout export --store //p' demo.log)
				./provider-checkout apply -f ` + file + ` --store "$STORE" >apply.log 2>&1
				PROVIDER=` + provider + ` COURSE=RIMU-BUS KEY=$(./provider-checkout keys issue --provider ` + provider + ` --store "$STORE")`)
		}
		for i := 0; i < len(steps); i += 2 {
			printed := shell(steps[i][2])
			if got, want := withoutIDs(printed), strings.ReplaceAll(withoutIDs(steps[i+1][2]), "KOWHAI", provider); got != want {
				t.Errorf("the step\n%s\nprints\n%s\nas if it were\n%s\nand the quickstart shows\n%s", steps[i][2], printed, got, want)
			}
			if i == len(steps)-2 && !regexp.MustCompile(`"number":"PPA-[^"]+","pdf_generated":true`).MatchString(printed) {
				t.Errorf("the last step ends in no agreement:\n%s", printed)
			}
		}
	}
	for _, step := range [][]string{steps[4], steps[6], steps[8]} {
		if got := shell("CREATED= CHECKOUT=; (" + step[2] + ") 2>&1"); !strings.Contains(got, "no checkout was created") {
			t.Errorf("without a checkout the step\n%s\nprints\n%s", step[2], got)
		}
	}
	byHand := regexp.MustCompile("(?s)```sh\n(send\\(\\).*?)\n```").FindStringSubmatch(string(guide))
	if byHand == nil {
		t.Fatal("the guide has no calls that are sent by hand")
	}
	shell(byHand[1])
	proven := shell(`curl -sS "$BASE/sandbox/v1/golive" -H "Authorization: Bearer $KEY"`)
	for _, step := range []string{"conflict", "early_confirm"} {
		if !strings.Contains(proven, `{"step":"`+step+`","done":true`) {
			t.Errorf("after the calls by hand the step %s is not done: %s", step, proven)
		}
	}
	shell("kill $!; wait")
}

// newShell starts a shell in a folder of its own and returns a function that has it run code and returns what that printed.
func newShell(t *testing.T) func(code string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(stop)
	cmd := exec.CommandContext(ctx, "sh")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1", "TMPDIR="+cmd.Dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // what the shell has started, too
		_ = cmd.Wait()
	})
	printed := bufio.NewReader(out)
	return func(code string) string {
		t.Helper()
		if _, err := io.WriteString(in, code+"\nprintf '\\036'\n"); err != nil {
			t.Fatal(err)
		}
		text, err := printed.ReadString('\036')
		if err != nil {
			t.Fatalf("%v after %q of\n%s", err, text, code)
		}
		return strings.TrimSuffix(text, "\036")
	}
}

var (
	setupToken = regexp.MustCompile(`\?token=[A-Za-z0-9._-]+`)
	anyBase    = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`)
	anyID      = regexp.MustCompile(`^(.*_id|id|token|number|expires_at|mandate_since)$`)
)

// withoutIDs returns an answer without what is another at each run, in one form.
func withoutIDs(text string) string {
	text = anyBase.ReplaceAllString(setupToken.ReplaceAllString(text, "?token="), "http://BASE")
	tree, err := apiclient.ParseObject([]byte(text))
	if err != nil {
		return strings.TrimSpace(text)
	}
	for _, section := range tree {
		fields, _ := section.(map[string]any)
		delete(fields, "receipt") // which a server without a key for evidence leaves out
		for name, value := range fields {
			if id, ok := value.(string); ok && anyID.MatchString(name) && id != "" {
				fields[name] = "…"
			}
		}
	}
	plain, err := json.MarshalIndent(tree, "", " ")
	if err != nil {
		panic(err) // what was parsed marshals
	}
	return string(plain)
}
