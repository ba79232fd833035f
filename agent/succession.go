package agent

import (
	"context"
	"net/url"

	"github.com/uimgate/uimgate/agent/receipts"
	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/pat"
)

// successor returns the digest of the policy that a receipt names if the agreement also covers calls to the intent
// under that policy, and the session has another policy. The agreement covers them if the agent also agreed to that
// policy, or if that policy has the same terms for the intent as the agreed one. Otherwise, successor returns an empty string.
func (s *Service) successor(ctx context.Context, session Session, receipt, intent string) string {
	r, err := evidence.ParseReceipt(receipt)
	digest := r.Entry.Policy
	if err != nil || digest == "" || session.PolicyDigest == "" || digest == session.PolicyDigest {
		return ""
	}
	if next, ok := session.Next(); ok && next.PolicyDigest == digest {
		return digest
	}
	policy, found := s.policyWith(ctx, digest)
	if !found || len(session.Document) == 0 || !s.sameTerms(ctx, session.Document, policy.Raw, intent) {
		return ""
	}
	return digest
}

// sameTerms reports whether two policies have the same terms for an intent.
func (s *Service) sameTerms(ctx context.Context, before, after []byte, intent string) bool {
	if evidence.SameTerms(before, after, intent) {
		return true
	}
	compare := s.client.o.SameTerms
	if compare == nil {
		return false
	}
	catalog, err := s.Catalog(ctx)
	return err == nil && compare(ctx, before, after, catalog, intent)
}

// policyWith returns the policy with a digest, if the client has kept it or the service offers it. The client looks
// for a policy at the service at most once a minute.
func (s *Service) policyWith(ctx context.Context, digest string) (Policy, bool) {
	s.mu.Lock()
	last, now := s.policy, s.client.o.Now()
	may := s.policyFetched.IsZero() || !now.Before(s.policyFetched.Add(trustPause))
	s.mu.Unlock()
	if last.Digest == digest {
		return last, true
	}
	book := s.Book()
	if book != nil {
		if kept, err := book.Policy(digest); err == nil {
			return s.keepPolicy(Policy{UID: kept.UID, Digest: digest, Raw: kept.Document}), true
		}
	}
	if !may {
		return Policy{}, false
	}
	s.mu.Lock()
	s.policyFetched = now
	s.mu.Unlock()
	policy, err := s.Policy(ctx)
	if err != nil || policy.Digest != digest {
		if policy, err = s.policyAt(ctx, digest); err != nil || policy.Digest != digest {
			return Policy{}, false
		}
	}
	if book != nil {
		_ = book.KeepPolicy(receipts.Policy{UID: policy.UID, Digest: digest, Document: policy.Raw}) // otherwise, the client fetches it again
	}
	return s.keepPolicy(policy), true
}

// keepPolicy keeps a policy for later receipts.
func (s *Service) keepPolicy(p Policy) Policy {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policy = p
	return p
}

// policyAt fetches the offered policy that has a digest.
func (s *Service) policyAt(ctx context.Context, digest string) (Policy, error) {
	u, err := url.Parse(s.Endpoints().Policy[0])
	if err != nil {
		return Policy{}, err
	}
	query := u.Query()
	query.Set("digest", digest)
	u.RawQuery = query.Encode()
	answer, err := s.client.document(ctx, u.String(), s.agentsURL(), pat.MaxPolicy, "")
	if err != nil {
		return Policy{}, err
	}
	return readPolicy(answer)
}
