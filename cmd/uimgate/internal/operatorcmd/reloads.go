package operatorcmd

import (
	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
)

var reloadColumns = cli.Fields("at process cause by applied problems services settings configuration*",
	cli.ListColumn("services", func(r reloads.ReloadRecord) (list []string) {
		for _, s := range r.Services {
			list = append(list, s.String())
		}
		return list
	}),
	cli.TextColumn("configuration", func(r reloads.ReloadRecord) string { return r.Hash }),
)

// reloadList returns the command uimgate reload list.
func (o *operator) reloadList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the last reloads, and what they changed", Args: cli.Args(cobra.NoArgs),
		Long: `List shows the last 50 reloads of all processes on the database, the newest first. It shows who or what caused each,
whether it was applied, and the policies, intents and keys of settings that it changed. It shows no values.
-o json has the uids of the intents. A reload that changed nothing is listed only if somebody asked for it.`,
		Example: "  uimgate reload list -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			o.all = true // the gateway returns all of them at once
			return printQuery(c, o, reloadColumns, operation.Reloads, operation.None{})
		},
	}
}
