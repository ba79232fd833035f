package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/internal/nearest"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
)

func policyDecideCommand() *cobra.Command {
	var policy, request, world, dutyMode, output string
	var lenient, batched bool
	c := &cobra.Command{
		Use: "decide --policy FILE --request FILE", Short: "Decide one request under a policy, and say why",
		Long: `Decide says whether a policy permits a request, by which rule, under which limits, at what charge and
with which duties, and reports on every rule of the policy.

The request is {"party", "action", "target", "context": {left operand: value}}, or an ODRL document of
type Request with one permission. The world is {"currentTime", "partOf": [{"member", "collection"}],
"performed": [{"party", "action", "target", "time"}], "dutyReports": [{"rule", "performanceState",
"deonticState"}]}; without it only the time is known, and it is the present. Each is a file, - for
stdin, or the JSON itself. The exit code is 0 where a decision was reached, whichever it is.

With --batch, FILE (stdin if there is none) holds one {"policy", "request", "world", "dutyMode",
"lenient"} a line, the documents inline. One answer a line is written, in order, as soon as it is
known; a line that cannot be decided is answered {"error": …} in its place.`,
		Example: `  uimgate policy decide --policy policy.json --request request.json --world world.json -o json
  uimgate policy decide --policy policy.json --request '{"action":"execute","target":"shop.example:search:v1"}'
  uimgate policy decide --batch questions.jsonl > answers.jsonl`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			mode, err := parseDutyMode(dutyMode)
			if err != nil {
				return usageError{fmt.Errorf("--duty-mode: %w", err)}
			}
			switch {
			case batched && (policy != "" || request != "" || world != ""):
				return usageError{errors.New("with --batch the documents stand in the lines")}
			case batched:
				d := newDecider(mode, lenient)
				return batch(c, args, d.answer)
			case len(args) > 0:
				return usageError{errors.New("a file is for --batch: name the documents with --policy, --request and --world")}
			case policy == "" || request == "":
				return usageError{errors.New("--policy and --request are needed")}
			}
			if err := onlyOneStdin(policy, request, world); err != nil {
				return err
			}
			e, err := decideOne(c, policy, request, world, mode, lenient)
			if err != nil {
				return err
			}
			if output == "json" {
				return printJSON(c.OutOrStdout(), e)
			}
			return tellDecision(c.OutOrStdout(), e)
		},
	}
	f := c.Flags()
	f.StringVar(&policy, "policy", "", "the policy")
	f.StringVar(&request, "request", "", "the request")
	f.StringVar(&world, "world", "", "the state of the world")
	f.StringVar(&dutyMode, "duty-mode", string(odrl.DutiesFulfilled), "a permission holds while its duties are fulfilled, or while none is violated: fulfilled or notViolated")
	f.BoolVar(&batched, "batch", false, "one question a line, one answer a line")
	lenientFlag(c, &lenient)
	outputFlag(c, &output, "text", "json")
	return c
}

func parseDutyMode(s string) (odrl.DutyMode, error) {
	modes := []odrl.DutyMode{odrl.DutiesFulfilled, odrl.DutiesNotViolated}
	if !slices.Contains(modes, odrl.DutyMode(s)) {
		return "", fmt.Errorf("want fulfilled or notViolated, not %q", s)
	}
	return odrl.DutyMode(s), nil
}

func decideOne(c *cobra.Command, policy, request, world string, mode odrl.DutyMode, lenient bool) (odrl.Evaluation, error) {
	p, _, err := loadPolicy(c, policy, lenient)
	if err != nil {
		return odrl.Evaluation{}, err
	}
	q, w, err := readAsked(c, request, world, lenient)
	if err != nil {
		return odrl.Evaluation{}, err
	}
	return p.Evaluate(c.Context(), q, w, odrl.EvaluateOptions{DutyMode: mode})
}

// tellDecision prints a decision for people.
func tellDecision(w io.Writer, e odrl.Evaluation) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	verdict := "permit"
	if !e.Permit {
		verdict = "deny\t" + string(e.Reason)
	}
	fmt.Fprintln(t, verdict)
	say := func(name, value string) {
		if value != "" {
			fmt.Fprintf(t, "%s\t%s\n", name, plain(value))
		}
	}
	say("rule", e.Rule)
	say("why", e.Detail)
	for _, l := range e.Limits {
		say("limit", "at most "+l.String())
	}
	for _, c := range e.Charges {
		say("charge", c.Amount+" "+c.Currency+" by "+c.Rule)
	}
	for _, d := range e.Duties {
		say("duty", d.Action+" by "+d.Rule)
	}
	for _, r := range e.Rules {
		say("report", ruleWords(r))
	}
	return t.Flush()
}

// ruleWords is one line of the report: the rule, its states, and what is not satisfied.
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

// A decider answers the lines of a batch. A policy that several lines hold is read once.
type decider struct {
	mode    odrl.DutyMode
	lenient bool
	loaded  map[string]loaded
	held    int // bytes of the policies in loaded
}

type loaded struct {
	policy   *odrl.Policy
	problems problem.List
}

// maxHeld bounds the policies that a batch keeps, in bytes of their documents.
const maxHeld = 64 << 20

func newDecider(mode odrl.DutyMode, lenient bool) *decider {
	return &decider{mode: mode, lenient: lenient, loaded: map[string]loaded{}}
}

// undecided is the answer to a question whose policy is refused.
type undecided struct {
	Error    string       `json:"error"`
	Problems problem.List `json:"problems"`
}

var questionKeys = []string{"policy", "request", "world", "dutyMode", "lenient"}

func (d *decider) answer(ctx context.Context, line []byte) (any, error) {
	var parts map[string]jsontext.Value
	if err := json.Unmarshal(line, &parts); err != nil {
		return nil, errors.New("the line is not one JSON object with each key once")
	}
	for key := range parts {
		if near := nearest.Name(key, questionKeys); near != "" && !slices.Contains(questionKeys, key) {
			return nil, fmt.Errorf("unknown key %q: did you mean %s?", key, near)
		}
	}
	mode, lenient := d.mode, d.lenient
	if raw, ok := parts["dutyMode"]; ok && !null(raw) {
		var s string
		err := json.Unmarshal(raw, &s)
		if err == nil {
			mode, err = parseDutyMode(s)
		}
		if err != nil {
			return nil, errors.New("dutyMode: want fulfilled or notViolated")
		}
	}
	if raw, ok := parts["lenient"]; ok && !null(raw) {
		if err := json.Unmarshal(raw, &lenient); err != nil {
			return nil, errors.New("lenient: want true or false")
		}
	}
	for _, key := range []string{"policy", "request"} {
		if null(parts[key]) {
			return nil, fmt.Errorf("the line has no %s", key)
		}
	}
	q, err := odrl.ParseQuestion(parts["request"], lenient) //nolint:contextcheck // its size bounds the reading
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	w := odrl.WorldState{Now: time.Now()}
	if !null(parts["world"]) {
		if w, err = odrl.ParseWorldState(parts["world"]); err != nil {
			return nil, fmt.Errorf("world: %w", err)
		}
	}
	p := d.policy(ctx, parts["policy"], lenient)
	if p.policy == nil {
		return undecided{"policy: " + firstError(p.problems), append(problem.List{}, p.problems...)}, nil
	}
	e, err := p.policy.Evaluate(ctx, q, w, odrl.EvaluateOptions{DutyMode: mode})
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (d *decider) policy(ctx context.Context, doc []byte, lenient bool) loaded {
	key := fmt.Sprintf("%t %s", lenient, doc)
	if known, ok := d.loaded[key]; ok {
		return known
	}
	var l loaded
	l.policy, l.problems = odrl.Load(ctx, doc, odrl.LoadOptions{Lenient: lenient})
	if d.held += len(key); d.held > maxHeld {
		clear(d.loaded)
		d.held = len(key)
	}
	if ctx.Err() == nil { // else the time was up, which another line may have
		d.loaded[key] = l
	}
	return l
}

func firstError(problems problem.List) string {
	for _, p := range problems {
		if p.Level == problem.Error {
			return p.String()
		}
	}
	return "it cannot be read"
}

func null(raw jsontext.Value) bool { return len(raw) == 0 || raw.Kind() == 'n' }
