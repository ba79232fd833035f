package receipts

import (
	"cmp"
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
	Period   Period // of the entries; zero: all
	Now      time.Time
	Policies []Policy // that the agent agreed to; Export adds those that are beside the book
}

// Export writes a bundle of evidence: see evidence.BundleWriter. It contains the keys of the service, the policies, the entries of each
// account in the order of their numbers, and the newest checkpoint. It exports only what verifies. Errors are those of Records and of w.
func (b *Book) Export(w io.Writer, o Bundle) error {
	a, err := b.audit(true, o.Period)
	if err != nil {
		return err
	}
	list, err := b.signed(a)
	if err != nil {
		return err
	}
	policies, err := b.Policies()
	if err != nil {
		return err
	}
	out := evidence.NewBundleWriter(w, evidence.BundleHeader{
		Issuer: o.Issuer, Agent: string(o.Agent), From: cmp.Or(o.Period.From, a.began), To: cmp.Or(o.Period.To, o.Now),
	})
	out.Keys(a.keys.JWKS())
	written := map[string]bool{}
	for _, p := range slices.Concat(o.Policies, policies) {
		if !written[p.Digest] {
			written[p.Digest] = true
			out.Policy(p.UID, p.Digest, p.Document)
		}
	}
	for _, r := range list {
		out.Entry(r.Text)
	}
	if a.newest != "" {
		out.Checkpoint(a.newest)
	}
	return out.Close()
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
