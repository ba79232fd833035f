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
		Use: "replay --policy FILE [AUDIT]", Short: "Decide again what a gateway decided, by its audit records",
		Long: `Replay reads the audit records of a gateway (audit.jsonl in its data directory, or stdin) and decides each
again, by the policy alone. It writes one line of JSON for each record that was decided under this policy:
the gateway's decision and the one now, with their rules, and whether they are the same. It skips records
of other policies, and of calls without a decision.

A record whose facts came from parameters has digests of them, unless audit.parameters is set: it can be
followed, but not decided again. The exit code is 1 if a decision differs.`,
		Example: `  uimgate policy replay --policy policy.json data/audit.jsonl
  grep '"request_id":"r-17"' data/audit.jsonl | uimgate policy replay --policy policy.json`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if policy == "" {
				return cli.Usage(errors.New("--policy is needed"))
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
			fmt.Fprintf(c.ErrOrStderr(), "%d decided again, %d differ; %d hold digests for facts, %d were not decided under this policy\n",
				r.decided, r.differ, r.withheld, r.others)
			switch {
			case r.differ > 0:
				return errors.New("the policy decides otherwise than the gateway did")
			case r.broken > 0:
				return fmt.Errorf("%d lines are not audit records that can be read", r.broken)
			default:
				return nil
			}
		},
	}
	c.Flags().StringVar(&policy, "policy", "", "the policy, as the gateway serves it")
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
		return nil, nil //nolint:nilnil // it needs no answer
	case errors.Is(err, record.ErrWithheld):
		r.withheld++
		return nil, nil //nolint:nilnil // it needs no answer
	case err != nil:
		return nil, err
	}
	r.decided++
	if !again.Same {
		r.differ++
	}
	return replayedLine{line.At, line.RequestID, line.Agent, line.Intent, again}, nil
}
