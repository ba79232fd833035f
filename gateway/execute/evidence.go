package execute

import (
	"context"
	"errors"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// Receipts signs receipts, and defines which evidence of a charge is stored. It must be safe for concurrent use.
type Receipts interface {
	// Sign returns the receipt for an entry of the ledger, or an empty string if calls are not answered with receipts.
	Sign(ctx context.Context, entry []byte) (string, error)
	// Proofs reports whether the proofs of key are stored, or only their digests.
	Proofs() bool
}

// Entries reads entries of the ledger.
type Entries interface {
	// Entry returns the entry about an execution that has the state to. If to is empty, it returns the newest entry about the execution.
	Entry(ctx context.Context, service string, agent pat.AgentID, execution string, to store.State) (store.LedgerEntry, error)
}

// prepareEvidence adds the evidence for the ledger to a request with a charge: digests of the call, of its proof of key, and of the
// question that the policy decided.
func (x *Executor) prepareEvidence(e *execution, r *store.BeginRequest) error {
	if r.Execution.Fingerprint == "" {
		if sum, err := x.requestDigest(e); err == nil { // if a number has no RFC 8785 form, the entries do not cover the request
			r.Execution.Fingerprint = sum
		}
	}
	question := e.reproduced().Hiding(e.fromParameters)
	asked, err := question.AppendJSON(make([]byte, 0, questionSize))
	if err != nil {
		return reason.Internal.Refusal("The decision of the policy could not be recorded.").Because(err)
	}
	v := store.Evidence{KeyID: string(e.claims.KeyID), Decision: evidence.Digest(asked), Text: &store.EvidenceText{Asked: asked}}
	if e.proof != nil && e.request.Proof != "" {
		v.Proof = evidence.Digest([]byte(e.request.Proof))
		if x.cfg.Receipts != nil && x.cfg.Receipts.Proofs() {
			v.Text.Proof = e.request.Proof
		}
	}
	if e.confirmation != nil {
		v.Proof = evidence.Digest([]byte(e.confirmation.Record))
		if x.cfg.Receipts != nil && x.cfg.Receipts.Proofs() {
			v.Text.Proof = e.confirmation.Record
		}
	}
	r.Execution.Evidence = &v
	return nil
}

// questionSize is large enough for most questions.
const questionSize = 512

// requestDigest returns the digest of the call. The proof of key covers the same digest.
func (x *Executor) requestDigest(e *execution) (string, error) {
	if e.digest != "" {
		return e.digest, nil
	}
	return fingerprint(e.request)
}

// sentDigest returns the digest of the output as the agent receives it, and its form. Both are empty for a call without a charge.
func (e *execution) sentDigest(s shapedCall) (digest, form string) {
	if s.refusal != nil || e.admission.Execution.Charge.IsZero() {
		return "", ""
	}
	if !e.call.Reencoded {
		return evidence.Digest(s.output), ""
	}
	tree, err := strictjson.Decode(s.output)
	if err != nil {
		return "", ""
	}
	canonical, err := strictjson.Canonical(tree)
	if err != nil { // RFC 8785 cannot represent a number: the receipt covers the bytes
		return evidence.Digest(s.output), ""
	}
	return evidence.Digest(canonical), evidence.FormCanonical
}

// addReceipt adds the receipt to a charge that has ended. A missing receipt never makes a call fail, because the agent can fetch it later.
func (x *Executor) addReceipt(ctx context.Context, e *execution, c *reason.Charge, entry []byte) {
	if x.cfg.Receipts == nil || c == nil || c.State == chargePending || len(entry) == 0 {
		return
	}
	text, err := x.cfg.Receipts.Sign(ctx, entry)
	if err != nil {
		e.receiptErr = err
		return
	}
	c.Receipt = text
}

// again returns the result of an earlier call, with the receipt of that call.
func (x *Executor) again(ctx context.Context, e *execution, r *replay) (Result, error) {
	result, err := r.result()
	charge := result.Charge
	if f, refused := errors.AsType[*reason.Refusal](err); refused {
		charge = f.Charge
	}
	if x.cfg.Receipts == nil || charge == nil || charge.State == chargePending {
		return result, err
	}
	entry, missing := x.cfg.State.Entry(ctx, r.execution.Service, r.execution.AgentID, r.execution.ID, "")
	if missing != nil {
		e.receiptErr = missing
		return result, err
	}
	x.addReceipt(ctx, e, charge, entry.Bytes)
	return result, err
}
