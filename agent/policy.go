package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
)

// A Policy holds the terms that a service currently offers. See UIM core, section 6.
type Policy struct {
	UID    string // the uid of the document; empty if it has none
	Digest string // see pat.PolicyDigest
	Raw    []byte // exactly as served: an ODRL document
	URL    string // where it was fetched
}

// Policy fetches the policy that the service currently offers. The error wraps ErrAnswer if the document has no digest because it is not a
// JSON object or its numbers are not exact under RFC 8785: a client cannot agree to such a policy.
func (s *Service) Policy(ctx context.Context) (Policy, error) {
	e := s.Endpoints()
	from := s.agentsURL()
	var failures []error
	for _, address := range e.Policy {
		answer, err := s.client.document(ctx, address, from, pat.MaxPolicy, "")
		if err == nil {
			return readPolicy(answer)
		}
		failures = append(failures, err)
		if ctx.Err() != nil {
			break
		}
	}
	return Policy{}, fmt.Errorf("fetching the policy: %w", errors.Join(failures...))
}

// A Successor is a policy that a service already offers, and that takes effect at From.
type Successor struct {
	Policy

	From time.Time
}

// Successor fetches the policy that takes effect after the one in force. It returns false if the service announces none. Errors are those
// of Policy. If the document is not the announced one, the error wraps ErrAnswer.
func (s *Service) Successor(ctx context.Context) (Successor, bool, error) {
	catalog, _, at, err := s.client.agentsFile(ctx, s.Endpoints().Agents, nil)
	if err != nil {
		return Successor{}, false, fmt.Errorf("fetching agents.json: %w", err)
	}
	next := catalog.Successor
	if next == nil {
		return Successor{}, false, nil
	}
	answer, err := s.client.document(ctx, next.URL, at, pat.MaxPolicy, "")
	if err != nil {
		return Successor{}, false, fmt.Errorf("fetching the next policy: %w", err)
	}
	policy, err := readPolicy(answer)
	if err != nil {
		return Successor{}, false, err
	}
	if policy.Digest != next.Digest {
		return Successor{}, false, fmt.Errorf("%w: the next policy does not have the digest that agents.json announces", ErrAnswer)
	}
	return Successor{policy, next.From}, true, nil
}

func readPolicy(a fetch.Answer) (Policy, error) {
	digest, err := pat.PolicyDigest(a.Body)
	if err != nil {
		return Policy{}, answerError(err)
	}
	tree, err := strictjson.DecodeObject(a.Body)
	if err != nil {
		return Policy{}, answerError(err)
	}
	return Policy{UID: policyUID(tree), Digest: digest, Raw: a.Body, URL: a.URL.String()}, nil
}

// policyUID returns the uid of a policy, or an empty string if it has none. See ODRL IM, section 2.1.
func policyUID(tree map[string]any) string {
	for _, name := range []string{"uid", "@id", "id", "odrl:uid"} {
		switch v := tree[name].(type) {
		case string:
			return v
		case map[string]any:
			if id, ok := v["@id"].(string); ok {
				return id
			}
		}
	}
	return ""
}
