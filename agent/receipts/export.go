package receipts

import (
	"cmp"
	"io"
	"slices"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/pat"
)

// A Bundle describes the contents of an export apart from the records of the book.
type Bundle struct {
	Issuer   string
	Agent    pat.AgentID
	Period   Period // the period of the entries; zero: all entries
	Now      time.Time
	Policies []Policy // the policies that the agent agreed to; Export adds those that are stored with the book
}

// Export writes a bundle of evidence: see evidence.BundleWriter. It contains the keys of the service, and the policies and agreements to
// which the entries refer. It also contains the entries of each account in the order of their numbers, the proofs that they are in the
// log, the checkpoints, and the proofs that the log is append-only. It omits everything that does not verify. Errors are those of Records
// and of w.
func (b *Book) Export(w io.Writer, o Bundle) error {
	a, err := b.audit(true, o.Period)
	if err != nil {
		return err
	}
	list, err := b.signed(a)
	if err != nil {
		return err
	}
	documents, err := b.named(list, o.Policies)
	if err != nil {
		return err
	}
	out := evidence.NewBundleWriter(w, evidence.BundleHeader{
		Issuer: o.Issuer, Agent: string(o.Agent), From: cmp.Or(o.Period.From, a.began), To: cmp.Or(o.Period.To, o.Now),
	})
	out.Keys(a.keys.JWKS())
	for _, p := range documents.policies {
		out.Policy(p.UID, p.Digest, p.Document)
	}
	for _, agreement := range documents.agreements {
		out.Agreement(agreement.Export)
	}
	for _, r := range list {
		out.Entry(r.Text)
		if proof := a.proofOf(&r); proof != "" {
			out.LogProof(r.Leaf, proof)
		}
	}
	for _, c := range a.log {
		out.Checkpoint(c.text)
		if c.old > 0 {
			out.Consistency(c.old, c.Size, c.hashes)
		}
	}
	return out.Close()
}

// documents holds the documents to which the entries of a bundle refer.
type documents struct {
	policies   []Policy
	agreements []Agreement
}

// named returns the policies and agreements to which the entries refer, and additional policies.
func (b *Book) named(list []evidence.Receipt, further []Policy) (out documents, err error) {
	policies, agreements := map[string]bool{}, map[string]bool{}
	for _, r := range list {
		policies[r.Entry.Policy], agreements[r.Entry.Agreement] = true, true
	}
	kept, err := b.Policies()
	if err != nil {
		return out, err
	}
	kept = slices.DeleteFunc(kept, func(p Policy) bool { return !policies[p.Digest] })
	written := map[string]bool{}
	for _, p := range slices.Concat(further, kept) {
		if !written[p.Digest] {
			written[p.Digest] = true
			out.policies = append(out.policies, p)
		}
	}
	all, err := b.Agreements()
	for _, one := range all {
		if agreements[one.ID] || policies[one.Policy] {
			out.agreements = append(out.agreements, one)
		}
	}
	return out, err
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
