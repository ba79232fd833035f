package operatorcmd

import (
	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/catalogue"
	"github.com/uimgate/uimgate/gateway/admin/operation"
)

var catalogueColumns = cli.Fields[catalogue.CatalogueItem]("intent terms safe state why* calls refused failed name* description*")

// Intents returns the command uimgate intents.
func Intents() *cobra.Command {
	o := &operator{}
	var q catalogue.CatalogueQuery
	c := listCommand(o, &cobra.Command{
		Use: "intents", Short: "List the intents of a service with their terms and their use",
		Long: `Intents lists the intents that a running gateway serves. It shows, in words, their price and limits for agents that
the policy does not name. It also shows their state: offered, closed (the policy permits them to no agent), stopped, or
retired. It counts the calls of the last 24 hours in the process that responds: all, those that the gateway refused, and
those that failed at the service.`,
		Example: "  uimgate intents\n  uimgate intents --search order -o csv",
	}, catalogueColumns, operation.Catalogue, &q)
	c.Flags().StringVar(&q.Search, "search", "", "only intents with this text in their uid or name")
	o.flags(c)
	return c
}
