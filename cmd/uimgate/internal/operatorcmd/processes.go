package operatorcmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/processes"
)

var processColumns = cli.Fields[processes.Process]("process running version configuration started_at reported_at")

// Processes returns the command uimgate processes.
func Processes() *cobra.Command {
	o := &operator{}
	c := &cobra.Command{
		Use: "processes", Short: "List the processes of a running gateway", Args: cli.Args(cobra.NoArgs),
		Long: `Processes lists the processes that share the database of the gateway. A process reports every ten seconds; one that has
not reported for thirty seconds does not count as running. Compare the column CONFIGURATION after a reload: processes
with another value use another configuration.`,
		Example: "  uimgate processes -o json",
		RunE: func(c *cobra.Command, _ []string) error {
			list, err := call(c, o, operation.Processes, operation.None{})
			if err != nil {
				return err
			}
			if list.Unreported > 0 && o.format == "table" {
				fmt.Fprintf(c.ErrOrStderr(), "Further processes that have the database open and do not report, for example of an earlier release: %d\n",
					list.Unreported)
			}
			return cli.Print(c, o.format, list, list.Items, processColumns, nil)
		},
	}
	o.flags(c)
	return c
}
