package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
)

// manCommand returns the command that writes the manual pages: one of the program, and one of each command. Package
// cobra/doc is not used for them: it takes a text for Markdown, in which <file> vanishes, it has the default of a flag in
// the place of its value, and it links a parser of Markdown and one of YAML.
func manCommand(p Program) Command {
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
				return p.writePages(folder)
			}
		}}
}

// writePages writes all manual pages of a program.
func (p Program) writePages(folder string) error {
	write := func(name, page string) error {
		return os.WriteFile(filepath.Join(folder, name+".1"), []byte(page), 0o644)
	}
	if err := write(p.Name, p.page()); err != nil {
		return err
	}
	for _, c := range p.Commands {
		if err := write(p.pageName(c), p.pageOf(c)); err != nil {
			return err
		}
	}
	return nil
}

func (p Program) pageName(c Command) string {
	return p.Name + "-" + strings.ReplaceAll(c.Name, " ", "-")
}

// page returns the manual page of the program.
func (p Program) page() string {
	var b strings.Builder
	p.head(&b, p.Name, p.About, p.Name+" COMMAND [flags]")
	section(&b, "Commands")
	for _, c := range p.Commands {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s.\n", roff(strings.Join(append([]string{c.Name}, c.Args...), " ")), roff(c.About))
	}
	section(&b, "Exit status")
	fmt.Fprintf(&b, "%d on success, %d on failure, %d on a usage error.\n", ExitDone, ExitFailed, ExitUsage)
	section(&b, "See also")
	for i, c := range p.Commands {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, ".BR %s (1)", roff(p.pageName(c)))
	}
	b.WriteString("\n")
	return b.String()
}

// pageOf returns the manual page of a command.
func (p Program) pageOf(c Command) string {
	fs := NewFlags()
	c.Setup(fs)
	var b strings.Builder
	p.head(&b, p.pageName(c), c.About, p.synopsis(c, fs))
	section(&b, "Description")
	paragraphs(&b, c.About+".\n\n"+c.More)
	section(&b, "Options")
	fs.BoolP(helpName, "h", false, "print the help")
	fs.VisitAll(func(f *pflag.Flag) {
		_, usage := pflag.UnquoteUsage(f)
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(spelledWhole(f)), roff(usage+p.fallback(fs, f)))
	})
	section(&b, "See also")
	fmt.Fprintf(&b, ".BR %s (1)\n", roff(p.Name))
	return b.String()
}

func (p Program) head(b *strings.Builder, name, about, synopsis string) {
	fmt.Fprintf(b, ".TH \"%s\" 1 \"%s\" \"%s\"\n.nh\n.ad l\n", // without hyphens in names, and flush left
		roff(strings.ToUpper(name)), p.Date, roff(p.Name))
	section(b, "Name")
	fmt.Fprintf(b, "%s \\- %s\n", roff(name), roff(about))
	section(b, "Synopsis")
	fmt.Fprintf(b, ".B %s\n", roff(synopsis))
}

func section(b *strings.Builder, title string) {
	fmt.Fprintf(b, ".SH \"%s\"\n", strings.ToUpper(title))
}

// paragraphs writes text whose paragraphs are separated by an empty line. Indented lines keep their layout.
func paragraphs(b *strings.Builder, text string) {
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		b.WriteString(".PP\n")
		if strings.HasPrefix(part, " ") {
			fmt.Fprintf(b, ".nf\n%s\n.fi\n", roff(part))
			continue
		}
		b.WriteString(roff(part) + "\n")
	}
}

// roff escapes what would not be printed as it is: a backslash, a hyphen, which would become another character, and a dot or
// quote at the beginning of a line, which would be a request.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
