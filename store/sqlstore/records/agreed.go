package records

import (
	"cmp"
	"context"
	"database/sql"
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
	return s.db.Snapshot(ctx, func(reader *sql.Tx) error {
		agreements, policies, err := readCharged(ctx, reader)
		if err != nil {
			return err
		}
		stored, err := readStoredPolicies(ctx, reader)
		if err != nil {
			return err
		}
		for p := range policies {
			if _, found := stored[p]; !found {
				return alteredDocument(p, "the policy %s of a charge is missing, or was altered")
			}
		}
		err = drain(ctx, reader, selectAgreed, func(scan engine.Scan) error {
			a, err := scanAgreement(scan)
			if err != nil {
				return err
			}
			name := documentName{a.Service, string(a.ID)}
			if !agreements[name] {
				return nil
			}
			delete(agreements, name)
			if stored[documentName{a.Service, a.PolicyDigest}].Verify(a) != nil {
				return alteredDocument(name, "the agreement %s does not verify")
			}
			return nil
		})
		if err != nil {
			return err
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
func readCharged(ctx context.Context, reader *sql.Tx) (agreements, policies map[documentName]bool, err error) {
	agreements, policies = map[documentName]bool{}, map[documentName]bool{}
	err = drain(ctx, reader, selectCharged, func(scan engine.Scan) error {
		var service, agreement, policy string
		err := scan(&service, &agreement, &policy)
		agreements[documentName{service, agreement}], policies[documentName{service, policy}] = true, true
		return err
	})
	return agreements, policies, err
}

// readStoredPolicies returns the policies whose documents have their digests.
func readStoredPolicies(ctx context.Context, reader *sql.Tx) (map[documentName]pat.StoredPolicy, error) {
	out := map[documentName]pat.StoredPolicy{}
	err := drain(ctx, reader, selectPolicies, func(scan engine.Scan) error {
		var d pat.PolicyDocument
		if err := scan(&d.Service, &d.Digest, &d.UID, &d.Bytes); err != nil {
			return err
		}
		if p, err := pat.NewStoredPolicy(d); err == nil {
			out[documentName{d.Service, d.Digest}] = p
		}
		return nil
	})
	return out, err
}

// drain calls each for every row of a query.
func drain(ctx context.Context, reader *sql.Tx, query string, each func(engine.Scan) error) error {
	rows, err := reader.QueryContext(ctx, query)
	if err != nil {
		return engine.Unavailable(err)
	}
	return engine.Drain(rows, each)
}
