package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// manCommand returns the command that writes the manual pages: a page of the program and a page of each command, with the
// text of its help. Package cobra/doc takes a text for Markdown, in which <file> vanishes.
func (p Program) manCommand(root *cobra.Command) Command {
	return Command{Name: "man", About: "Write the manual pages to a folder",
		More: "To read them: man -l FOLDER/" + p.Name + ".1, or put them where man looks, such as /usr/local/share/man/man1.",
		Setup: func(fs *Flags) Action {
			var folder string
			fs.StringVar(&folder, "out", "", "`FOLDER` to write to; it is made unless it is there")
			fs.Require("out")
			return func(context.Context, *Call) error {
				if err := os.MkdirAll(folder, 0o755); err != nil {
					return err
				}
				return p.writePages(root, folder)
			}
		}}
}

// writePages writes the manual pages of a command and of those below it.
func (p Program) writePages(cmd *cobra.Command, folder string) error {
	var text strings.Builder
	cmd.SetOut(&text)
	if err := help(cmd); err != nil {
		return err
	}
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	page := fmt.Sprintf(".TH \"%s\" 1 \"%s\" \"%s\"\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n.nf\n%s\n.fi\n",
		roff(strings.ToUpper(name)), p.Date, roff(p.Name), roff(name), roff(cmd.Short), roff(text.String()))
	if err := os.WriteFile(filepath.Join(folder, name+".1"), []byte(page), 0o644); err != nil {
		return err
	}
	for _, c := range cmd.Commands() {
		if err := p.writePages(c, folder); err != nil {
			return err
		}
	}
	return nil
}

// roff escapes what would not be printed as it is: a backslash, a hyphen, which would become another character, and a dot or
// quote at the beginning of a line, which would be a request.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n.", "\n\\&.", "\n'", "\n\\&'").Replace(text)
	return strings.TrimSpace(text)
}
