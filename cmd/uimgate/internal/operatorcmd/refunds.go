package operatorcmd

import (
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/internal/money"
)

var refundColumns = cli.Fields(`number at agent_id execution_id intent* amount charge* currency* charged_at* reason name* reference*`,
	cli.ForPeople("amount", func(r billing.Refund) string { return cli.HumanAmount(r.Amount, r.Currency) }),
)

func (o *operator) usageRefund() *cobra.Command {
	var r billing.RefundRequest
	c := &cobra.Command{
		Use: "refund EXECUTION", Short: "Return a captured charge, or a part of it, to the credit of its agent", Args: cli.Args(cobra.ExactArgs(1)),
		Long: `Refund returns the captured charge of a call to the credit of its agent: all that is left of it or, with --amount, a
part; never more than was charged. The refund is a top-up in the ledger, which the agent sees in its receipts, and has a
credit note with the next number. To pay the money back outside the gateway, take it from the credit afterwards with
uimgate usage top-up --reverse.

A refund is made only once under its --name: repeat the command if the gateway did not respond. Without --amount and
--name, the refund of all that is left has the empty name, so a repeated command refunds nothing more.`,
		Example: `  uimgate usage refund 01934f6e-7f6c-7d2a-9b1e-0123456789ab --reason "wrong result"
  uimgate usage refund 01934f6e-7f6c-7d2a-9b1e-0123456789ab --amount "0.10 EUR" --name ticket-7 --reason "late"`,
		RunE: func(c *cobra.Command, args []string) error {
			r.Record = o.record(args[0])
			if r.Reason == "" {
				return cli.Usage(errors.New("--reason is required: the credit note shows it"))
			}
			if r.Amount != "" {
				if _, err := money.Parse(r.Amount); err != nil {
					return cli.Usage(err)
				}
				if r.Name == "" {
					r.Name = "uimgate-" + rand.Text()
				}
			}
			made, err := callOnce(c, o, operation.Refund, r, "refund", "--name", r.Name)
			if err != nil {
				return err
			}
			if made.Repeated {
				fmt.Fprintln(c.ErrOrStderr(), "This refund had already been made; nothing was changed now.")
			}
			return cli.PrintOne(c, o.format, made, refundColumns)
		},
	}
	c.Flags().StringVar(&r.Amount, "amount", "", "the part to refund, such as \"0.10 EUR\" (default: all that is left)")
	c.Flags().StringVar(
		&r.Name,
		"name",
		"",
		"your name for this refund, up to 128 bytes: the gateway makes only one refund of a call under each name",
	)
	c.Flags().StringVar(&r.Reason, "reason", "", "why, for the credit note; required")
	return c
}

func (o *operator) usageRefunds() *cobra.Command {
	var q billing.RefundQuery
	c := listCommand(o, &cobra.Command{
		Use: "refunds", Short: "List refunds, newest first",
		Example: "  uimgate usage refunds --agent agent-1 -o csv",
	}, refundColumns, operation.Refunds, &q)
	agentFlag(c, &q.AgentID)
	c.Flags().StringVar(&q.ExecutionID, "execution", "", "only refunds of this call")
	return c
}

var revenueColumns = cli.Fields[billing.Revenue]("name currency calls captured refunded net")

func (o *operator) usageRevenue() *cobra.Command {
	var q billing.RevenueQuery
	var from, to string
	c := &cobra.Command{
		Use: "revenue", Short: "Add up charges and refunds, by intent, agent or month", Args: cli.Args(cobra.NoArgs),
		Long: `Revenue adds up the captured charges and the refunds of a period, by intent, agent or calendar month (UTC), and by
currency. A charge counts when it is captured, and a refund when it is made. Months reach as far back as the ledger is
kept.`,
		Example: "  uimgate usage revenue --by intent --from 2026-11 --to 2026-12\n  uimgate usage revenue --by agent --all -o csv",
		RunE: func(c *cobra.Command, _ []string) error {
			var err error
			if q.From, q.To, err = period(from, to, ""); err != nil {
				return cli.Usage(err)
			}
			return printQuery(c, o, revenueColumns, operation.Revenue, q)
		},
	}
	c.Flags().StringVar(&q.By, "by", "month", "intent, agent or month")
	c.Flags().StringVar(&from, "from", "", "beginning of the period (UTC); default: as far back as the ledger is kept")
	c.Flags().StringVar(&to, "to", "", "end of the period (UTC), which is not part of it; default: now")
	return o.paging(c)
}
