package pat

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat/keys"
)

const (
	operation = ":execute"
	wildcard  = ":*:*:execute"
	// maxListed is the maximum number of entries that a scope lists before it names whole namespaces instead.
	maxListed = 64
	// maxRequested is the maximum number of entries in a requested scope, and maxEntry the maximum length of an entry in bytes.
	maxRequested = 1024
	maxEntry     = 300
)

// WholeScope returns the entry of a scope that contains every intent of a namespace: <namespace>:*:*:execute. See UIM core, section 4.3.
func WholeScope(namespace string) string { return namespace + wildcard }

// Terms are the terms of one service. Implementations are immutable and safe for concurrent use.
type Terms interface {
	// Offers returns the offered policies: first the one that is in force, and then its successors in the order in which they take effect.
	// There is at least one.
	Offers() []DatedOffer
	// Past returns up to MaxPast previously offered policies, newest first.
	Past() []Offer
	// Holds returns nil if an agreement to the policy with this digest permits calls to some intent: the policy is an offered one, or an
	// earlier one with the same clause for the intent. Otherwise it returns a *PolicyChangedError.
	Holds(digest string) error
	// Plans returns the plans of the policy with this digest, in document order; if that policy is not offered, it returns the plans of the
	// policy in force.
	Plans(digest string) []string
	// Scope returns the entries that an agent may have. The error is a *PlanError if the policy has plans, but the plan of the agreement is
	// not one of them.
	Scope(ctx context.Context, r ScopeRequest) (Scope, error)
}

// A DatedOffer is a policy that agents can agree to, and the time when it takes effect.
type DatedOffer struct {
	Offer

	From time.Time // zero: it has always been in force
}

// A ScopeRequest names an agent and the entries it requests.
type ScopeRequest struct {
	AgentID   AgentID
	KeyID     keys.ID
	PublicKey []byte // DER SubjectPublicKeyInfo
	Assurance Assurance
	// PolicyDigest identifies the policy of the agreement. An agreement to an earlier policy grants only intents with the same clause. Empty
	// means the policy that is in force.
	PolicyDigest string
	// Requested are entries <intent_uid>:execute or <namespace>:*:*:execute. If there are none, all entries are requested.
	Requested []string
	// Plan is the plan of the agreement; empty means no plan.
	Plan string
	// Spends reports whether a person permits charges for an intent in a currency without a proof of key. If Spends is nil, no charges are
	// permitted.
	Spends func(intent, currency string) bool
}

// A Scope is the scope that the terms grant to an agent.
type Scope struct {
	Entries []string // granted: <intent_uid>:execute (or <namespace>:*:*:execute), without duplicates
	Omitted []OmittedEntry
	Limit   limit.Rate // the claim lmt
	Charges bool       // the policy has a charge; a renewal then needs a proof of key
	Plan    string     // the plan that was requested, if the policy has plans
	Plans   []string   // the plans of the policy
}

// An OmittedEntry is an entry of a scope that was requested (or offered) but not granted, with the Reason.
type OmittedEntry struct {
	Entry  string        `json:"entry"`
	Reason reason.Reason `json:"reason"`
}

// normalScope checks the size of a list of entries, adds the operation to entries that only name an intent, and removes duplicates. It
// rejects an empty list, because that would mean everything; nil means that there is no list. The error is a *ScopeFormError.
func normalScope(entries []string) ([]string, error) {
	if len(entries) > maxRequested {
		return nil, &ScopeFormError{fmt.Sprintf("a scope may have at most %d entries", maxRequested)}
	}
	if entries == nil {
		return nil, nil
	}
	if len(entries) == 0 {
		return nil, &ScopeFormError{"a scope must name at least one intent: omit it to request everything that the policy permits"}
	}
	out := make([]string, 0, len(entries))
	seen := make(map[string]bool, len(entries))
	for _, e := range entries {
		if strings.Count(e, ":") == 2 {
			e += operation
		}
		if len(e) > maxEntry || !visible(e) || strings.Count(e, ":") != 3 || !strings.HasSuffix(e, operation) {
			return nil, &ScopeFormError{
				fmt.Sprintf("an entry of a scope must be <intent_uid> or <intent_uid>:execute, with at most %d visible ASCII characters", maxEntry),
			}
		}
		if !seen[e] {
			seen[e] = true
			out = append(out, e)
		}
	}
	return out, nil
}

// scopeClaim returns the scope in the form that a PAT contains: every entry, or whole namespaces if there are more than maxListed entries
// and no narrower scope was requested.
func scopeClaim(granted, requested []string) []string {
	narrower := slices.ContainsFunc(requested, func(e string) bool { return !strings.HasSuffix(e, wildcard) })
	if len(granted) <= maxListed || narrower {
		return granted
	}
	var out []string
	for _, e := range granted {
		namespace, _, _ := strings.Cut(e, ":")
		if entry := namespace + wildcard; !slices.Contains(out, entry) {
			out = append(out, entry)
		}
	}
	return out
}

// narrowScope splits requested into the entries that the signed scope covers and the others. A nil signed scope covers everything; an empty
// requested scope means all that was signed.
func narrowScope(signed, requested []string) (covered []string, omitted []OmittedEntry) {
	if signed == nil {
		return requested, nil
	}
	if len(requested) == 0 {
		return signed, nil
	}
	for _, e := range requested {
		if permits(signed, strings.TrimSuffix(e, operation)) || slices.Contains(signed, e) {
			covered = append(covered, e)
		} else {
			omitted = append(omitted, OmittedEntry{e, reason.ScopeExceeded})
		}
	}
	return covered, omitted
}

// permits reports whether a scope contains an intent, as <uid>:execute or as the whole namespace. All other forms are ignored. uid must be
// a single intent and not a pattern.
func permits(scope []string, uid string) bool {
	namespace, rest, ok := strings.Cut(uid, ":")
	name, version, ok2 := strings.Cut(rest, ":")
	if !ok || !ok2 || namespace == "" || name == "" || version == "" || strings.ContainsAny(uid, "*") || strings.Contains(version, ":") {
		return false
	}
	for _, e := range scope {
		if strings.HasSuffix(e, operation) && e[:len(e)-len(operation)] == uid {
			return true
		}
		if strings.HasSuffix(e, wildcard) && e[:len(e)-len(wildcard)] == namespace {
			return true
		}
	}
	return false
}
