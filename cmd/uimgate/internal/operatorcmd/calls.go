package operatorcmd

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/processes"
)

var callColumns = cli.Fields(`at request_id service* agent_id intent request* door* decision reason status rule* outcome ms charge
	charge_state* execution* process*`,
	cli.ForPeople("intent", func(r calls.Call) string {
		if r.Intent == "" {
			return r.Request
		}
		return r.Intent
	}),
)

// Calls returns the command uimgate calls.
func Calls() *cobra.Command {
	o := &operator{}
	return o.group(&cobra.Command{
		Use: "calls", Short: "Search the requests that the gateway handled",
		Example: "  uimgate calls list --agent agent-1 --decision deny\n  uimgate calls list --from 2026-11-22T10:00:00Z --all -o csv",
	}, o.callsList(), o.callsFigures())
}

var figureColumns = cli.Fields("at calls refused reasons charged",
	cli.ListColumn("reasons", func(p processes.FigurePoint) (list []string) {
		for _, r := range slices.Sorted(maps.Keys(p.Reasons)) {
			list = append(list, fmt.Sprintf("%s=%d", r, p.Reasons[r]))
		}
		return list
	}),
	cli.ListColumn("charged", func(p processes.FigurePoint) (list []string) {
		for _, currency := range slices.Sorted(maps.Keys(p.Charged)) {
			list = append(list, cli.HumanAmount(p.Charged[currency], currency))
		}
		return list
	}),
)

func (o *operator) callsFigures() *cobra.Command {
	var q processes.FigureQuery
	c := &cobra.Command{
		Use: "figures", Short: "Count the calls of each minute or hour", Args: cli.Args(cobra.NoArgs),
		Long: `Figures counts the calls that ended in each minute of the last hour or, with --step hour, in each hour of the last day,
in all processes on the database, including those that have ended. Every call counts. A process reports its calls to the
others every ten seconds, so up to ten seconds of a killed process are missing. Charges count when their call
ends; a charge that is resolved later does not count here.`,
		Example: "  uimgate calls figures --step hour -o csv",
		RunE: func(c *cobra.Command, _ []string) error {
			answer, err := call(c, o, operation.CallFigures, q)
			if err != nil {
				return err
			}
			return cli.Print(c, o.format, answer, answer.Points, figureColumns, nil)
		},
	}
	c.Flags().StringVar(&q.Step, "step", "minute", "minute or hour")
	return c
}

func (o *operator) callsList() *cobra.Command {
	var q calls.CallQuery
	var from, to string
	c := &cobra.Command{
		Use: "list", Short: "List requests, newest first", Args: cli.Args(cobra.NoArgs),
		Long: `List shows requests that any process with the same database handled, for as long as audit.index keeps them: calls
to intents, and requests for tokens. uimgate why explains one of them. Without --service, it shows requests of every
service, and those that belong to none.

A page has at most --limit requests. It may have fewer if the filters exclude most requests; the command then prints
how to continue.`,
		Example: `  uimgate calls list --reason RATE_LIMIT_EXCEEDED
  uimgate calls list --intent shop.example:order:v1 --outcome failed --from 2026-11-22T10:00:00Z
  uimgate calls list --agent agent-1 --all -o csv`,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			if q.From, err = moment("--from", from); err != nil {
				return cli.Usage(err)
			}
			if q.To, err = moment("--to", to); err != nil {
				return cli.Usage(err)
			}
			return printQuery(c, o, callColumns, operation.Calls, q)
		},
	}
	f := c.Flags()
	f.StringVar((*string)(&q.AgentID), "agent", "", "only requests of this agent")
	f.StringVar(&q.Intent, "intent", "", "only calls to this intent, by its uid")
	f.StringVar(&q.Decision, "decision", "", "only requests with this decision: permit, deny or pending")
	f.StringVar(&q.Reason, "reason", "", "only refusals with this reason, such as RATE_LIMIT_EXCEEDED")
	f.StringVar(&q.Outcome, "outcome", "", "only calls to your API with this outcome: done, failed, not_sent or unknown")
	f.StringVar(&from, "from", "", "only requests since this time, such as 2026-11-22 or 2026-11-22T10:00:00Z")
	f.StringVar(&to, "to", "", "only requests before this time")
	return o.paging(c)
}
