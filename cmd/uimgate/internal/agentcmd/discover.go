package agentcmd

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/problem"
)

// visit wraps a command so that it runs on the service that the first argument names. The agent needs no key.
func (s *agentSettings) visit(do func(c *cobra.Command, service *agent.Service, args []string) error) func(*cobra.Command, []string) error {
	return s.run(func(c *cobra.Command, args []string) error {
		client, err := s.client(false)
		if err != nil {
			return err
		}
		defer client.Close()
		service, err := client.Discover(c.Context(), args[0])
		if err != nil {
			return err
		}
		return do(c, service, args)
	})
}

func agentDiscoverCommand(s *agentSettings) *cobra.Command {
	return &cobra.Command{
		Use: "discover SERVICE", Short: "Find a service and list its intents",
		Long: "Discover finds a service by the URL of its agents.json, its origin or its domain, and lists its intents.\n" +
			"For a domain, it first looks up the TXT records in DNS, at _uim.<domain> and then at the domain itself.",
		Example: `  uimgate agent discover shop.example
  uimgate agent discover http://127.0.0.1:8080 -o json`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: s.visit(func(c *cobra.Command, service *agent.Service, _ []string) error {
			catalog, err := service.Catalog(c.Context())
			if err != nil {
				return err
			}
			e := service.Endpoints()
			s.printNote(c, "%s\n  issuer   %s\n  agents   %s\n  policy   %s\n  execute  %s", printable(serviceTitle(catalog)),
				printable(service.Issuer()), printable(e.Agents), printable(e.Policy[0]), printable(e.Execute[0]))
			for _, door := range []struct{ name, url string }{
				{"mcp", e.MCP},
				{"a2a", e.A2A},
				{"uagents", strings.TrimSpace(e.UAgentsAddress + " " + e.UAgents)},
				{"aea", e.AEAAddress},
				{"mrp", strings.TrimSpace(e.MRPKey + " " + e.MRPRelay)},
				{"receipts", e.Receipts},
				{"usage", e.Usage},
				{"log", e.Log},
			} {
				if door.url != "" {
					s.printNote(c, "  %-8s %s", door.name, printable(door.url))
				}
			}
			for _, plan := range catalog.Plans {
				s.printNote(c, "  plan     %s: %s", printable(plan.Name), planWords(plan))
			}
			if catalog.License != "" {
				s.printNote(c, "  license  %s", printable(catalog.License))
			}
			for _, w := range service.Warnings() {
				s.printNote(c, "warning: %s", printable(w.String()))
			}
			return s.printData(c, map[string]any{
				"service": catalog.Service, "dialect": catalog.Dialect, "issuer": service.Issuer(), "endpoints": e, "license": catalog.License,
				"compliance": catalog.Compliance, "plans": append([]intents.Plan{}, catalog.Plans...), "intents": intentList(catalog.Intents()),
				"warnings": orEmpty(service.Warnings()),
			}, func(w io.Writer) error { return intentTable(w, catalog.Intents()) })
		}),
	}
}

// planWords describes the terms of a plan, with the intents of each.
func planWords(p intents.Plan) string {
	const most = 5 // intents that are named
	list := make([]string, 0, len(p.Terms))
	for _, t := range p.Terms {
		of := strings.Join(t.Intents[:min(len(t.Intents), most)], ", ")
		if more := max(len(t.Intents)-most, 0) + int(t.More); more > 0 {
			of += fmt.Sprintf(" and %d more", more)
		}
		list = append(list, printable(t.Text+" ("+of+")"))
	}
	return strings.Join(list, "; ")
}

func serviceTitle(c *intents.Catalog) string {
	if c.Service.Description == "" {
		return c.Service.Name
	}
	return c.Service.Name + ": " + c.Service.Description
}

func orEmpty(list problem.List) problem.List {
	if list == nil {
		return problem.List{}
	}
	return list
}

func agentSearchCommand(s *agentSettings) *cobra.Command {
	var q agent.Query
	c := &cobra.Command{
		Use: "search SERVICE [WORD...]", Short: "Search a service's intents",
		Example: `  uimgate agent search shop.example order tea
  uimgate agent search shop.example --tag orders --category shopping -o json`,
		Args: cli.Args(cobra.MinimumNArgs(1)),
		RunE: s.visit(func(c *cobra.Command, service *agent.Service, args []string) error {
			q.Text = strings.Join(args[1:], " ")
			page, err := service.Search(c.Context(), q)
			if err != nil {
				return err
			}
			s.printNote(c, "%d found, page %d of %d", page.TotalResults, page.CurrentPage, page.TotalPages)
			return s.printData(c, page, func(w io.Writer) error { return intentTable(w, page.Intents) })
		}),
	}
	f := c.Flags()
	f.StringVar(&q.UID, "uid", "", "uid, or namespace:name")
	f.StringVar(&q.IntentName, "intent-name", "", "part of the intent's name")
	f.StringVar(&q.Namespace, "namespace", "", "namespace")
	f.StringVar(&q.Category, "category", "", "category")
	f.StringVar(&q.Description, "description", "", "words in the description")
	f.StringArrayVar(&q.Tags, "tag", nil, "tag (repeat for several, which must all match)")
	f.IntVar(&q.Page, "page", 0, "page number, starting at 1")
	f.IntVar(&q.PageSize, "page-size", 0, "intents per page, at most 100")
	return c
}

func agentPolicyCommand(s *agentSettings) *cobra.Command {
	return &cobra.Command{
		Use: "policy SERVICE", Short: "Print the policy that a service offers, exactly as served",
		Long: "Policy prints the ODRL policy that a service offers, byte for byte, on stdout, and its digest for agree on stderr.",
		Example: `  uimgate agent policy shop.example > policy.json
  uimgate agent policy shop.example -o json | jq -r .digest`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: s.visit(func(c *cobra.Command, service *agent.Service, _ []string) error {
			policy, err := service.Policy(c.Context())
			if err != nil {
				return err
			}
			s.printNote(c, "policy %s\n  digest %s\n  from   %s", printable(policy.UID), policy.Digest, printable(policy.URL))
			return s.printData(c, map[string]any{
				"uid": policy.UID, "digest": policy.Digest, "url": policy.URL, "policy": json.RawMessage(policy.Raw),
			}, func(w io.Writer) error {
				_, err := w.Write(policy.Raw)
				return err
			})
		}),
	}
}

// printable puts text from the service on one line: it replaces each run of white space and control characters with a space, and removes
// those at the ends.
func printable(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f && r <= 0x9f }), " ")
}

func intentTable(w io.Writer, list []*intents.Intent) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, in := range list {
		note := in.Price
		if in.Retired {
			note = "retired"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", in.UID, signature(in), printable(note), printable(in.Description))
	}
	return t.Flush()
}

// signature returns the names of an intent's parameters, with the optional ones in brackets, such as query [category].
func signature(in *intents.Intent) string {
	parts := make([]string, 0, len(in.Inputs))
	for _, p := range in.Inputs {
		name := printable(p.Name)
		if !p.Required {
			name = "[" + name + "]"
		}
		parts = append(parts, name)
	}
	return strings.Join(parts, " ")
}

func intentList(list []*intents.Intent) []json.RawMessage {
	out := make([]json.RawMessage, 0, len(list))
	for _, in := range list {
		out = append(out, in.JSON())
	}
	return out
}
