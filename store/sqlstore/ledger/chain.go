package ledger

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// A Place holds the columns of a ledger row that place it in the chain of its account.
type Place struct {
	Epoch      int64
	K          int64
	Prev, Leaf evidence.Hash
}

// entry returns the entry of a line of an execution.
func entry(l Line, c Place, issuer string) evidence.Entry {
	x := l.Execution
	e := evidence.Entry{
		Issuer: issuer, Epoch: c.Epoch, Account: evidence.Account{Agent: string(x.AgentID), Currency: x.Charge.Currency},
		K: c.K, Prev: c.Prev, At: engine.FromNanos(engine.Nanos(l.At())), Kind: evidence.KindCharge, ID: x.ID,
		From: string(l.From), To: string(x.State), By: actor(l.By), Amount: x.Charge, Intent: x.Intent, Rule: x.Rule,
		Policy: x.PolicyDigest, Agreement: string(x.AgreementID), Token: string(x.TokenID),
		Request: evidence.PrefixedDigest(x.Fingerprint), Outcome: string(x.Outcome), Answer: l.Sent, AnswerForm: l.Form,
	}
	if v := x.Evidence; v != nil {
		e.KeyID, e.Proof, e.Decision = v.KeyID, v.Proof, v.Decision
	}
	return e
}

// topUpEntry returns the entry of a top-up, or of a reversal if the amount is negative.
func topUpEntry(c Place, issuer string, k AccountKey, amount money.Amount, at time.Time, reference string, salt []byte) evidence.Entry {
	kind := evidence.KindTopUp
	if amount.Nano < 0 {
		kind = evidence.KindReversal
	}
	return evidence.Entry{
		Issuer: issuer, Epoch: c.Epoch, Account: evidence.Account{Agent: k.AgentID, Currency: k.Currency}, K: c.K, Prev: c.Prev, At: at,
		Kind: kind, By: ByOperator, Amount: amount, Reference: reference, Salt: salt,
	}
}

// newSalt returns the salt of an entry that has no execution id.
func newSalt() []byte {
	salt := make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails
	return salt
}

const saltSize = 16

// actor returns the name of an actor in entries.
func actor(by string) string {
	if by == ByService {
		return "reconcile"
	}
	return by
}

// Enter adds a line to the ledger and to the chain of its account, unless the call has no charge. It returns the bytes of its entry, which
// are valid until the next call to Enter.
func (b *Book) Enter(ctx context.Context, l Line) ([]byte, error) {
	if l.Charge.Nano == 0 {
		return nil, nil
	}
	k := AccountKey{l.Service, string(l.AgentID), l.Charge.Currency}
	if _, err := b.account(ctx, k); err != nil {
		return nil, err
	}
	epoch := b.epochs.Of(l.Service)
	l.Place = b.next(k, epoch)
	e := entry(l, l.Place, epoch.Issuer)
	if b.text == nil {
		b.text = make([]byte, 0, entrySize)
	}
	b.text = e.Append(b.text[:0])
	l.Leaf = b.link(k, b.text)
	b.lines = append(b.lines, l)
	return b.text, nil
}

// entrySize is large enough for most entries.
const entrySize = 1 << 10

// next returns the place of the next entry of an account that was read.
func (b *Book) next(k AccountKey, epoch Epoch) Place {
	a := b.accounts[k].now
	return Place{Epoch: epoch.Number, K: a.Lines, Prev: a.Head}
}

// link appends an entry to the chain of its account, and returns its leaf hash.
func (b *Book) link(k AccountKey, text []byte) evidence.Hash {
	leaf := evidence.LeafHash(text)
	a := b.accounts[k]
	a.now.Lines++
	a.now.Head, a.dirty = leaf, true
	return leaf
}

// stored returns the bytes of a hash as the database stores it. The zero hash is stored as no bytes.
func stored(h *evidence.Hash) []byte {
	if h.IsZero() {
		return nil
	}
	return h[:]
}

// blob returns a hash as an argument of a statement.
func blob(h evidence.Hash) any { return engine.Blob(stored(&h)) }
