package operatorcmd

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/client"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/policies"
	"github.com/uimgate/uimgate/odrl"
)

// PolicyImpact returns the command uimgate policy impact.
func PolicyImpact() *cobra.Command {
	o := &operator{}
	var from, to string
	c := &cobra.Command{
		Use: "impact FILE", Short: "Show what an edited policy would have changed for the calls of the last week",
		Long: `Impact decides the calls in the audit stream of a running gateway again, under the policy in FILE. It prints the calls
that the edited policy would refuse, permit or charge differently, the difference in money, the intents whose terms
change, and the agents that must agree again before they call them. Nothing is changed.

The policy alone decides: limits and credit are not counted again. Impact reports how many calls it could not decide:
those whose facts came from parameters, unless audit.parameters is set, and those that were refused before the policy
decided. If several processes share a database, it reads the stream of the process that responds, and prints how many
others run: add the results of all of them.`,
		Example: `  uimgate policy impact draft.json
  uimgate policy impact draft.json --from 2026-11-01 --to 2026-11-15 -o csv`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) (err error) {
			var r policies.ImpactRequest
			if r.From, err = moment("--from", from); err != nil {
				return cli.Usage(err)
			}
			if r.To, err = moment("--to", to); err != nil {
				return cli.Usage(err)
			}
			text, err := readPolicy(c, args[0])
			if err != nil {
				return err
			}
			r.Service, r.Policy = o.service, string(text)
			return o.impact(c, args[0], r)
		},
	}
	c.Flags().StringVar(&from, "from", "", "only calls since this time (default: a week ago)")
	c.Flags().StringVar(&to, "to", "", "only calls before this time")
	o.flags(c)
	return c
}

func readPolicy(c *cobra.Command, name string) ([]byte, error) {
	return cli.ReadInput(c, name, "stdin", odrl.MaxDocument)
}

// impact requests all parts of the comparison, and prints their sum.
func (o *operator) impact(c *cobra.Command, file string, r policies.ImpactRequest) error {
	var sum policies.PolicyImpact
	for first := true; first || r.After != ""; first = false {
		part, err := call(c, o, operation.Impact, r)
		if err != nil {
			printRefusedPolicy(c.ErrOrStderr(), file, err)
			return err
		}
		if first {
			sum = part
			r.From, r.To = part.From, part.To // so that the other parts have the same period
		} else {
			sum.Add(part)
		}
		if r.After = part.Next; r.After != "" {
			fmt.Fprintf(c.ErrOrStderr(), "%d %% read, %d calls\n", int(100*part.Progress), sum.Calls)
		}
	}
	if n := sum.OtherProcesses; n != nil && *n > 0 {
		fmt.Fprintf(c.ErrOrStderr(), "The calls are those of the process %s. Other processes, whose calls are not compared: %d\n",
			cli.Sanitize(sum.Process), *n)
	}
	rows := impactRows(&sum)
	return cli.Print(c, o.format, sum, rows, impactColumns, func(out io.Writer) error {
		if err := printImpact(out, &sum); err != nil || len(rows) == 0 {
			return err
		}
		fmt.Fprintln(out)
		return cli.PrintTable(out, rows, impactColumns)
	})
}

// printRefusedPolicy prints the problems of a policy that the gateway rejected.
func printRefusedPolicy(w io.Writer, file string, err error) {
	refused, ok := errors.AsType[*client.RefusedError](err)
	if !ok {
		return
	}
	for _, p := range refused.Problems {
		name := p.File
		if name == "policy" {
			name = file
		}
		fmt.Fprintf(w, "%s:%d: %s (%s)\n", cli.Sanitize(name), p.Line, cli.Sanitize(p.Message), cli.Sanitize(p.Level))
	}
}

// An impactRow describes a call whose outcome differs.
type impactRow struct {
	policies.ImpactCall

	effect string
}

func impactRows(i *policies.PolicyImpact) (rows []impactRow) {
	for _, s := range []struct {
		effect string
		set    policies.ImpactSet
	}{{"refused", i.Refused}, {"permitted", i.Admitted}, {"repriced", i.Repriced}} {
		for _, one := range s.set.First {
			rows = append(rows, impactRow{one, s.effect})
		}
	}
	return rows
}

var impactColumns = cli.Fields("effect at request_id agent_id intent before after reason rule* detail",
	cli.TextColumn("effect", func(r impactRow) string { return r.effect }),
)

// printImpact prints the comparison for people.
func printImpact(out io.Writer, i *policies.PolicyImpact) error {
	t := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	row := func(name string, texts ...string) {
		fmt.Fprintf(t, "%s\t%s\n", name, cli.Sanitize(strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), ", ")))
	}
	count := func(n int64, what string) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10) + " " + what
	}
	row("period", cli.HumanTime(i.From)+" to "+cli.HumanTime(i.To))
	row("calls", fmt.Sprintf("%v, %v of them decided again", i.Calls, i.Judged))
	row("refused", strconv.FormatInt(i.Refused.Calls, 10))
	row("permitted", strconv.FormatInt(i.Admitted.Calls, 10))
	row("repriced", strconv.FormatInt(i.Repriced.Calls, 10))
	for _, m := range i.Money {
		row("money", fmt.Sprintf("%s %s → %s (%s)", m.Currency, m.Before, m.After, m.Difference))
	}
	if u := i.Unjudged; u != (policies.UnjudgedCalls{}) {
		row("not decided", count(u.Undecided, "refused before the policy decided"), count(u.Withheld, "with facts from parameters"),
			count(u.Failed, "that cannot be read"), count(u.Limited, "that a limit refused"))
	}
	row("terms change", strings.Join(i.Intents, ", "))
	if len(i.Agents) > 0 {
		agents := strconv.Itoa(len(i.Agents))
		if i.MoreAgents {
			agents = "more than " + agents
		}
		row("agents that must agree again", agents+", such as "+string(i.Agents[0]))
	}
	return t.Flush()
}

// PolicySave returns the command uimgate policy save.
func PolicySave() *cobra.Command {
	o := &operator{}
	var over string
	var force bool
	c := &cobra.Command{
		Use: "save FILE", Short: "Replace the policy of a running gateway with an edited one, and reload",
		Long: `Save writes the policy in FILE to the file that the configuration of the gateway names, keeps the previous text next
to it in a file whose name ends with .1, and reloads. If the reload is refused, the previous text is restored.

Name the text that you edited with --over: save changes nothing if the file of the gateway has changed since.
Without --over, it replaces the text that the gateway serves.`,
		Example: "  curl -s https://shop.example/api/policy > policy.json\n  uimgate policy save draft.json --over policy.json",
		Args:    cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			text, err := readPolicy(c, args[0])
			if err != nil {
				return err
			}
			edit := policies.PolicyEdit{Service: o.service, Policy: string(text), Force: force}
			if edit.SHA256, err = o.replacedText(c, over); err != nil {
				return err
			}
			saved, err := call(c, o, operation.SavePolicy, edit)
			if err != nil {
				printRefusedPolicy(c.ErrOrStderr(), args[0], err)
				return err
			}
			return cli.PrintOne(c, o.format, saved, saveColumns)
		},
	}
	c.Flags().StringVar(&over, "over", "", "the text that you edited, as a file")
	c.Flags().BoolVar(&force, "force", false, "apply the policy even if it ends calls of agents")
	o.flags(c)
	return c
}

// replacedText returns the SHA-256 of the text that a saved policy replaces.
func (o *operator) replacedText(c *cobra.Command, over string) (string, error) {
	if over != "" {
		text, err := readPolicy(c, over)
		sum := sha256.Sum256(text)
		return hex.EncodeToString(sum[:]), err
	}
	is, err := call(c, o, operation.PolicyText, policies.PolicyTextQuery{Service: o.service})
	if err == nil && !is.InForce {
		err = fmt.Errorf("%s has been changed since the last reload: name the text that you edited with --over", cli.Sanitize(is.Path))
	}
	return is.SHA256, err
}

var saveColumns = cli.Fields("path kept uid digest configuration",
	cli.TextColumn("uid", func(s policies.SaveResult) string { return s.Policy.UID }),
	cli.TextColumn("digest", func(s policies.SaveResult) string { return s.Policy.Digest }),
	cli.TextColumn("configuration", func(s policies.SaveResult) string { return s.Reload.Configuration.Hash }),
)
