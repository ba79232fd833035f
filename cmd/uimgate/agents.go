package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/pat"
)

var agentColumns = []column[admin.Agent]{
	{name: "agent_id", exact: func(a admin.Agent) string { return string(a.AgentID) }},
	{name: "status", exact: func(a admin.Agent) string { return string(a.Status) }},
	{name: "approved", exact: func(a admin.Agent) string { return exactBool(a.Approved) }, human: func(a admin.Agent) string { return yesNo(a.Approved) }},
	{name: "keys", exact: func(a admin.Agent) string { return joined(a.Keys) }},
	timeColumn("created_at", func(a admin.Agent) time.Time { return a.CreatedAt }, false),
	{name: "reason", exact: func(a admin.Agent) string { return a.Reason }},
}

func agentsCommand() *cobra.Command {
	o := &operator{}
	return o.group(&cobra.Command{
		Use: "agents", Short: "The agents that agreed to a service's terms: list, approve, block",
		Example: "  uimgate agents list --status blocked\n  uimgate agents approve agent-1",
	}, o.agentsList(), o.agentsShow(),
		o.agentChange("approve", "Let an agent in whose agreement is waiting", "uimgate agents approve agent-1", false),
		o.agentChange("block", "End all PATs of an agent and let it agree to nothing more", `uimgate agents block agent-1 --reason "asked for by its owner"`, true),
		o.agentChange("unblock", "Let a blocked agent agree again; its old PATs stay ended", "uimgate agents unblock agent-1", false),
		o.agentsAddKey())
}

func (o *operator) agentsList() *cobra.Command {
	var status, approved string
	c := &cobra.Command{
		Use: "list", Short: "List agents by id", Args: usageArgs(cobra.NoArgs),
		Example: "  uimgate agents list\n  uimgate agents list --approved=false -o csv > waiting.csv",
		RunE: func(c *cobra.Command, _ []string) error {
			return printListing(c, o, "/agents", o.page("status", status, "approved", approved), agentColumns)
		},
	}
	c.Flags().StringVar(&status, "status", "", "only those that are active, or blocked")
	c.Flags().StringVar(&approved, "approved", "", "only those that were approved (true), or not (false)")
	return o.paging(c)
}

func (o *operator) agentsShow() *cobra.Command {
	return &cobra.Command{
		Use: "show AGENT", Short: "Show one agent", Args: usageArgs(cobra.ExactArgs(1)),
		Example: "  uimgate agents show agent-1",
		RunE: func(c *cobra.Command, args []string) error {
			data, err := o.get(c, apiPath("agents", args[0]), o.values())
			if err != nil {
				return err
			}
			return printOne(c, o, data, agentColumns)
		},
	}
}

func (o *operator) agentChange(verb, short, example string, reasoned bool) *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use: verb + " AGENT", Short: short, Args: usageArgs(cobra.ExactArgs(1)), Example: "  " + example,
		RunE: func(c *cobra.Command, args []string) error {
			data, err := o.post(c, apiPath("agents", args[0], verb), o.values(), because(reason))
			if err != nil {
				return err
			}
			var a admin.Agent
			if json.Unmarshal(data, &a) == nil && len(a.Keys) == 0 {
				fmt.Fprintln(c.ErrOrStderr(), "Nobody has claimed this agent id: is it spelt as it should be?")
			}
			return printOne(c, o, data, agentColumns)
		},
	}
	if reasoned {
		c.Aliases = []string{"revoke"}
		c.Flags().StringVar(&reason, "reason", "", "why; kept with the agent")
	}
	return c
}

// because is the body that says why, if the operator said so.
func because(reason string) map[string]any {
	if reason == "" {
		return map[string]any{}
	}
	return map[string]any{"reason": reason}
}

func (o *operator) agentsAddKey() *cobra.Command {
	return &cobra.Command{
		Use: "add-key AGENT THUMBPRINT|FILE", Short: "Give an agent one more key", Args: usageArgs(cobra.ExactArgs(2)),
		Long: `Add-key lets a further key speak for an agent, such as before the agent changes its key. The key is told by
its thumbprint (RFC 7638), or by a file with the public key as PEM or JWK.`,
		Example: "  uimgate agents add-key agent-1 new-key.pem",
		RunE: func(c *cobra.Command, args []string) error {
			thumbprint, err := thumbprintOf(args[1])
			if err != nil {
				return err
			}
			data, err := o.post(c, apiPath("agents", args[0], "keys"), o.values(), map[string]any{"jkt": thumbprint})
			if err != nil {
				return err
			}
			return printOne(c, o, data, agentColumns)
		},
	}
}

// thumbprintOf takes a thumbprint as it is, and that of a public key in a file.
func thumbprintOf(arg string) (string, error) {
	text, err := readNamed(arg, 64<<10)
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
	key, err := pat.ParsePublicKeyValue(value)
	if err != nil {
		return "", fmt.Errorf("the public key in %s: %w", arg, err)
	}
	return string(key.Thumbprint()), nil
}

// readFile reads a file of at most most bytes.
func readNamed(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readAtMost(f, name, most)
}

func readAtMost(r io.Reader, name string, most int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s is larger than %d bytes", name, most)
	}
	return text, err
}
