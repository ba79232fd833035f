package operatorcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/client"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

var agentColumns = cli.Fields[agreements.Agent]("agent_id status approved keys created_at reason name")

// Agents returns the command uimgate agents.
func Agents() *cobra.Command {
	o := &operator{}
	return o.group(&cobra.Command{
		Use: "agents", Short: "List, approve and block the agents that agreed to a service's terms",
		Example: "  uimgate agents list --status blocked\n  uimgate agents approve agent-1",
	}, o.agentsList(), o.agentsShow(), o.agentsApprove(), o.agentsBlock(), o.agentsUnblock(), o.agentsAddKey(),
		o.agentsName(), o.agentsInvoiceTo(), o.agentsInvite())
}

var invitationColumns = cli.Fields[agreements.Invitation]("code until name")

func (o *operator) agentsInvite() *cobra.Command {
	var i agreements.Invite
	c := &cobra.Command{
		Use: "invite", Short: "Invite one person to consent once, for a client without a key", Args: cli.Args(cobra.NoArgs),
		Long: `Invite prints a code that one person can enter on the consent page. With pat.admission: allowlist, a person needs a
code; with approval, the code replaces the wait for approval. The code is valid once, until the printed time. The
signed record of the consent contains the name.`,
		Example: "  uimgate agents invite --name Ann\n  uimgate agents invite --within 1h",
		RunE: func(c *cobra.Command, _ []string) error {
			i.Service = o.service
			return printAnswer(c, o, invitationColumns, operation.Invite, i)
		},
	}
	c.Flags().StringVar(&i.Name, "name", "", "your name for the person")
	c.Flags().StringVar(&i.For, "within", "24h", "how long the code is valid, at most 720h")
	return c
}

func (o *operator) agentsList() *cobra.Command {
	var q agreements.AgentQuery
	c := &cobra.Command{
		Use: "list", Short: "List agents, sorted by id", Args: cli.Args(cobra.NoArgs),
		Example: "  uimgate agents list\n  uimgate agents list --status waiting",
		RunE: func(c *cobra.Command, _ []string) error {
			columns := agentColumns
			numbers := map[pat.AgentID]int64{}
			if q.Status == agreements.Waiting && o.after == "" && o.format == "table" {
				number := cli.TextColumn("no", func(a agreements.Agent) string { return strconv.FormatInt(numbers[a.AgentID], 10) })
				columns = append([]cli.Column[agreements.Agent]{number}, agentColumns...)
			}
			return printListing(c, o, columns, func(ctx context.Context, api *client.Client, p api.PageRequest) (api.Page[agreements.Agent], error) {
				q.Service, q.PageRequest = o.service, p
				page, err := client.Do(ctx, api, operation.Agents, q)
				for _, a := range page.Items {
					numbers[a.AgentID] = int64(len(numbers)) + 1
				}
				return page, err
			})
		},
	}
	c.Flags().StringVar((*string)(&q.Status), "status", "", "only agents that are active, waiting (for approval) or blocked")
	c.Flags().StringVar(&q.Approved, "approved", "", "only agents that are approved (true) or not approved (false)")
	c.Flags().StringVar(&q.Search, "search", "", "only agents whose id or name begins with this text")
	return o.paging(c)
}

func (o *operator) agentsShow() *cobra.Command {
	return showCommand(o, &cobra.Command{
		Use: "show AGENT", Short: "Show one agent",
		Example: "  uimgate agents show agent-1",
	}, agentColumns, operation.Agent)
}

func (o *operator) agentsBlock() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: "block AGENT", Short: "Revoke all PATs of an agent, and refuse new agreements", Args: cli.Args(cobra.ExactArgs(1)),
		Aliases: []string{"revoke"},
		Example: `  uimgate agents block agent-1 --reason "requested by its owner"`,
		RunE: func(c *cobra.Command, args []string) error {
			return changeAgent(c, o, operation.BlockAgent, o.revocation(args[0], reason))
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "reason, stored with the agent")
	return c
}

func (o *operator) agentsUnblock() *cobra.Command {
	return &cobra.Command{
		Use: "unblock AGENT", Short: "Let a blocked agent agree again; its old PATs stay revoked", Args: cli.Args(cobra.ExactArgs(1)),
		Example: "  uimgate agents unblock agent-1",
		RunE: func(c *cobra.Command, args []string) error {
			return changeAgent(c, o, operation.UnblockAgent, o.record(args[0]))
		},
	}
}

func (o *operator) agentsName() *cobra.Command {
	var none bool
	c := &cobra.Command{
		Use: "name AGENT NAME", Short: "Give an agent a name, such as the customer it acts for", Args: cli.Args(cobra.RangeArgs(1, 2)),
		Long: `Name sets the name that lists, statements and invoices show next to the id of an agent: at most 200 characters,
without control characters. Agents never see the name, and it affects no decision. --clear removes it.`,
		Example: "  uimgate agents name agent-1 \"Corner Shop Ltd\"\n  uimgate agents name agent-1 --clear",
		RunE: func(c *cobra.Command, args []string) error {
			if none == (len(args) == 2) || !none && args[1] == "" {
				return cli.Usage(errors.New("give a name, or --clear to remove it"))
			}
			n := agreements.AgentName{Record: o.record(args[0])}
			if !none {
				n.Name = args[1]
			}
			return changeAgent(c, o, operation.NameAgent, n)
		},
	}
	c.Flags().BoolVar(&none, "clear", false, "remove the name")
	return c
}

// changeAgent changes an agent, and prints the agent. It prints a warning if no agent has claimed the id.
func changeAgent[Q any](c *cobra.Command, o *operator, op operation.Operation[Q, agreements.Agent], q Q) error {
	a, err := call(c, o, op, q)
	if err != nil {
		return err
	}
	if len(a.Keys) == 0 && !pat.Consented(a.AgentID) {
		fmt.Fprintln(c.ErrOrStderr(), "No agent has claimed this agent id: check the spelling.")
	}
	return cli.PrintOne(c, o.format, a, agentColumns)
}

func (o *operator) agentsAddKey() *cobra.Command {
	return &cobra.Command{
		Use: "add-key AGENT THUMBPRINT|FILE", Short: "Add a key to an agent", Args: cli.Args(cobra.ExactArgs(2)),
		Long: `Add-key lets an additional key act for an agent, for example before the agent changes its key. Name the key by its
thumbprint (RFC 7638), or by a file with the public key as PEM or JWK.`,
		Example: "  uimgate agents add-key agent-1 new-key.pem",
		RunE: func(c *cobra.Command, args []string) error {
			thumbprint, err := thumbprintOf(args[1])
			if err != nil {
				return err
			}
			return printAnswer(c, o, agentColumns, operation.AddAgentKey, agreements.AgentKey{Record: o.record(args[0]), KeyID: thumbprint})
		},
	}
}

// thumbprintOf returns the thumbprint of the public key in the file arg. If there is no such file and arg has the form of a thumbprint, it
// returns arg.
func thumbprintOf(arg string) (string, error) {
	text, err := cli.ReadNamed(arg, 64<<10)
	if errors.Is(err, os.ErrNotExist) && len(arg) == 43 && !strings.ContainsAny(arg, "./") {
		return arg, nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the public key: %w", err)
	}
	var value any = strings.TrimSpace(string(text))
	var jwk map[string]any
	if json.Unmarshal(text, &jwk) == nil {
		value = jwk
	}
	key, err := keys.ParseValue(value)
	if err != nil {
		return "", fmt.Errorf("the public key in %s: %w", arg, err)
	}
	return string(key.Thumbprint()), nil
}

func (o *operator) agentsApprove() *cobra.Command {
	var asID, yes bool
	c := &cobra.Command{
		Use: "approve AGENT|NUMBER", Short: "Approve an agent whose agreement is waiting", Args: cli.Args(cobra.ExactArgs(1)),
		Long: `Approve approves an agent, named by its id or by its number in uimgate agents list --status waiting. Because numbers
change when agents come and go, approve shows which agent currently has the number, and asks for confirmation.`,
		Example: "  uimgate agents approve agent-1\n  uimgate agents approve 2",
		RunE: func(c *cobra.Command, args []string) error {
			id := args[0]
			if number, err := strconv.Atoi(id); err == nil && !asID && len(id) <= 5 {
				if id, err = o.numbered(c, number, yes); err != nil {
					return err
				}
			}
			return changeAgent(c, o, operation.ApproveAgent, o.record(id))
		},
	}
	c.Flags().BoolVar(&asID, "id", false, "the argument is an id, although it looks like a number")
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation of the number")
	return c
}

// numbered returns the id of the agent with this number in the list of waiting agents. Unless yes is set, the operator must first confirm
// the agent.
func (o *operator) numbered(c *cobra.Command, number int, yes bool) (string, error) {
	q := agreements.AgentQuery{Service: o.service, Status: agreements.Waiting, PageRequest: api.PageRequest{Limit: 1000}}
	page, err := call(c, o, operation.Agents, q)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(page.Items, func(a agreements.Agent) bool { return a.AgentID == pat.AgentID(strconv.Itoa(number)) }) {
		return "", fmt.Errorf("%d is also the id of a waiting agent: give the id of the agent, or --id", number)
	}
	if number < 1 || number > len(page.Items) {
		return "", fmt.Errorf(
			"no waiting agent has the number %d (%d are waiting): see uimgate agents list --status waiting; for an id, add --id",
			number,
			len(page.Items),
		)
	}
	agent := page.Items[number-1]
	out := c.ErrOrStderr()
	fmt.Fprintf(out, "Number %d is %s, key %s, since %s.\n", number, cli.Sanitize(agent.AgentID), cli.Sanitize(joined(agent.Keys)),
		cli.HumanTime(agent.CreatedAt))
	if yes {
		return string(agent.AgentID), nil
	}
	if approves, err := cli.Ask(c, "Approve it?"); !approves || err != nil {
		return "", cmp.Or(err, errors.New("not approved: answer y, or use --yes or the agent's id"))
	}
	return string(agent.AgentID), nil
}

func joined(list []keys.ID) string {
	out := make([]string, 0, len(list))
	for _, k := range list {
		out = append(out, string(k))
	}
	return strings.Join(out, " ")
}
