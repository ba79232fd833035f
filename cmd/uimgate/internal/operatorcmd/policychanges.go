package operatorcmd

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/policies"
	"github.com/uimgate/uimgate/odrl/words"
)

var policyChangeColumns = cli.Fields("effect before after text",
	cli.TextColumn("before", func(c words.Change) string { return c.Old }),
	cli.TextColumn("after", func(c words.Change) string { return c.New }),
	cli.TextColumn("text", func(c words.Change) string { return strings.TrimSpace(c.About + " " + c.Text) }),
)

// PolicyChanges returns the command uimgate policy changes.
func PolicyChanges() *cobra.Command {
	o := &operator{}
	c := &cobra.Command{
		Use: "changes FROM TO", Short: "Show what changed for agents between two policies that the gateway has offered",
		Long: `Changes asks a running gateway what changed for agents from one policy to another, in plain words. FROM and TO are
digests of policies: uimgate reload list -o json has those before and after each reload. To compare two files, use
uimgate policy diff.`,
		Example: "  uimgate policy changes sha-256:qFvc… sha-256:7aDs…",
		Args:    cli.Args(cobra.ExactArgs(2)),
		RunE: func(c *cobra.Command, args []string) error {
			found, err := call(c, o, operation.PolicyChanges, policies.PolicyPair{Service: o.service, From: args[0], To: args[1]})
			if err != nil {
				return err
			}
			return cli.Print(c, o.format, found, found.Changes, policyChangeColumns, func(out io.Writer) error {
				if len(found.Changes) == 0 {
					_, err := fmt.Fprintln(out, "The two policies mean the same.")
					return err
				}
				return cli.PrintTable(out, found.Changes, policyChangeColumns)
			})
		},
	}
	o.flags(c)
	return c
}
