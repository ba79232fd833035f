package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/demo"
)

func demoCommand() *cobra.Command {
	var once, doors bool
	c := &cobra.Command{
		Use: "demo", Short: "See an agent discover, agree and execute, against a real gateway and shop", Args: cli.Args(cobra.NoArgs),
		Long: `Demo starts the example shop and a gateway in front of it on free ports, and walks an agent through
everything: discover, policy, agree, execute, the same order through MCP and A2A, an assistant with
a budget, a person without a key, the ledger, a refused call, a limit, renew, revoke. It prints each
exchange, and then stays up for you to try until it is interrupted. It leaves nothing behind. With
--doors it shows agents of other networks instead: one of uAgents, one of the AEA framework and one
of MRP. Each agrees with its own key, executes, meets a limit and is revoked.`,
		Example: `  uimgate demo
  uimgate demo --doors
  uimgate demo --once   # ends after the walk: exit code 0 if every step did what it should`,
		RunE: func(c *cobra.Command, _ []string) error {
			return demo.Run(c.Context(), demo.Options{
				Out: c.OutOrStdout(), Once: once, Doors: doors, Program: "go run ./cmd/uimgate", Version: cli.ReadVersion().Version, Now: time.Now,
			})
		},
	}
	c.Flags().BoolVar(&once, "once", false, "end after the walk")
	c.Flags().BoolVar(&doors, "doors", false, "show agents of other networks: uAgents, AEA and MRP")
	return c
}
