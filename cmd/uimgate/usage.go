package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store"
)

var accountColumns = []column[admin.Account]{
	{name: "agent_id", exact: func(a admin.Account) string { return string(a.AgentID) }},
	{name: "currency", exact: func(a admin.Account) string { return a.Currency }},
	{name: "topped_up", exact: func(a admin.Account) string { return a.ToppedUp }},
	{name: "held", exact: func(a admin.Account) string { return a.Held }},
	{name: "captured", exact: func(a admin.Account) string { return a.Captured }},
	{name: "balance", exact: func(a admin.Account) string { return a.Balance }},
}

var entryColumns = []column[admin.Entry]{
	{name: "seq", exact: func(e admin.Entry) string { return strconv.FormatInt(e.Seq, 10) }},
	timeColumn("at", func(e admin.Entry) time.Time { return e.At }, false),
	{name: "agent_id", exact: func(e admin.Entry) string { return string(e.AgentID) }},
	{name: "amount", exact: func(e admin.Entry) string { return e.Amount }, human: func(e admin.Entry) string { return humanAmount(e.Amount, e.Currency) }},
	{name: "currency", wide: true, exact: func(e admin.Entry) string { return e.Currency }},
	{name: "from", wide: true, exact: func(e admin.Entry) string { return string(e.From) }},
	{name: "to", exact: func(e admin.Entry) string { return string(e.To) }, human: func(e admin.Entry) string {
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
	}},
	{name: "by", exact: func(e admin.Entry) string { return e.By }},
	{name: "intent", exact: func(e admin.Entry) string { return e.Intent }},
	{name: "execution_id", exact: func(e admin.Entry) string { return e.ExecutionID }},
	{name: "rule", wide: true, exact: func(e admin.Entry) string { return e.Rule }},
	{name: "reference", wide: true, exact: func(e admin.Entry) string { return e.Reference }},
}

var executionColumns = []column[admin.Execution]{
	{name: "id", exact: func(e admin.Execution) string { return e.ID }},
	timeColumn("begun_at", func(e admin.Execution) time.Time { return e.BegunAt }, false),
	{name: "agent_id", exact: func(e admin.Execution) string { return string(e.AgentID) }},
	{name: "intent", exact: func(e admin.Execution) string { return e.Intent }},
	{name: "state", exact: func(e admin.Execution) string { return string(e.State) }},
	{name: "outcome", exact: func(e admin.Execution) string { return string(e.Outcome) }},
	{name: "amount", exact: func(e admin.Execution) string { return e.Amount }, human: func(e admin.Execution) string { return humanAmount(e.Amount, e.Currency) }},
	{name: "currency", wide: true, exact: func(e admin.Execution) string { return e.Currency }},
	{name: "rule", wide: true, exact: func(e admin.Execution) string { return e.Rule }},
	{name: "agreement_id", wide: true, exact: func(e admin.Execution) string { return string(e.AgreementID) }},
	{name: "jti", wide: true, exact: func(e admin.Execution) string { return string(e.TokenID) }},
	{name: "policy_digest", wide: true, exact: func(e admin.Execution) string { return e.PolicyDigest }},
	{name: "idempotency_key", wide: true, exact: func(e admin.Execution) string { return e.IdempotencyKey }},
	timeColumn("deadline", func(e admin.Execution) time.Time { return e.Deadline }, true),
	timeColumn("settled_at", func(e admin.Execution) time.Time { return e.SettledAt }, true),
}

func usageCommand() *cobra.Command {
	o := &operator{}
	return o.group(&cobra.Command{
		Use: "usage", Short: "What agents did and owe: accounts, statements, ledger, executions",
		Example: "  uimgate usage statements --month 2026-11\n  uimgate usage executions --state unresolved",
	}, listing(o, "accounts", "List what agents topped up, hold and owe", "uimgate usage accounts -o csv", accountColumns, false),
		listing(o, "ledger", "List every move of a charge, the newest first", "uimgate usage ledger --agent agent-1", entryColumns, true),
		listing(o, "executions", "List calls that charged or carried an idempotency key, the newest first", "uimgate usage executions --state unresolved", executionColumns, true),
		o.usageStatements(), o.usageShow(), o.usageResolve(), o.usageTopUp())
}

// listing is one of the listings of usage, which is called what its path is called.
func listing[T any](o *operator, name, short, example string, columns []column[T], states bool) *cobra.Command {
	var agent, state string
	c := &cobra.Command{
		Use: name, Short: short, Args: usageArgs(cobra.NoArgs), Example: "  " + example,
		RunE: func(c *cobra.Command, _ []string) error {
			return printListing(c, o, "/usage/"+name, o.page("agent_id", agent, "state", state), columns)
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "only those of this agent")
	if states {
		c.Flags().StringVar(&state, "state", "", "only those that are (in the ledger: became) held, captured, released or unresolved")
	}
	return o.paging(c)
}

func (o *operator) usageResolve() *cobra.Command {
	return &cobra.Command{
		Use: "resolve EXECUTION captured|released", Short: "Say how a call of unknown outcome ended", Args: usageArgs(cobra.ExactArgs(2)),
		Long: `Resolve settles a call of which the gateway does not know whether it took effect: ask the service behind by
the execution id it was sent, then charge the agent (captured) or do not (released).`,
		Example: "  uimgate usage resolve 01934f6e-7f6c-7d2a-9b1e-0123456789ab released",
		RunE: func(c *cobra.Command, args []string) error {
			if to := store.State(args[1]); to != store.Captured && to != store.Released {
				return usageError{errState}
			}
			data, err := o.post(c, apiPath("usage", "executions", args[0], "resolve"), o.values(), map[string]any{"state": args[1]})
			if err != nil {
				return err
			}
			return printOne(c, o, data, executionColumns)
		},
	}
}

func (o *operator) usageShow() *cobra.Command {
	return &cobra.Command{
		Use: "show EXECUTION", Short: "Show one call that charged or carried an idempotency key", Args: usageArgs(cobra.ExactArgs(1)),
		Example: "  uimgate usage show 01934f6e-7f6c-7d2a-9b1e-0123456789ab",
		RunE: func(c *cobra.Command, args []string) error {
			data, err := o.get(c, apiPath("usage", "executions", args[0]), o.values())
			if err != nil {
				return err
			}
			return printOne(c, o, data, append(slices.Clone(executionColumns), answerColumns...))
		},
	}
}

// answerColumns are what only the record of one call tells.
var answerColumns = []column[admin.Execution]{
	{name: "answer_status", exact: func(e admin.Execution) string { return exactCount(int64(e.AnswerStatus)) }},
	{name: "answer_reason", exact: func(e admin.Execution) string { return e.AnswerReason }},
}

func (o *operator) usageTopUp() *cobra.Command {
	var reference string
	var reverse bool
	c := &cobra.Command{
		Use: "top-up AGENT AMOUNT CURRENCY", Short: "Add to what an agent has paid in, or take back", Args: usageArgs(cobra.RangeArgs(2, 3)),
		Long: `Top-up enters into the ledger what an agent paid in. Under a --reference, such as the number of the payment, it is
made once, however often the command is repeated; without one the command makes a reference of its own and tells it
where no answer came. With --reverse the amount is taken back: never more than was topped up, though the agent may
have spent it and owes it then.`,
		Example: `  uimgate usage top-up agent-1 25.00 EUR --reference invoice-2026-117
  uimgate usage top-up agent-1 25.00 EUR --reverse --reference refund-2026-9`,
		RunE: func(c *cobra.Command, args []string) error {
			amount, err := money.Parse(strings.Join(args[1:], " "))
			if err != nil {
				return usageError{err}
			}
			made := reference
			if made == "" {
				made = "uimgate-" + rand.Text()
			}
			data, err := o.post(c, "/usage/top-up", o.values(), map[string]any{"agent_id": args[0], "amount": amount.String(), "reference": made, "reverse": reverse})
			if _, answered := errors.AsType[*refusedError](err); err != nil && !answered {
				return fmt.Errorf("%w\nWith --reference %s it can be repeated: it is made once", err, quoted(made))
			}
			if err != nil {
				return err
			}
			var account admin.TopUpResult
			if json.Unmarshal(data, &account) == nil && account.Repeated {
				fmt.Fprintln(c.ErrOrStderr(), "This was done before, under the same reference; nothing was done now.")
			}
			return printOne(c, o, data, accountColumns)
		},
	}
	c.Flags().StringVar(&reference, "reference", "", "your word for this top-up, up to 200 characters; it is made once")
	c.Flags().BoolVar(&reverse, "reverse", false, "take the amount back")
	return c
}
