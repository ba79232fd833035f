package operatorcmd

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/store"
)

var paymentColumns = cli.Fields("reference begun_at agent_id rail kind amount currency* state reason transaction* changed_at*",
	cli.ForPeople("amount", func(p billing.Payment) string { return cli.HumanAmount(p.Amount, p.Currency) }),
)

func (o *operator) usagePayments() *cobra.Command {
	var q billing.PaymentQuery
	c := listCommand(o, &cobra.Command{
		Use: "payments", Short: "List payments by card and x402, newest first",
		Long: `Payments lists the payments that reached the gateway by its webhook or by x402, with their states. The state is
credited (in the ledger), failed, settling, unknown or unclaimed. Unknown means that the gateway does not know whether
the payment was settled. Unclaimed means that the payment names no agent of the service, or is a refund of more than was
paid in. Unknown and unclaimed payments wait for you: uimgate usage payments resolve.`,
		Example: "  uimgate usage payments --state unclaimed\n  uimgate usage payments resolve pi_3Q credited --agent agent-1",
	}, paymentColumns, operation.Payments, &q)
	c.Flags().StringVar((*string)(&q.State), "state", "", "only payments in this state: credited, failed, settling, unknown or unclaimed")
	agentFlag(c, &q.AgentID)
	c.AddCommand(o.paymentsResolve())
	return c
}

func (o *operator) paymentsResolve() *cobra.Command {
	var r billing.PaymentResolution
	c := &cobra.Command{
		Use: "resolve REFERENCE credited|failed", Short: "Decide about a payment that waits", Args: cli.Args(cobra.ExactArgs(2)),
		Long: `Resolve enters a payment in the ledger (credited), or ends it without an entry (failed). First find out from your
payment provider or from the facilitator whether the money has arrived. --agent names the agent of an unclaimed payment.`,
		Example: "  uimgate usage payments resolve pi_3Q credited --agent agent-1",
		RunE: func(c *cobra.Command, args []string) error {
			r.Service, r.Reference, r.State = o.service, args[0], store.PaymentState(args[1])
			if !r.State.Ended() {
				return cli.Usage(errors.New("the state must be credited or failed"))
			}
			return printAnswer(c, o, paymentColumns, operation.ResolvePayment, r)
		},
	}
	c.Flags().StringVar((*string)(&r.AgentID), "agent", "", "the agent of an unclaimed payment")
	return c
}
