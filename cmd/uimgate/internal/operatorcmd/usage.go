package operatorcmd

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

var accountColumns = cli.Fields[billing.Account]("agent_id currency topped_up held captured balance")

var entryColumns = cli.Fields("seq at agent_id amount currency* from* to by intent execution_id rule* reference*",
	cli.ForPeople("amount", func(e calls.Entry) string { return cli.HumanAmount(e.Amount, e.Currency) }),
	cli.ForPeople("to", humanMove),
)

// humanMove describes an entry of the ledger: a top-up, or a change of the state of a charge.
func humanMove(e calls.Entry) string {
	switch {
	case e.To == "" && strings.HasPrefix(e.Amount, "-"):
		return "top-up reversed"
	case e.To == "":
		return "top-up"
	case e.From == "":
		return string(e.To)
	default:
		return string(e.From) + " → " + string(e.To)
	}
}

var executionColumns = cli.Fields(`id begun_at agent_id intent state outcome amount currency* rule* agreement_id* jti* policy_digest*
	idempotency_key* deadline* settled_at*`,
	cli.ForPeople("amount", func(e calls.Execution) string { return cli.HumanAmount(e.Amount, e.Currency) }),
)

// answerColumns are the additional columns of the record of one call.
var answerColumns = cli.Fields("answer_status answer_reason",
	cli.TextColumn("answer_status", func(e calls.Execution) string {
		if e.AnswerStatus == 0 {
			return ""
		}
		return strconv.Itoa(e.AnswerStatus)
	}),
)

// Usage returns the command uimgate usage.
func Usage() *cobra.Command {
	o := &operator{}
	return o.group(&cobra.Command{
		Use: "usage", Short: "Show what agents used and owe: accounts, statements, invoices, ledger, payments, executions",
		Example: "  uimgate usage statements --month 2026-11\n  uimgate usage executions --state unresolved",
	}, o.usageAccounts(), o.usageLedger(), o.usageExecutions(), o.usageStatements(), o.usageInvoice(), o.usageInvoices(),
		o.usageCreditNote(), o.usageBundle(), o.usageShow(), o.usageReceipt(), o.usageResolve(), o.usageTopUp(), o.usageMove(),
		o.usagePayments(), o.usageRefund(), o.usageRefunds(), o.usageRevenue())
}

func (o *operator) usageAccounts() *cobra.Command {
	var q billing.AccountQuery
	c := listCommand(o, &cobra.Command{
		Use: "accounts", Short: "List the accounts of agents, with their top-ups, charges and balances",
		Example: "  uimgate usage accounts -o csv",
	}, accountColumns, operation.Accounts, &q)
	agentFlag(c, &q.AgentID)
	return c
}

func (o *operator) usageLedger() *cobra.Command {
	var q calls.UsageQuery
	c := listCommand(o, &cobra.Command{
		Use: "ledger", Short: "List all entries of the ledger, newest first",
		Example: "  uimgate usage ledger --agent agent-1",
	}, entryColumns, operation.Ledger, &q)
	agentFlag(c, &q.AgentID)
	stateFlag(c, &q.State)
	return c
}

func (o *operator) usageExecutions() *cobra.Command {
	var q calls.UsageQuery
	c := listCommand(o, &cobra.Command{
		Use: "executions", Short: "List calls that were charged or had an idempotency key, newest first",
		Example: "  uimgate usage executions --state unresolved",
	}, executionColumns, operation.Executions, &q)
	agentFlag(c, &q.AgentID)
	stateFlag(c, &q.State)
	return c
}

func agentFlag(c *cobra.Command, into *pat.AgentID) {
	c.Flags().StringVar((*string)(into), "agent", "", "only entries of this agent")
}

func stateFlag(c *cobra.Command, into *store.State) {
	c.Flags().StringVar((*string)(into), "state", "", "only entries that are (in the ledger: became) held, captured, released or unresolved")
}

func (o *operator) usageResolve() *cobra.Command {
	var many calls.NotSent
	var before string
	c := &cobra.Command{
		Use: "resolve EXECUTION captured|released", Short: "Settle calls of unknown outcome",
		Args: cli.Args(func(c *cobra.Command, args []string) error {
			if before != "" {
				return cobra.NoArgs(c, args)
			}
			return cobra.ExactArgs(2)(c, args)
		}),
		Long: `Resolve settles a call of unknown outcome. Find out whether the service executed the call, by the execution id that
the service received; then charge the agent (captured) or do not (released).

After a crash, there may be many calls that never reached the service. If you know, for example from the service's
log, that no call that began before a certain time reached it, --not-sent-before releases all such calls and lists
them. First look at uimgate usage executions --state unresolved: the list also has calls that the service interrupted.
If upstream.reconcile is configured, the gateway queries the service itself.`,
		Example: `  uimgate usage resolve 01934f6e-7f6c-7d2a-9b1e-0123456789ab released
  uimgate usage resolve --not-sent-before 2026-11-22T10:05:00Z`,
		RunE: func(c *cobra.Command, args []string) error {
			if before != "" {
				return o.resolveNotSent(c, before, many)
			}
			if many.AgentID != "" {
				return cli.Usage(errors.New("--agent requires --not-sent-before"))
			}
			to := store.State(args[1])
			if to != store.Captured && to != store.Released {
				return cli.Usage(errors.New("the state must be captured or released"))
			}
			return printAnswer(c, o, executionColumns, operation.Resolve, calls.Resolution{Record: o.record(args[0]), State: to})
		},
	}
	c.Flags().StringVar(&before, "not-sent-before", "",
		"release all calls of unknown outcome that began before this time, such as 2026-11-22T10:05:00Z")
	agentFlag(c, &many.AgentID)
	return c
}

// resolveNotSent releases, page by page, the calls of unknown outcome that began before a time, and prints them.
func (o *operator) resolveNotSent(c *cobra.Command, before string, n calls.NotSent) error {
	at, err := time.Parse(time.RFC3339Nano, before)
	if err != nil {
		return cli.Usage(errors.New("--not-sent-before must be a time such as 2026-11-22T10:05:00Z"))
	}
	o.all = true
	n.Before = at
	return printQuery(c, o, executionColumns, operation.ResolveNotSent, n)
}

func (o *operator) usageShow() *cobra.Command {
	return showCommand(o, &cobra.Command{
		Use: "show EXECUTION", Short: "Show one call that was charged or had an idempotency key",
		Example: "  uimgate usage show 01934f6e-7f6c-7d2a-9b1e-0123456789ab",
	}, slices.Concat(executionColumns, answerColumns), operation.Execution)
}

func (o *operator) usageReceipt() *cobra.Command {
	return showCommand(o, &cobra.Command{
		Use: "receipt EXECUTION", Short: "Print the receipt of a charged call",
		Long:    "Receipt prints the receipt of the newest entry of the ledger about a call: a JWS that agents verify with the keys of the gateway.",
		Example: "  uimgate usage receipt 01934f6e-7f6c-7d2a-9b1e-0123456789ab",
	}, receiptColumns, operation.Receipt)
}

var receiptColumns = cli.Fields[billing.Receipt]("execution receipt")

func (o *operator) usageTopUp() *cobra.Command {
	var t billing.TopUp
	c := &cobra.Command{
		Use: "top-up AGENT AMOUNT CURRENCY", Short: "Record a payment of an agent, or take it back", Args: cli.Args(cobra.RangeArgs(2, 3)),
		Long: `Top-up enters a payment of an agent into the ledger. A top-up with a --reference, such as the number of the payment,
is made only once, however often you repeat the command. Without --reference, the command creates a reference, and
prints it if the gateway does not respond. --reverse takes an amount back: never more than was topped up, but the agent
may already have spent it, and owes it in that case.`,
		Example: `  uimgate usage top-up agent-1 25.00 EUR --reference invoice-2026-117
  uimgate usage top-up agent-1 25.00 EUR --reverse --reference refund-2026-9`,
		RunE: func(c *cobra.Command, args []string) error {
			amount, err := money.Parse(strings.Join(args[1:], " "))
			if err != nil {
				return cli.Usage(err)
			}
			t.Service, t.AgentID, t.Amount = o.service, pat.AgentID(args[0]), amount.String()
			if t.Reference == "" {
				t.Reference = "uimgate-" + rand.Text()
			}
			account, err := callOnce(c, o, operation.TopUp, t, "top-up", "--reference", t.Reference)
			if err != nil {
				return err
			}
			if account.Repeated {
				fmt.Fprintln(c.ErrOrStderr(), "The top-up with this reference had already been made; nothing was changed now.")
			}
			return o.printTopUp(c, account)
		},
	}
	c.Flags().StringVar(
		&t.Reference,
		"reference",
		"",
		"your name for this top-up, up to 200 characters: a top-up with the same reference is made only once",
	)
	c.Flags().BoolVar(&t.Reverse, "reverse", false, "take the amount back")
	return c
}

// printTopUp prints the account of a top-up. The JSON also shows whether the top-up had been made before.
func (o *operator) printTopUp(c *cobra.Command, r billing.TopUpResult) error {
	if o.format == "json" {
		return cli.PrintLine(c.OutOrStdout(), r)
	}
	return cli.PrintOne(c, o.format, r.Account, accountColumns)
}
