package policycmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
)

func policyReplayCommand() *cobra.Command {
	var policy string
	c := &cobra.Command{
		Use: "replay --policy FILE [AUDIT]", Short: "Repeat the decisions of a gateway from its audit records",
		Long: `Replay reads the audit records of a gateway (audit.jsonl in its data directory, or stdin) and repeats each
decision by the policy alone. For each record that was decided under this policy, it writes one line of
JSON: the gateway's decision and the new one, with their rules, and whether they are the same. It skips
records of other policies, and of calls without a decision.

If a decision depended on parameters of the call, the record contains only their digests unless
audit.parameters is set, and replay cannot repeat the decision. The exit code is 1 if a decision differs or
a line is not an audit record.`,
		Example: `  uimgate policy replay --policy policy.json data/audit.jsonl
  grep '"request_id":"r-17"' data/audit.jsonl | uimgate policy replay --policy policy.json`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if policy == "" {
				return cli.Usage(errors.New("--policy is required"))
			}
			if err := onlyOneStdin(slices.Concat(args, []string{policy})...); err != nil {
				return err
			}
			p, doc, err := loadPolicy(c, policy, false)
			if err != nil {
				return err
			}
			digest, err := pat.PolicyDigest(doc.data)
			if err != nil {
				return fmt.Errorf("%s: %w", doc.name, err)
			}
			r := &replayer{policy: p, digest: digest}
			if err := batch(c, args, func(ctx context.Context, line []byte) (any, error) {
				a, err := r.answer(ctx, line)
				if err != nil {
					r.broken++
				}
				return a, err
			}); err != nil {
				return err
			}
			fmt.Fprintf(c.ErrOrStderr(), "%d decided again, %d differ; %d have only digests of facts, %d were not decided under this policy\n",
				r.decided, r.differ, r.withheld, r.others)
			switch {
			case r.differ > 0:
				return errors.New("some decisions differ from those of the gateway")
			case r.broken > 0:
				return fmt.Errorf("%d lines are not valid audit records", r.broken)
			default:
				return nil
			}
		},
	}
	c.Flags().StringVar(&policy, "policy", "", "the policy, exactly as the gateway serves it")
	return c
}

// A replayer decides audit records again, and counts the results.
type replayer struct {
	policy                                    *odrl.Policy
	digest                                    string
	decided, differ, withheld, others, broken int
}

// A replayedLine is the result for one record.
type replayedLine struct {
	At        time.Time `json:"at"`
	RequestID string    `json:"request_id,omitempty"`
	Agent     string    `json:"agent"`
	Intent    string    `json:"intent"`
	record.Replay
}

func (r *replayer) answer(ctx context.Context, text []byte) (any, error) {
	line, err := record.ParseLine(text)
	if err != nil {
		return nil, err
	}
	again, err := line.Replay(ctx, r.policy, r.digest)
	switch {
	case errors.Is(err, record.ErrOtherPolicy):
		r.others++
		return nil, nil //nolint:nilnil // nil means no output for this record
	case errors.Is(err, record.ErrWithheld):
		r.withheld++
		return nil, nil //nolint:nilnil // nil means no output for this record
	case err != nil:
		return nil, err
	}
	r.decided++
	if !again.Same {
		r.differ++
	}
	return replayedLine{line.At, line.RequestID, line.Agent, line.Intent, again}, nil
}
