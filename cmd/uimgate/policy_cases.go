package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/odrl"
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
			file, problems := config.LoadCases(args[0])
			printProblems(c.ErrOrStderr(), problems)
			if file == nil {
				return errSilent
			}
			t := tested{File: args[0], Cases: []testedCase{}}
			d := newDecider(odrl.DutiesFulfilled, false)
			for i := range file.Cases {
				t.add(try(c.Context(), d, &file.Cases[i]))
			}
			var err error
			if output == "json" {
				err = printJSON(c.OutOrStdout(), t)
			} else {
				err = t.tell(c.OutOrStdout())
			}
			if err == nil && t.Failed > 0 {
				return errSilent
			}
			return err
		},
	}
	outputFlag(c, &output, "text", "json")
	return c
}

// A tested is what policy test found.
type tested struct {
	File   string       `json:"file"`
	Passed int          `json:"passed"`
	Failed int          `json:"failed"`
	Cases  []testedCase `json:"cases"`
}

// A testedCase is what became of one case. Error is set where no decision was reached.
type testedCase struct {
	Name        string     `json:"name"`
	Line        int        `json:"line"`
	Passed      bool       `json:"passed"`
	Error       string     `json:"error,omitempty"`
	Differences []mismatch `json:"differences"`
	Why         string     `json:"why,omitempty"`
}

// A mismatch is a difference at the line that expects something else.
type mismatch struct {
	odrl.Difference
	Line int `json:"line"`
}

func (t *tested) add(c testedCase) {
	t.Cases = append(t.Cases, c)
	if c.Passed {
		t.Passed++
	} else {
		t.Failed++
	}
}

// try asks one request.
func try(ctx context.Context, d *decider, c *config.Case) testedCase {
	ctx, cancel := context.WithTimeout(ctx, lineTime)
	defer cancel()
	out := testedCase{Name: c.Name, Line: c.Line, Differences: []mismatch{}}
	e, err := d.decide(ctx, c)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	differences, err := e.Differences(c.Expect.Wanted())
	if err != nil {
		out.Error = err.Error()
		return out
	}
	for _, diff := range differences {
		out.Differences = append(out.Differences, mismatch{diff, c.Lines[diff.Key]})
	}
	if out.Passed = len(differences) == 0; !out.Passed {
		out.Why = e.Detail
	}
	return out
}

func (d *decider) decide(ctx context.Context, c *config.Case) (odrl.Evaluation, error) {
	doc, err := json.Marshal(c.Policy.Value)
	if c.File != "" {
		doc, err = readNamed(c.File, maxInput)
	}
	if err != nil {
		return odrl.Evaluation{}, err
	}
	p := d.policy(ctx, doc, c.Lenient)
	if p.policy == nil {
		return odrl.Evaluation{}, fmt.Errorf("policy: %s", firstError(p.problems))
	}
	request, err := json.Marshal(c.Request.Value)
	if err != nil {
		return odrl.Evaluation{}, err
	}
	q, err := odrl.ParseQuestion(request, c.Lenient) //nolint:contextcheck // its size bounds the reading
	if err != nil {
		return odrl.Evaluation{}, fmt.Errorf("request: %w", err)
	}
	state, err := json.Marshal(c.World.Value)
	if err != nil {
		return odrl.Evaluation{}, err
	}
	w, err := odrl.ParseWorldState(state)
	if err != nil {
		return odrl.Evaluation{}, fmt.Errorf("world: %w", err)
	}
	mode := d.mode
	if c.DutyMode != "" {
		mode = odrl.DutyMode(c.DutyMode)
	}
	return p.policy.Evaluate(ctx, q, w, odrl.EvaluateOptions{DutyMode: mode})
}

func (t *tested) tell(w io.Writer) error {
	for _, c := range t.Cases {
		if c.Passed {
			continue
		}
		fmt.Fprintf(w, "%s:%d: %s\n", t.File, c.Line, plain(c.Name))
		if c.Error != "" {
			fmt.Fprintf(w, "    %s\n", plain(c.Error))
		}
		for _, m := range c.Differences {
			fmt.Fprintf(w, "    %s (line %d)\n        want %s\n        got  %s\n", m.Key, m.Line, plain(m.Want), plain(m.Got))
		}
		if c.Why != "" {
			fmt.Fprintf(w, "    because %s\n", plain(c.Why))
		}
	}
	_, err := fmt.Fprintf(w, "%s: %d of %d case(s) passed\n", t.File, t.Passed, t.Passed+t.Failed)
	return err
}
