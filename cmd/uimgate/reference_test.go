package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "rewrite docs/reference/cli.md")

// TestCommandReferenceIsCurrent compares docs/reference/cli.md, which make generate writes, with the commands.
func TestCommandReferenceIsCurrent(t *testing.T) {
	t.Parallel()
	const page = "../../docs/reference/cli.md"
	var b strings.Builder
	b.WriteString("# Command line\n\nFor everyone: every command, as its `--help` prints it. Exit codes: 0 success, 1 failure, 2 wrong command line.\n")
	describe(&b, rootCommand())
	want := b.String()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s differs from the help of the commands: run make generate (-want +got):\n%s", page, diff)
	}
}

// describe writes the help of a command and its subcommands.
func describe(b *strings.Builder, c *cobra.Command) {
	if c.Runnable() || c.HasSubCommands() {
		b.WriteString("\n## " + c.CommandPath() + "\n\n```\n")
		if text := strings.TrimSpace(c.Long); text != "" {
			b.WriteString(text + "\n\n")
		} else {
			b.WriteString(c.Short + "\n\n")
		}
		b.WriteString(strings.TrimSpace(c.UsageString()) + "\n```\n")
	}
	for _, sub := range c.Commands() {
		if sub.Name() != "help" && sub.Name() != "completion" {
			describe(b, sub)
		}
	}
}
