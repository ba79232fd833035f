package operatorcmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/internal/daemon"
)

// movedMeans explains to the operator what remains to do after the state was moved.
const movedMeans = `The state is in PostgreSQL now, and the file is kept as %s.
Agreements, PATs, limits, accounts and the log continue. Start the gateway with the same data directory, because it has the
signing keys. A signature that was used less than five minutes before the gateway stopped could be used a second time: if
that matters, wait five minutes before you start the gateway.
`

// MoveStore returns the command uimgate move-store.
func MoveStore() *cobra.Command {
	k := &keeper{}
	return k.stateFlags(&cobra.Command{
		Use: "move-store", Short: "Move the state of a gateway from SQLite into PostgreSQL", Args: cli.Args(cobra.NoArgs),
		Long: `Move-store copies the state from state.db in the data directory into the PostgreSQL database that the
configuration names under store, checks the copy as verify-ledger does, and renames state.db. The database must not have
agents yet. The gateway must be stopped. If move-store fails, state.db keeps the state, and you can run it again.

All state moves: agents, agreements, PATs, limits, accounts, the ledger and its log, invoices, certificates and the data of
a message relay. The keys, the audit stream and the files of a relay stay in the data directory.`,
		Example: "  uimgate move-store -c /etc/uimgate/uimgate.yaml --data /var/lib/uimgate",
		RunE: func(c *cobra.Command, _ []string) error {
			state, err := k.open(c, ofState)
			if err != nil {
				return err
			}
			moved, err := state.MoveStore(c.Context())
			if errors.Is(err, daemon.ErrEmbedded) {
				return errors.New("the configuration does not name a PostgreSQL database: write its URL under store, " +
					"such as store: postgres://uimgate@db.example/uimgate")
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(c.ErrOrStderr(), movedMeans, cli.Sanitize(moved.SetAside))
			return k.print(c, moved, nil)
		},
	})
}
