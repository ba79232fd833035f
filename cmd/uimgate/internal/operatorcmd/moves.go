package operatorcmd

import (
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
)

var moveColumns = cli.Fields(`from to amount currency* at reference reason from_reference* to_reference* from_receipt* to_receipt*`,
	cli.ForPeople("amount", func(m billing.MovedCredit) string { return cli.HumanAmount(m.Amount, m.Currency) }),
)

func (o *operator) usageMove() *cobra.Command {
	var m billing.CreditMove
	c := &cobra.Command{
		Use: "move FROM TO AMOUNT CURRENCY", Short: "Move unused credit to another agent", Args: cli.Args(cobra.RangeArgs(3, 4)),
		Long: `Move takes credit that an agent has not used, and adds it to the credit of another agent of the service, in one
transaction. "all EUR" moves all credit in a currency. Use it when the consent of a person has ended and the person
consents again: the new consent is another agent, and nothing can spend the credit of the old one. An amount that is
held for calls is not moved.

A move is made only once under its --reference: repeat the command if the gateway did not respond.`,
		Example: `  uimgate usage move mcp.0123456789abcdef mcp.fedcba9876543210 all EUR --reason "consented again"
  uimgate usage move agent-1 agent-2 3.75 EUR --reference ticket-9 --reason "paid in for the wrong agent"`,
		RunE: func(c *cobra.Command, args []string) error {
			amount := strings.Join(args[2:], " ")
			if currency, all := strings.CutPrefix(amount, "all "); all {
				amount = currency
			} else if _, err := money.Parse(amount); err != nil {
				return cli.Usage(err)
			}
			if m.Reason == "" {
				return cli.Usage(errors.New("--reason is required: it is stored with the move"))
			}
			m.Service, m.From, m.To, m.Amount = o.service, pat.AgentID(args[0]), pat.AgentID(args[1]), amount
			if m.Reference == "" {
				m.Reference = "uimgate-" + rand.Text()
			}
			made, err := callOnce(c, o, operation.MoveCredit, m, "move", "--reference", m.Reference)
			if err != nil {
				return err
			}
			if made.Repeated {
				fmt.Fprintln(c.ErrOrStderr(), "This move had already been made; nothing was changed now.")
			}
			return cli.PrintOne(c, o.format, made, moveColumns)
		},
	}
	c.Flags().StringVar(
		&m.Reference,
		"reference",
		"",
		"your name for this move, up to 128 bytes: a move with the same reference is made only once",
	)
	c.Flags().StringVar(&m.Reason, "reason", "", "why the credit is moved; required")
	return c
}
