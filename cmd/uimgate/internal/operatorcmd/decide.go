package operatorcmd

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/gateway/admin/policies"
)

// decideFlags are the flags with which uimgate why decides a call again.
type decideFlags struct {
	again                bool
	policy, digest, when string
	facts                []string
}

func (d *decideFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&d.again, "again", false, "decide the call again under the policy in force")
	f.StringVar(&d.policy, "policy", "", "decide the call again under the policy in this file; -: stdin")
	f.StringVar(&d.digest, "policy-digest", "", "decide the call again under an earlier policy of the gateway, such as the one that decided it")
	f.StringArrayVar(&d.facts, "fact", nil, "decide the call again with this fact, as OPERAND=VALUE; may be repeated")
	f.StringVar(&d.when, "at", "", "decide the call again as if it were made at this time")
	c.MarkFlagsMutuallyExclusive("policy", "policy-digest")
}

func (d *decideFlags) wanted() bool {
	return d.again || d.policy != "" || d.digest != "" || d.when != "" || len(d.facts) > 0
}

// request returns the request that makes the gateway decide the call with an id again.
func (d *decideFlags) request(c *cobra.Command, id string) (r policies.DecideRequest, err error) {
	r = policies.DecideRequest{RequestID: id, PolicyDigest: d.digest}
	if r.At, err = moment("--at", d.when); err != nil {
		return r, cli.Usage(err)
	}
	for _, text := range d.facts {
		operand, value, ok := strings.Cut(text, "=")
		if !ok || operand == "" {
			return r, cli.Usage(errors.New("--fact must be OPERAND=VALUE, such as purpose=research"))
		}
		if r.Facts == nil {
			r.Facts = map[string]any{}
		}
		r.Facts[operand] = policies.FactOf(value)
	}
	if d.policy == "" {
		return r, nil
	}
	text, err := readPolicy(c, d.policy)
	r.Policy = string(text)
	return r, err
}

// decide decides a call again and prints the result.
func (o *operator) decide(c *cobra.Command, id string, d *decideFlags) error {
	r, err := d.request(c, id)
	if err != nil {
		return err
	}
	r.Service = o.service
	answer, err := call(c, o, operation.Decide, r)
	if err != nil {
		printRefusedPolicy(c.ErrOrStderr(), d.policy, err)
		return err
	}
	return cli.Print(c, o.format, answer, answer.Constraints, constraintColumns, func(out io.Writer) error {
		return printDecided(out, &answer)
	})
}

var constraintColumns = cli.Fields("rule type operand operator wanted unit found state",
	cli.TextColumn("found", foundText),
)

func foundText(s policies.ConstraintState) string {
	if s.Found == nil {
		return ""
	}
	return whyFact(s.Found)
}

// printDecided prints a decision for people.
func printDecided(out io.Writer, d *policies.PolicyDecision) error {
	t := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	row := func(name string, texts ...string) {
		if text := strings.Join(texts, ", "); text != "" {
			fmt.Fprintf(t, "%s\t%s\n", name, cli.Sanitize(text))
		}
	}
	verdict := func(decision, reason string) string { return strings.TrimSpace(decision + " " + reason) }
	if r := d.Recorded; r != nil {
		row("recorded", verdict(r.Decision, string(r.Reason)))
		row("charged", r.Charge)
	}
	row("again", verdict(d.Decision, string(d.Reason)))
	row("policy", d.Policy.UID, d.Policy.Digest)
	row("at", cli.HumanTime(d.At))
	row("rule", d.Rule)
	row("why", d.Detail)
	row("limits", d.Limits...)
	row("charge", d.Charge)
	row("duties", d.Duties...)
	for _, s := range d.Constraints {
		found := "unknown"
		if s.Found != nil {
			found = whyFact(s.Found)
		}
		if s.State == "counted" {
			found = "counted by the gateway"
		}
		row(s.State, strings.TrimSpace(s.Rule+": "+s.Operand+" "+s.Operator+" "+strings.Join(s.Wanted, ", ")+" "+s.Unit), "found: "+found)
	}
	for _, operand := range d.Unknown {
		row("unknown", operand+": give its value with --fact "+operand+"=VALUE")
	}
	return t.Flush()
}
