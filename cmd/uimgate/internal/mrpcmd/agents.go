package mrpcmd

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/agent/mrp"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// maxCapabilities is the maximum size of a file of capabilities, in bytes.
const maxCapabilities = 1 << 20

func (s *settings) profile() *cobra.Command {
	var name, visibility, inbox, capabilities string
	c := &cobra.Command{
		Use: "profile [KEY]", Short: "Show the profile of an agent, or change your own", Args: cli.Args(cobra.MaximumNArgs(1)),
		Long: `Profile shows the profile of this agent, or of the agent with the given key. With a flag such as --name, it
first changes the profile of this agent. Other agents cannot find a private agent, but if they know its key,
they can send messages to it.`,
		Example: `  uimgate mrp profile --relay https://relay.mrphub.io
  uimgate mrp profile --name 'Tea shop' --visibility public --capabilities capabilities.json`,
		RunE: func(c *cobra.Command, args []string) error {
			change := wire.Change{Visibility: wire.Visibility(visibility), InboxPolicy: wire.InboxPolicy(inbox)}
			if c.Flags().Changed("name") {
				change.DisplayName = &name
			}
			if capabilities != "" {
				var err error
				if change.Capabilities, err = readCapabilities(capabilities); err != nil {
					return err
				}
			}
			changes := change.DisplayName != nil || visibility != "" || inbox != "" || change.Capabilities != nil
			if changes && len(args) > 0 {
				return cli.Usage(errors.New("the profile of another agent cannot be changed: omit KEY"))
			}
			client, err := s.client()
			if err != nil {
				return err
			}
			defer client.Close()
			key := client.Key()
			if len(args) > 0 {
				if key, err = s.parseKey(args[0]); err != nil {
					return err
				}
			}
			var p wire.Profile
			if changes {
				p, err = client.Update(c.Context(), change)
			} else {
				p, err = client.Profile(c.Context(), key)
			}
			if err != nil {
				return err
			}
			return s.print(c, p, func(w io.Writer) { printProfile(w, p) })
		},
	}
	f := c.Flags()
	f.StringVar(&name, "name", "", "name that people see; an empty name removes it")
	f.StringVar(&visibility, "visibility", "", "public or private")
	f.StringVar(&inbox, "inbox", "", "who may send messages: open, closed, allowlist or blocklist")
	f.StringVar(&capabilities, "capabilities", "", "file with a JSON list of capabilities, which replaces the present ones")
	return c
}

func readCapabilities(path string) ([]wire.Capability, error) {
	text, err := cli.ReadNamed(path, maxCapabilities)
	if err != nil {
		return nil, err
	}
	change, refused := wire.ReadChange(fmt.Appendf(nil, `{"capabilities":%s}`, text))
	if refused != nil {
		return nil, fmt.Errorf("%s: %s", path, refused.Message)
	}
	return change.Capabilities, nil
}

func printProfile(w io.Writer, p wire.Profile) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer t.Flush() //nolint:errcheck // into memory
	fmt.Fprintf(t, "key\t%s\n", p.PublicKey)
	if p.DisplayName != nil {
		fmt.Fprintf(t, "name\t%s\n", cli.Sanitize(*p.DisplayName))
	}
	fmt.Fprintf(t, "status\t%s\nvisibility\t%s\ninbox\t%s\nlast active\t%s\n", cli.Sanitize(string(p.Status)),
		cli.Sanitize(string(p.Visibility)),
		cli.Sanitize(string(p.InboxPolicy)), cli.HumanTime(p.LastActiveAt))
	for _, item := range p.Capabilities {
		fmt.Fprintf(t, "can\t%s\t%s\n", cli.Sanitize(item.Name), cli.Sanitize(oneLine(item.Description)))
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func (s *settings) discover() *cobra.Command {
	var q mrp.Search
	var most int
	c := &cobra.Command{
		Use: "discover [WORD…]", Short: "Find public agents, most recently active first", Args: cli.Args(cobra.ArbitraryArgs),
		Long: `Discover lists the public agents that match every word, in their name or in the names and descriptions of
their capabilities. With -o json it prints one line per agent.`,
		Example: "  uimgate mrp discover translate --tag text --relay https://relay.mrphub.io",
		RunE: func(c *cobra.Command, args []string) error {
			if most < 1 {
				return cli.Usage(errors.New("--limit must be at least 1"))
			}
			q.Text, q.Limit = strings.Join(args, " "), min(most, wire.MaxPage)
			client, err := s.client()
			if err != nil {
				return err
			}
			defer client.Close()
			found := 0
			for a, err := range client.All(c.Context(), q) {
				if err != nil {
					return err
				}
				if err := s.print(c, a, func(w io.Writer) { printAgent(w, a) }); err != nil {
					return err
				}
				if found++; found == most {
					break
				}
			}
			if found == 0 {
				s.note(c, "no public agent at this relay matches")
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringArrayVar(&q.Tags, "tag", nil, "tag that the agent must have; may be repeated")
	f.StringVar(&q.Name, "name", "", "part of the agent's name")
	f.IntVar(&most, "limit", 20, "maximum number of agents")
	return c
}

func printAgent(w io.Writer, a wire.Agent) {
	name := "-"
	if a.DisplayName != nil {
		name = cli.Sanitize(oneLine(*a.DisplayName))
	}
	var names []string
	for _, item := range a.Capabilities {
		names = append(names, cli.Sanitize(oneLine(item.Name)))
	}
	fmt.Fprintf(w, "%s  %s  %s  %s\n", a.PublicKey, cli.HumanTime(a.LastActiveAt), name, strings.Join(names, ", "))
}
