package receipts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/pat"
)

// A Bundle is what an export contains beside the records of the book.
type Bundle struct {
	Issuer   string
	Agent    pat.AgentID
	Period   Period   // of the entries
	Policies []Policy // that the agent agreed to, as far as it kept them
}

// A Policy is a policy that the agent agreed to.
type Policy struct {
	UID      string `json:"uid"`
	Digest   string `json:"digest"`
	Document []byte `json:"document"`
}

// Export writes a bundle of evidence: JSON lines with the keys of the service, the policies, the entries of each account in the order of
// their numbers, and the newest checkpoint. It exports only what verifies. Errors are those of Records and of w.
func (b *Book) Export(w io.Writer, o Bundle) error {
	a, err := b.audit(true, o.Period)
	if err != nil {
		return err
	}
	list, err := b.signed(a)
	if err != nil {
		return err
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	head := map[string]any{"type": "uim-evidence", "version": "1", "issuer": o.Issuer, "agent": o.Agent}
	if !o.Period.To.IsZero() {
		head["from"], head["to"] = o.Period.From.Format(time.RFC3339), o.Period.To.Format(time.RFC3339)
	}
	lines := []any{head, map[string]any{"type": "keys", "jwks": json.RawMessage(a.keys.JWKS())}}
	for _, p := range o.Policies {
		lines = append(lines, map[string]any{"type": "policy", "uid": p.UID, "digest": p.Digest, "document": p.Document})
	}
	for _, r := range list {
		lines = append(lines, map[string]any{"type": "entry", "jws": r.Text})
	}
	if a.newest != "" {
		lines = append(lines, map[string]any{"type": "checkpoint", "text": a.newest})
	}
	for _, line := range lines {
		if err := e.Encode(line); err != nil {
			return fmt.Errorf("writing the bundle: %w", err)
		}
	}
	return nil
}

// signed returns the entries of the period with a valid signature, ordered by account and number.
func (b *Book) signed(a *audit) ([]evidence.Receipt, error) {
	var list []evidence.Receipt
	seen := map[evidence.Hash]bool{}
	err := b.Records(func(r Record) {
		if r.Receipt == "" {
			return
		}
		receipt, err := evidence.ParseReceipt(r.Receipt)
		if err == nil && receipt.Verify(a.keys) == nil && !seen[receipt.Leaf] && a.period.has(receipt.Entry.At) {
			seen[receipt.Leaf] = true
			list = append(list, receipt)
		}
	}, func(string, int) {})
	slices.SortStableFunc(list, func(x, y evidence.Receipt) int {
		return cmp.Or(cmp.Compare(x.Entry.Account.Currency, y.Entry.Account.Currency), cmp.Compare(x.Entry.K, y.Entry.K))
	})
	return list, err
}
