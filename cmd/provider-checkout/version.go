package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version prints the version, the commit and the Go version of the build.
func version(_ context.Context, c *call) error {
	_, err := fmt.Fprintln(c.Stdout, buildLine())
	return err
}

// buildLine names the program with the version, the commit and the Go version of its build.
func buildLine() string {
	release, commit := "unknown", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		release = info.Main.Version
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				commit += " (modified)"
			}
		}
	}
	return fmt.Sprintf("%s %s, commit %s, %s", program, release, commit, runtime.Version())
}
