package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/odrl/cases"
)

func policyTestCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use: "test CASES", Short: "Try a policy on a table of requests",
		Long: `Test asks a policy each request of a table, and compares what it answers with what the table expects.
The table is YAML:

  policy: policy.json              # from the directory of the table; or the policy itself
  defaults:                        # what the cases share
    request: {party: https://a.example/1, action: execute}
    world: {currentTime: "2030-06-15T12:00:00Z"}
  cases:
  - name: searching is limited
    request: {target: shop.example:search:v1}
    expect: {decision: permit, limits: [{max: 30, period_s: 60}], charges: []}

Beside decision, expect may name code, rule, limits, charges and duties; what it leaves out may be
anything, and null stands for nothing. A case may have a policy, world, duty_mode and lenient of its own.
Each case that fails is shown with its line and its differences, and the exit code is 1.`,
		Example: `  uimgate policy test cases.yaml
  uimgate policy test cases.yaml -o json`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			table, problems := cases.Load(args[0])
			printProblems(c.ErrOrStderr(), problems)
			if table == nil {
				return errSilent
			}
			known, err := vocabularies(c)
			if err != nil {
				return err
			}
			report := table.Run(c.Context(), func(path string) ([]byte, error) { return readNamed(path, maxInput) }, known...)
			if output == "json" {
				err = printJSON(c.OutOrStdout(), report)
			} else {
				err = printReport(c.OutOrStdout(), report)
			}
			if err == nil && report.Failed > 0 {
				return errSilent
			}
			return err
		},
	}
	outputFlag(c, &output, "text", "json")
	return c
}

// printReport prints the cases that failed, and how many passed.
func printReport(w io.Writer, t cases.Report) error {
	for _, c := range t.Cases {
		if c.Passed {
			continue
		}
		fmt.Fprintf(w, "%s:%d: %s\n", t.File, c.Line, sanitize(c.Name))
		if c.Error != "" {
			fmt.Fprintf(w, "    %s\n", sanitize(c.Error))
		}
		for _, m := range c.Differences {
			fmt.Fprintf(w, "    %s (line %d)\n        want %s\n        got  %s\n", m.Key, m.Line, sanitize(m.Want), sanitize(m.Got))
		}
		if c.Why != "" {
			fmt.Fprintf(w, "    because %s\n", sanitize(c.Why))
		}
	}
	_, err := fmt.Fprintf(w, "%s: %d of %d case(s) passed\n", t.File, t.Passed, t.Passed+t.Failed)
	return err
}
