package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/client"
	"github.com/uimgate/uimgate/pat"
)

func (o *operator) agentsApprove() *cobra.Command {
	var asID, yes bool
	c := &cobra.Command{
		Use: "approve AGENT|NUMBER", Short: "Let an agent in whose agreement is waiting", Args: usageArgs(cobra.ExactArgs(1)),
		Long: `Approve lets an agent in. It is meant by its id, or by its number in uimgate agents list --status waiting. As that list
changes when agents come and go, a number is confirmed: approve shows which agent has it now, and asks.`,
		Example: "  uimgate agents approve agent-1\n  uimgate agents approve 2",
		RunE: func(c *cobra.Command, args []string) error {
			id := args[0]
			if number, err := strconv.Atoi(id); err == nil && !asID && len(id) <= 5 {
				if id, err = o.numbered(c, number, yes); err != nil {
					return err
				}
			}
			return o.changeAgent(c, func(ctx context.Context, api *client.Client) (admin.Agent, error) {
				return api.ApproveAgent(ctx, o.record(id))
			})
		},
	}
	c.Flags().BoolVar(&asID, "id", false, "it is an id, though it looks like a number")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask whether the agent with this number is meant")
	return c
}

// numbered returns the agent with a number in the list of those that wait, once the operator has said that it is meant.
func (o *operator) numbered(c *cobra.Command, number int, yes bool) (string, error) {
	q := admin.AgentQuery{Service: o.service, Status: admin.Waiting, Paging: admin.Paging{Limit: 1000}}
	page, err := call(c, o, func(ctx context.Context, api *client.Client) (admin.Page[admin.Agent], error) {
		return api.Agents(ctx, q)
	})
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(page.Items, func(a admin.Agent) bool { return a.AgentID == pat.AgentID(strconv.Itoa(number)) }) {
		return "", fmt.Errorf("%d is the id of an agent that waits, too: give the id of the agent meant, or --id", number)
	}
	if number < 1 || number > len(page.Items) {
		return "", fmt.Errorf("no agent with number %d waits (%d do): see uimgate agents list --status waiting; an id needs --id", number,
			len(page.Items))
	}
	agent := page.Items[number-1]
	out := c.ErrOrStderr()
	fmt.Fprintf(out, "Number %d is %s, key %s, since %s.\n", number, sanitize(agent.AgentID), sanitize(joined(agent.Keys)),
		humanTime(agent.CreatedAt))
	if yes {
		return string(agent.AgentID), nil
	}
	if approves, err := ask(c, "Approve it?"); !approves || err != nil {
		return "", cmp.Or(err, errors.New("not approved: say y, or give --yes or the agent's id"))
	}
	return string(agent.AgentID), nil
}

func joined(keys []pat.KeyID) string {
	out := make([]string, 0, len(keys))
	for _, k := range keys {
		out = append(out, string(k))
	}
	return strings.Join(out, " ")
}
