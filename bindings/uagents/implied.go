package uagents

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/uimgate/uimgate/bindings/uagents/agreement"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// unexpiringKept is how long the digest of an executed envelope without expiry is stored. Until then, the envelope is not executed again.
const unexpiringKept = 90 * 24 * time.Hour

// agreementImplied is the value of Mapping.Agreement with which a message implies an agreement. With any other value, it does not.
const agreementImplied = "implied"

// CheckTerms implements service.TermsChecker. Calls under implied agreements are never charged, so the policy must permit each of their
// intents without a charge and without a proof of key.
func (s *Settings) CheckTerms(ctx context.Context, d *service.Definition, fail func(key, format string, args ...any)) {
	for i, m := range s.Models {
		if m.Agreement != agreementImplied || m.Intent == "" {
			continue
		}
		key := modelKey(i) + ".intent"
		in, err := d.Executable(m.Intent)
		switch {
		case err != nil:
			fail(key, "is not an intent of the service that can be called, so agreement: implied cannot permit it")
		case d.NeedsKey(ctx, in):
			fail(key, "agreement: implied permits only calls that cost nothing and need no proof of key: each call of %s has a price, "+
				"or is reserved for agents that agree themselves. Use agreement: required", m.Intent)
		}
	}
}

// impliedScope returns the intents of the models whose messages imply an agreement, sorted.
func (s *Settings) impliedScope() []string {
	var uids []string
	for _, m := range s.mapped {
		if m.Agreement == agreementImplied {
			uids = append(uids, m.Intent)
		}
	}
	slices.Sort(uids)
	return slices.Compact(uids)
}

// callImplied executes a call whose message implies an agreement. If the envelope expires and the agent has a valid PAT under an agreement
// of its own, the call is made under that PAT.
func (x *exchange) callImplied(request execute.Request) (execute.Result, error) {
	if err := x.known(); err != nil {
		return execute.Result{}, err
	}
	key, _ := x.key()
	if x.Expires != nil {
		token, err := x.Service.Issuance.Current(x.r.Context(), pat.AgentID(x.Sender), key.Thumbprint())
		switch {
		case err == nil:
			return x.callWith(token, x.messageKey(), request, nil, x.proved())
		case !lacksPAT(err):
			return execute.Result{}, execute.Unsent(refusal.For(err))
		}
	}
	token, err := x.impliedToken(key, request.IntentUID)
	if err != nil {
		return execute.Result{}, execute.Unsent(err)
	}
	return x.callWith(token, x.messageKey(), request, nil, x.once(key))
}

// lacksPAT reports whether an error of pat.Issuer.Current means that the agent has no valid PAT, but may agree again.
func lacksPAT(err error) bool {
	return errors.Is(err, pat.ErrMissing) || errors.Is(err, pat.ErrExpired) || errors.Is(err, pat.ErrRevoked)
}

// impliedToken returns a PAT under the implied agreement of the sender to the policy in force. If there is none, the envelope becomes the
// agreement. The error is a *reason.Refusal.
func (x *exchange) impliedToken(key keys.Key, uid string) (string, error) {
	token, err := x.Service.Issuance.CurrentImplied(x.r.Context(), pat.AgentID(x.Sender), key.Thumbprint(), uid)
	switch {
	case err == nil:
		return token, nil
	case !lacksPAT(err):
		return "", refusal.For(err)
	case len(x.raw) > agreement.MaxBytes:
		return "", reason.BodyTooLarge.Refusal(
			"The first message of an agent implies an agreement, and its envelope is too large to be stored as one.").
			With("suggestion", "Send a smaller message first.")
	}
	issued, err := x.Issue(x.r.Context(), func() (pat.IssueRequest, error) {
		own := x.settings()
		return pat.IssueRequest{
			Evidence: agreement.Call{Envelope: x.raw, Target: own.Address, Model: x.SchemaDigest}, Scope: own.impliedScope(),
		}, nil
	})
	switch {
	case err != nil:
		return "", refusal.For(err)
	case issued.State == pat.AgreementPending:
		return "", reason.InsufficientPermissions.Refusal("The operator of the service must approve the agent first.").
			With("status", "pending").With("agreement_id", issued.AgreementID).
			With("suggestion", "Send the message again once the operator has approved the agent.")
	}
	return issued.Token, nil
}

// once returns the envelope as a proof that can be used only once, even if the envelope does not expire.
func (x *exchange) once(key keys.Key) *pat.Proof {
	if proof := x.proved(); proof != nil {
		return proof
	}
	digest := x.Digest()
	return &pat.Proof{Nonce: hex.EncodeToString(digest[:]), Until: x.d.now().Add(unexpiringKept), Key: key}
}
