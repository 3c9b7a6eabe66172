package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completionCommand returns the command that prints what a shell reads to complete command lines of the program.
func completionCommand(root *cobra.Command) Command {
	return Command{Name: "completion", Args: []string{"bash|zsh|fish|powershell"}, About: "Print what a shell needs to complete commands and flags",
		More: "To have it in every new shell, in bash with its package bash-completion:\n\n" +
			"  bash         " + root.Name() + " completion bash > /etc/bash_completion.d/" + root.Name() + "\n" +
			"  zsh          " + root.Name() + " completion zsh > \"${fpath[1]}/_" + root.Name() + "\"\n" +
			"  fish         " + root.Name() + " completion fish > ~/.config/fish/completions/" + root.Name() + ".fish\n" +
			"  powershell   " + root.Name() + " completion powershell >> $PROFILE",
		Setup: func(*Flags) Action {
			return func(_ context.Context, c *Call) error {
				switch c.Args[0] {
				case "bash":
					return root.GenBashCompletionV2(c.Stdout, true)
				case "zsh":
					return root.GenZshCompletion(c.Stdout)
				case "fish":
					return root.GenFishCompletion(c.Stdout, true)
				case "powershell":
					return root.GenPowerShellCompletionWithDesc(c.Stdout)
				}
				return UsageError("the shell must be bash, zsh, fish or powershell")
			}
		}}
}

// completeValues says how a shell completes the values of flags, which follows from their names: "sandbox|production" is
// one of two words, a FILE is a file and a FOLDER a folder; of any other value nothing is known.
func (fs *Flags) completeValues(cmd *cobra.Command) error {
	var fault error
	fs.VisitAll(func(f *pflag.Flag) {
		name, _ := pflag.UnquoteUsage(f)
		if name != "" && fault == nil {
			fault = cmd.RegisterFlagCompletionFunc(f.Name, completeValue(name))
		}
	})
	return fault
}

// completeArgs completes arguments by their names, as completeValues does.
func completeArgs(names []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) >= len(names) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeValue(strings.Trim(names[len(args)], "[]"))(cmd, args, typed)
	}
}

func completeValue(name string) cobra.CompletionFunc {
	switch name {
	case "FILE":
		return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		}
	case "FOLDER":
		return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
	}
	var words []string
	if strings.Contains(name, "|") {
		words = strings.Split(name, "|")
	}
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}
