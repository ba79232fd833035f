package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
)

func policyReplayCommand() *cobra.Command {
	var policy string
	c := &cobra.Command{
		Use: "replay --policy FILE [AUDIT]", Short: "Decide again what a gateway decided, by its audit records",
		Long: `Replay takes the audit records of a gateway (audit.jsonl in its data directory, or stdin) and decides each
again, by the policy alone. One line of JSON is written for each record that was decided under this policy:
what the gateway decided and what the policy says now, by which rule, and whether that is the same. Records
of other policies, and of calls that never came to be decided, are passed over.

A record whose facts came from parameters holds digests of them, unless audit.parameters is set: it can be
followed, but not decided again. The exit code is 1 where a decision differs.`,
		Example: `  uimgate policy replay --policy policy.json data/audit.jsonl
  grep '"request_id":"r-17"' data/audit.jsonl | uimgate policy replay --policy policy.json`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if policy == "" {
				return usageError{errors.New("--policy is needed")}
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
			fmt.Fprintf(c.ErrOrStderr(), "%d decided again, %d differ; %d hold digests for facts, %d were not decided under this policy\n", r.decided, r.differ, r.withheld, r.others)
			switch {
			case r.differ > 0:
				return errors.New("the policy does not say what the gateway decided")
			case r.broken > 0:
				return fmt.Errorf("%d lines are no audit records that can be read", r.broken)
			default:
				return nil
			}
		},
	}
	c.Flags().StringVar(&policy, "policy", "", "the policy, as the gateway serves it")
	return c
}

// A replayer decides audit records again, and counts.
type replayer struct {
	policy                                    *odrl.Policy
	digest                                    string
	decided, differ, withheld, others, broken int
}

// replayed is the answer to one record.
type replayed struct {
	At        string   `json:"at"`
	RequestID string   `json:"request_id,omitempty"`
	Agent     string   `json:"agent"`
	Intent    string   `json:"intent"`
	Gateway   decision `json:"gateway"`
	Policy    decision `json:"policy"`
	Same      bool     `json:"same"`
}

type decision struct {
	Decision string        `json:"decision"`
	Code     reason.Reason `json:"code,omitempty"`
	Rule     string        `json:"rule,omitempty"`
}

// policyReasons are those for which the policy itself denies. A record with another one tells of a call that the
// policy let through.
var policyReasons = []reason.Reason{reason.PolicyViolation, reason.PolicyNotApplicable, reason.PolicyConflict, reason.PolicyRequiresVerification}

func (r *replayer) answer(ctx context.Context, line []byte) (any, error) {
	var record struct {
		At           string        `json:"at"`
		RequestID    string        `json:"request_id"`
		Agent        string        `json:"agent"`
		Intent       string        `json:"intent"`
		PolicyDigest string        `json:"policy_digest"`
		Decision     string        `json:"decision"`
		Rule         string        `json:"rule"`
		Reason       reason.Reason `json:"reason"`
		Withheld     []string      `json:"facts_sha256"`
		Asked        *struct {
			Request, World json.RawMessage
			DutyMode       odrl.DutyMode
		} `json:"asked"`
	}
	if err := json.Unmarshal(line, &record); err != nil {
		return nil, errors.New("the line is no audit record")
	}
	switch {
	case record.Asked == nil || record.PolicyDigest != r.digest || record.Rule == odrl.ExtraRule:
		r.others++
		return nil, nil //nolint:nilnil // it needs no answer
	case len(record.Withheld) > 0:
		r.withheld++
		return nil, nil //nolint:nilnil // it needs no answer
	}
	q, err := odrl.ParseQuestion(record.Asked.Request, false) //nolint:contextcheck // its size bounds the reading
	if err != nil {
		return nil, err
	}
	w, err := odrl.ParseWorldState(record.Asked.World)
	if err != nil {
		return nil, err
	}
	e, err := r.policy.Evaluate(ctx, q, w, odrl.EvaluateOptions{DutyMode: record.Asked.DutyMode})
	if err != nil {
		return nil, err
	}
	out := replayed{
		At: record.At, RequestID: record.RequestID, Agent: record.Agent, Intent: record.Intent,
		Gateway: decision{"permit", "", record.Rule}, Policy: decision{"permit", "", e.Rule},
	}
	if slices.Contains(policyReasons, record.Reason) {
		out.Gateway.Decision, out.Gateway.Code = "deny", record.Reason
	}
	if !e.Permit {
		out.Policy.Decision, out.Policy.Code = "deny", e.Reason
	}
	// Of several permissions the gateway takes the first whose limits and charge it could have.
	out.Same = out.Gateway == out.Policy || e.Permit && out.Gateway.Decision == "permit" && slices.Contains(e.Candidates, record.Rule)
	r.decided++
	if !out.Same {
		r.differ++
	}
	return out, nil
}
