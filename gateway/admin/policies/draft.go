package policies

import (
	"context"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
)

// maxPolicyBody is the maximum size of a body that contains the text of a policy, in bytes. JSON may need two bytes for a byte of the text.
const maxPolicyBody = 2*odrl.MaxDocument + api.MaxBody

// draftPolicy publishes the text of a policy for a service. The refusal of an invalid policy lists its problems.
func draftPolicy(ctx context.Context, s *service.Service, text []byte) (*odrl.Policy, Policy, error) {
	p, found := s.Draft(ctx, text)
	if p == nil {
		return nil, Policy{}, reason.ConfigRefused.Refusal("The policy is not valid.").With("problems", policyProblems(text, found))
	}
	digest, err := pat.PolicyDigest(text)
	if err != nil {
		return nil, Policy{}, reason.ConfigRefused.Refusal("The policy is not valid.").
			With("problems", []reloads.Problem{{File: draftFile, Level: "error", Message: err.Error()}})
	}
	return p, Policy{UID: p.UID(), Digest: digest, Offered: digest == s.Offer().Digest}, nil
}

// draftFile names the text of a policy in problems.
const draftFile = "policy"

// policyProblems converts the problems that odrl found in the text of a policy.
func policyProblems(text []byte, found problem.List) []reloads.Problem {
	list := make([]reloads.Problem, 0, len(found))
	for _, p := range found {
		find, level := strictjson.Position, "error"
		if p.Code == "json" {
			find = strictjson.Place
		}
		if p.Level == problem.Warning {
			level = "warning"
		}
		line, column := find(text, p.Pointer)
		list = append(list, reloads.Problem{File: draftFile, Line: line, Column: column, Level: level, Message: p.String()})
	}
	return list
}
