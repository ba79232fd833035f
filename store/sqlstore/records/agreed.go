package records

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

const (
	// selectCharged names the agreements and the policies of all charges.
	selectCharged  = "SELECT DISTINCT service, agreement_id, policy_digest FROM executions WHERE amount > 0 AND agreement_id <> ''"
	selectPolicies = "SELECT service, digest, uid, body FROM policies"
	selectAgreed   = "SELECT " + agreementRead + " FROM agreements"
)

// A documentName names an agreement, by its id, or a policy, by its digest.
type documentName struct{ service, name string }

func (n documentName) compare(o documentName) int {
	return cmp.Or(strings.Compare(n.service, o.service), strings.Compare(n.name, o.name))
}

// CheckAgreements checks that the agreement and the policy of each charge are stored, and verifies the signatures of these agreements
// again: see pat.StoredPolicy. The error wraps store.ErrAltered if a document is missing or was altered.
func (s *Records) CheckAgreements(ctx context.Context) error {
	return s.db.Snapshot(ctx, func(reader *engine.Reader) error {
		agreements, policies := readCharged(ctx, reader)
		stored := readStoredPolicies(ctx, reader)
		for p := range policies {
			if _, found := stored[p]; !found {
				return alteredDocument(p, "the policy %s of a charge is missing, or was altered")
			}
		}
		for a := range engine.Records(ctx, reader, scanAgreement, selectAgreed) {
			name := documentName{a.Service, string(a.ID)}
			if !agreements[name] {
				continue
			}
			delete(agreements, name)
			if stored[documentName{a.Service, a.PolicyDigest}].Verify(a) != nil {
				return alteredDocument(name, "the agreement %s does not verify")
			}
		}
		if missing := slices.SortedFunc(maps.Keys(agreements), documentName.compare); len(missing) > 0 {
			return alteredDocument(missing[0], "the agreement %s of a charge is missing")
		}
		return nil
	})
}

func alteredDocument(n documentName, format string) error {
	return fmt.Errorf("service %q: %s: %w", n.service, fmt.Sprintf(format, n.name), store.ErrAltered)
}

// readCharged returns the names of the agreements and policies of all charges.
func readCharged(ctx context.Context, reader *engine.Reader) (agreements, policies map[documentName]bool) {
	agreements, policies = map[documentName]bool{}, map[documentName]bool{}
	for row := range reader.Query(ctx, selectCharged) {
		var service, agreement, policy string
		row(&service, &agreement, &policy)
		agreements[documentName{service, agreement}], policies[documentName{service, policy}] = true, true
	}
	return agreements, policies
}

// readStoredPolicies returns the policies whose documents have their digests.
func readStoredPolicies(ctx context.Context, reader *engine.Reader) map[documentName]pat.StoredPolicy {
	out := map[documentName]pat.StoredPolicy{}
	for row := range reader.Query(ctx, selectPolicies) {
		var d pat.PolicyDocument
		row(&d.Service, &d.Digest, &d.UID, &d.Bytes)
		if p, err := pat.NewStoredPolicy(d); err == nil {
			out[documentName{d.Service, d.Digest}] = p
		}
	}
	return out
}
