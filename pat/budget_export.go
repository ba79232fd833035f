package pat

import (
	"encoding/base64"
	"slices"

	"github.com/uimgate/uimgate/pat/keys"
)

// MaxBudgetChanges is the maximum number of times that the budget of one consent can be changed.
const MaxBudgetChanges = 200

// An ExportedBudget is a changed budget of a consent, from a bundle that was verified.
type ExportedBudget struct {
	Record BudgetRecord
	Budget Budget
	// Proved: the bundle has the gateway's key, and the key signed the record, or a later proved record that contains the digest of this one.
	// Otherwise the gateway has deleted the key, and only the exporter claims that the gateway signed the record.
	Proved bool
}

// bundleBudget is the JSON form of a SignedBudget. Exactly one of GatewayKey and KeyGone is present.
type bundleBudget struct {
	Record     string `json:"record"`
	GatewayKey string `json:"gateway_public_key,omitempty"` // DER SubjectPublicKeyInfo
	KeyGone    bool   `json:"key_gone,omitempty"`           // true: the gateway has deleted the key
}

// exportBudgets verifies the changed budgets of a consent, and returns their form in a bundle. It adds the missing keys that are the key of
// the consent or of another change. The error is of kind ErrBadExport.
func exportBudgets(a Agreement, list []SignedBudget) ([]bundleBudget, error) {
	known := map[keys.ID][]byte{}
	for _, spki := range append([][]byte{a.PublicKey}, publicKeys(list)...) {
		if key, err := keys.ParseSPKI(spki); err == nil {
			known[key.Thumbprint()] = spki
		}
	}
	list = slices.Clone(list)
	var out []bundleBudget
	for i, b := range list {
		if len(b.PublicKey) == 0 {
			b.PublicKey = known[b.KeyID()]
			list[i] = b
		}
		out = append(out, bundleBudget{b.Record, base64.RawURLEncoding.EncodeToString(b.PublicKey), len(b.PublicKey) == 0})
	}
	_, err := verifyBudgets(a, list)
	return out, err
}

func publicKeys(list []SignedBudget) (out [][]byte) {
	for _, b := range list {
		out = append(out, b.PublicKey)
	}
	return out
}

// verifyBudgets verifies the changed budgets of a consent, the oldest first. Each must name the consent and the digest of the record before
// it, and may change only the amounts of the budget in the record of the consent. Unless its PublicKey is empty, that key must have signed
// it. The error is of kind ErrBadExport.
func verifyBudgets(a Agreement, list []SignedBudget) ([]ExportedBudget, error) {
	if len(list) == 0 {
		return nil, nil
	}
	consent, ok := a.Consent()
	first, err := consent.Budget.budget()
	if !ok || err != nil || first == nil {
		return nil, errorOfKind(ErrBadExport, "only the budget of a consent can change")
	}
	if len(list) > MaxBudgetChanges {
		return nil, errorOfKind(ErrBadExport, "a budget can change at most %d times", MaxBudgetChanges)
	}
	out, proved, previous := make([]ExportedBudget, len(list)), 0, a.Signature
	for i, b := range list {
		n := i + 1
		record, j, err := readBudgetRecord(b.Record)
		if err != nil {
			return nil, errorOfKind(ErrBadExport, "change %d of the budget: the record is malformed", n)
		}
		changed, err := record.Budget.budget()
		switch {
		case err != nil:
			return nil, errorOfKind(ErrBadExport, "change %d of the budget: the amounts are not valid", n)
		case record.Issuer != a.Issuer || record.AgentID != a.AgentID || record.Agreement != a.ID:
			return nil, errorOfKind(ErrBadExport, "change %d of the budget belongs to another consent", n)
		case record.Previous != DigestOf(previous):
			return nil, errorOfKind(ErrBadExport, "change %d of the budget does not follow the record before it", n)
		case changed.Currency != first.Currency || changed.Period != first.Period || !slices.Equal(changed.Intents, first.Intents):
			return nil, errorOfKind(ErrBadExport, "change %d of the budget changes more than the amounts", n)
		}
		if len(b.PublicKey) > 0 {
			key, err := keys.ParseSPKI(b.PublicKey)
			if err != nil || keys.ID(j.KeyID) != key.Thumbprint() || !j.SignedBy(key) {
				return nil, errorOfKind(ErrBadExport, "change %d of the budget: the gateway's key did not sign the record", n)
			}
			proved = n
		}
		out[i], previous = ExportedBudget{Record: record, Budget: *changed}, []byte(b.Record)
	}
	for i := range proved {
		out[i].Proved = true
	}
	return out, nil
}

// budgets reads the member budget_changes.
func (r *exportReader) budgets() (out []SignedBudget) {
	const name = "budget_changes"
	v, present := r.tree[name]
	list, ok := v.([]any)
	if present && (!ok || len(list) > MaxBudgetChanges) {
		r.fault(name)
		return nil
	}
	for _, v := range list {
		of := exportReader{}
		of.tree, _ = v.(map[string]any)
		b := SignedBudget{Record: of.text("record")}
		if gone, has := of.tree["key_gone"]; !has {
			b.PublicKey = of.bytes("gateway_public_key")
		} else if _, keyed := of.tree["gateway_public_key"]; keyed || gone != true {
			of.fault(name)
		}
		if of.faulty != "" || len(b.PublicKey) == 0 && of.tree["key_gone"] != true {
			r.fault(name)
		}
		out = append(out, b)
	}
	return out
}
