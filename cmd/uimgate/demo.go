package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/demo"
)

func demoCommand() *cobra.Command {
	var once, doors bool
	c := &cobra.Command{
		Use: "demo", Short: "Watch an agent discover, agree and execute, with a real gateway and an example shop", Args: cli.Args(cobra.NoArgs),
		Long: `Demo starts the example shop, and a gateway in front of it, on free ports. It then shows each step of an
agent: discover the shop, read the policy, agree, execute, and place the same order through MCP and A2A.
It also shows an assistant with a budget, and a person who agrees without a key, permits an assistant to
spend money and confirms a call. It then shows the ledger, an invalid call, a limit, renewal and
revocation. It prints each exchange, and then keeps running until you interrupt it, so that you can try it
yourself. It removes its files when it exits.

With --doors, demo shows agents of three other networks instead: uAgents, the AEA framework and MRP.
Each agent agrees with its own key, executes intents and reaches a limit, and its PAT is revoked.`,
		Example: `  uimgate demo
  uimgate demo --doors
  uimgate demo --once   # exit after the last step; the exit code is 0 if every step succeeded`,
		RunE: func(c *cobra.Command, _ []string) error {
			return demo.Run(c.Context(), demo.Options{
				Out: c.OutOrStdout(), Once: once, Doors: doors, Program: cli.Program(os.Args[0]), Version: cli.ReadVersion().Version, Now: time.Now,
			})
		},
	}
	c.Flags().BoolVar(&once, "once", false, "exit after the last step")
	c.Flags().BoolVar(&doors, "doors", false, "show agents of other networks: uAgents, AEA and MRP")
	return c
}
