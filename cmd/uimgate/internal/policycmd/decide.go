package policycmd

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/cases"
)

func policyDecideCommand() *cobra.Command {
	var policy, request, world, dutyMode, output string
	var lenient, batched bool
	c := &cobra.Command{
		Use: "decide --policy FILE --request FILE", Short: "Decide a request under a policy, and show why",
		Long: `Decide prints whether a policy permits a request, which rule permits it, and the limits, charges and duties
that apply. It also reports on every rule of the policy.

The request is {"party", "action", "target", "context": {left operand: value}}, or an ODRL document of
type Request with one permission. The world is {"currentTime", "partOf": [{"member", "collection"}],
"performed": [{"party", "action", "target", "time"}], "dutyReports": [{"rule", "performanceState",
"deonticState"}]}; without --world, only the current time is known. Each document may be a file, - for
stdin, or the JSON itself. The exit code is 0 if the request was decided, permitted or not.

With --batch, each line of FILE (default stdin) is one {"policy", "request", "world", "dutyMode",
"lenient"} with the documents inline. Decide writes one result per line, in order, each as soon as it
is available. For a line that it cannot decide, it writes {"error": …}.`,
		Example: `  uimgate policy decide --policy policy.json --request request.json --world world.json -o json
  uimgate policy decide --policy policy.json --request '{"action":"execute","target":"shop.example:search:v1"}'
  uimgate policy decide --batch questions.jsonl > answers.jsonl`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			mode, err := cases.ParseDutyMode(dutyMode)
			if err != nil {
				return cli.Usage(fmt.Errorf("--duty-mode: %w", err))
			}
			switch {
			case batched && (policy != "" || request != "" || world != ""):
				return cli.Usage(errors.New("with --batch, the lines contain the documents: omit --policy, --request and --world"))
			case batched:
				known, err := vocabularies(c)
				if err != nil {
					return err
				}
				b := &cases.Batch{DutyMode: mode, Lenient: lenient, Now: time.Now, Vocabularies: known}
				return batch(c, args, b.Answer)
			case len(args) > 0:
				return cli.Usage(errors.New("a file argument requires --batch: otherwise name the documents with --policy, --request and --world"))
			case policy == "" || request == "":
				return cli.Usage(errors.New("--policy and --request are required"))
			}
			if err := onlyOneStdin(policy, request, world); err != nil {
				return err
			}
			e, err := decideOne(c, policy, request, world, mode, lenient)
			if err != nil {
				return err
			}
			if output == "json" {
				return cli.PrintJSON(c.OutOrStdout(), e)
			}
			return printDecision(c.OutOrStdout(), e)
		},
	}
	f := c.Flags()
	f.StringVar(&policy, "policy", "", "the policy")
	f.StringVar(&request, "request", "", "the request")
	f.StringVar(&world, "world", "", "the state of the world")
	f.StringVar(&dutyMode, "duty-mode", string(odrl.DutiesFulfilled),
		"when a permission applies: while all its duties are fulfilled (fulfilled), or while none is violated (notViolated)")
	f.BoolVar(&batched, "batch", false, "read one request per line, and write one result per line")
	lenientFlag(c, &lenient)
	uidFlag(c)
	outputFlag(c, &output, "text", "json")
	return c
}

func decideOne(c *cobra.Command, policy, request, world string, mode odrl.DutyMode, lenient bool) (odrl.Evaluation, error) {
	p, src, err := loadPolicy(c, policy, lenient)
	if err != nil {
		return odrl.Evaluation{}, err
	}
	if lenient { // parts that were ignored or read differently
		printPolicyProblems(c.ErrOrStderr(), src, p.Warnings())
	}
	q, w, err := readQuestion(c, request, world, lenient)
	if err != nil {
		return odrl.Evaluation{}, err
	}
	return p.Evaluate(c.Context(), q, w, odrl.EvaluateOptions{DutyMode: mode})
}

// printDecision prints a decision for people.
func printDecision(w io.Writer, e odrl.Evaluation) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	verdict := "permit"
	if !e.Permit {
		verdict = "deny\t" + string(e.Reason)
	}
	fmt.Fprintln(t, verdict)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(t, "%s\t%s\n", name, cli.Sanitize(value))
		}
	}
	row("rule", e.Rule)
	row("why", e.Detail)
	for _, l := range e.Limits {
		row("limit", "at most "+l.String())
	}
	for _, c := range e.Charges {
		row("charge", c.Amount+" "+c.Currency+" by "+c.Rule)
	}
	for _, d := range e.Duties {
		row("duty", d.Action+" by "+d.Rule)
	}
	for _, r := range e.Rules {
		row("report", ruleWords(r))
	}
	return t.Flush()
}

// ruleWords returns one line of the report: the rule, its type, its states, and those parts of the rule that are not satisfied.
func ruleWords(r odrl.RuleReport) string {
	words := []string{r.Rule, r.Type, string(r.Activation)}
	if r.Deontic != "" {
		words = append(words, string(r.Deontic))
	}
	var open []string
	for _, part := range []struct {
		name  string
		state odrl.State
	}{{"party", r.Premise.Party}, {"action", r.Premise.Action}, {"target", r.Premise.Target}} {
		if part.state == odrl.Unsatisfied {
			open = append(open, part.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Constraints)) {
		if r.Constraints[name] == odrl.Unsatisfied {
			open = append(open, name)
		}
	}
	if len(open) > 0 {
		words = append(words, "(not satisfied: "+strings.Join(open, ", ")+")")
	}
	return strings.Join(words, " ")
}

func policyTestCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "test CASES", Short: "Test a policy with a table of requests",
		Long: `Test decides each request of a table, and compares the decision with the one that the table expects.
The table is YAML:

  policy: policy.json              # a path relative to the table, or the policy itself
  defaults:                        # shared by all cases
    request: {party: https://a.example/1, action: execute}
    world: {currentTime: "2030-06-15T12:00:00Z"}
  cases:
  - name: searching is limited
    request: {target: shop.example:search:v1}
    expect: {decision: permit, limits: [{max: 30, period_s: 60}], charges: []}

Besides decision, expect may have code, rule, limits, charges and duties. A key that expect omits may have
any value; null means that the key must be absent. A case may set its own policy, world, duty_mode and
lenient. Test prints each failed case with its line and its differences. The exit code is 1 if a case failed.`,
		Example: `  uimgate policy test cases.yaml
  uimgate policy test cases.yaml -o json`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			table, problems := cases.Load(args[0])
			cli.PrintProblems(c.ErrOrStderr(), problems)
			if table == nil {
				return cli.ErrSilent
			}
			known, err := vocabularies(c)
			if err != nil {
				return err
			}
			report := table.Run(c.Context(), func(path string) ([]byte, error) { return cli.ReadNamed(path, maxInput) }, known...)
			if output == "json" {
				err = cli.PrintJSON(c.OutOrStdout(), report)
			} else {
				err = printReport(c.OutOrStdout(), report)
			}
			if err == nil && report.Failed > 0 {
				return cli.ErrSilent
			}
			return err
		},
	}
	outputFlag(c, &output, "text", "json")
	return c
}

// printReport prints the failed cases, and the number of cases that passed.
func printReport(w io.Writer, t cases.Report) error {
	for _, c := range t.Cases {
		if c.Passed {
			continue
		}
		fmt.Fprintf(w, "%s:%d: %s\n", t.File, c.Line, cli.Sanitize(c.Name))
		if c.Error != "" {
			fmt.Fprintf(w, "    %s\n", cli.Sanitize(c.Error))
		}
		for _, m := range c.Differences {
			fmt.Fprintf(w, "    %s (line %d)\n        want %s\n        got  %s\n", m.Key, m.Line, cli.Sanitize(m.Want), cli.Sanitize(m.Got))
		}
		if c.Why != "" {
			fmt.Fprintf(w, "    because %s\n", cli.Sanitize(c.Why))
		}
	}
	_, err := fmt.Fprintf(w, "%s: %d of %s passed\n", t.File, t.Passed, problem.Counted(t.Passed+t.Failed, "case"))
	return err
}
