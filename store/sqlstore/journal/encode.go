package journal

import (
	"encoding/binary"
	"hash/crc32"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/calls"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// An Encoder encodes records. The zero value is ready to use. It is not safe for concurrent use.
type Encoder struct {
	out   []byte
	known map[string]uint64 // the numbers of the strings written so far
	at    int64
}

// Encode returns the stored form of a record, which is valid until the next call to Encode. It returns false if the record is invalid, or
// would exceed MaxRecord bytes.
func (e *Encoder) Encode(r *calls.Changes) ([]byte, bool) {
	if !valid(r) {
		return nil, false
	}
	if e.known == nil {
		e.known = map[string]uint64{}
	}
	clear(e.known)
	e.at = nanos(r.At)
	e.out = append(e.out[:0], make([]byte, headerLen)...)
	e.int(e.at)
	e.uint(len(r.Lines))
	for _, l := range r.Lines {
		e.line(l)
	}
	e.uint(len(r.Counters))
	for i := range r.Counters {
		e.counter(&r.Counters[i])
	}
	e.uint(len(r.Accounts))
	for i := range r.Accounts {
		e.account(&r.Accounts[i])
	}
	e.uint(len(r.Pools))
	for _, p := range r.Pools {
		e.text(p.Service)
		e.text(p.Currency)
		e.int(p.Owed)
		e.int(p.Faded)
		e.int(p.FadedAt)
	}
	e.uint(len(r.Used))
	for _, a := range r.Used {
		e.text(a.Service)
		e.text(a.ID)
	}
	e.out[0] = version
	binary.BigEndian.PutUint32(e.out[1:], crc32.Checksum(e.out[headerLen:], castagnoli))
	return e.out, len(e.out) <= MaxRecord
}

func (e *Encoder) line(l ledger.Line) {
	x := l.Execution
	kind := lineChanged
	if l.From == "" {
		kind = lineBegan
	}
	e.out = append(e.out, kind)
	e.int(l.Epoch)
	e.int(l.K)
	e.out = append(append(e.out, l.Prev[:]...), l.Leaf[:]...)
	e.literal(x.ID)
	e.text(x.Service)
	e.text(string(x.AgentID))
	e.text(x.Intent)
	e.text(x.Rule)
	e.int(x.Charge.Nano)
	e.text(x.Charge.Currency)
	if kind == lineBegan {
		e.text(x.Fingerprint)
		e.text(string(x.AgreementID))
		e.text(string(x.TokenID))
		e.text(x.PolicyDigest)
		e.text(x.ContextID)
		e.int(nanos(x.Deadline) - e.at)
		e.evidence(x.Evidence)
		return
	}
	e.text(string(l.From))
	e.text(string(x.State))
	e.text(string(x.Outcome))
	e.time(x.SettledAt)
	e.time(x.UnresolvedAt)
	e.literal(l.Sent)
	e.text(l.Form)
}

// evidence writes the evidence of a charge: 0 if there is none; otherwise 1 and its members. The texts are empty if they are not stored.
func (e *Encoder) evidence(v *store.Evidence) {
	if v == nil {
		e.out = append(e.out, 0)
		return
	}
	e.out = append(e.out, 1)
	e.text(v.KeyID)
	e.literal(v.Proof)
	e.literal(v.Decision)
	if v.Text == nil {
		e.out = append(e.out, 0)
		return
	}
	e.out = append(e.out, 1)
	e.literal(v.Text.Proof)
	e.uint(len(v.Text.Asked))
	e.out = append(e.out, v.Text.Asked...)
}

func (e *Encoder) counter(c *calls.Counter) {
	e.text(c.Service)
	e.text(c.AgentID)
	e.text(c.LimitID)
	e.text(string(c.Period))
	e.int(c.Slot)
	e.int(c.Dispatch)
	e.int(c.DispatchSlot)
	e.uint(len(c.Counts))
	e.out = append(e.out, c.Counts...)
}

func (e *Encoder) account(a *ledger.Account) {
	e.text(a.Service)
	e.text(a.AgentID)
	e.text(a.Currency)
	e.int(a.ToppedUp)
	e.int(a.Held)
	e.int(a.Captured)
	pooled := byte(0)
	if a.Pooled {
		pooled = 1
	}
	e.out = append(e.out, pooled)
	e.int(a.Lines)
	e.out = append(e.out, a.Head[:]...)
}

func (e *Encoder) uint(n int) { e.out = binary.AppendUvarint(e.out, uint64(n)) }

func (e *Encoder) int(n int64) { e.out = binary.AppendVarint(e.out, n) }

// time writes a time that may be missing: 0, or 1 and the time.
func (e *Encoder) time(t time.Time) {
	if t.IsZero() {
		e.out = append(e.out, 0)
		return
	}
	e.out = append(e.out, 1)
	e.int(nanos(t) - e.at)
}

func (e *Encoder) literal(s string) {
	e.uint(len(s))
	e.out = append(e.out, s...)
}

func (e *Encoder) text(s string) {
	if n := e.known[s]; n > 0 {
		e.out = binary.AppendUvarint(e.out, n)
		return
	}
	e.known[s] = uint64(len(e.known) + 1)
	e.out = append(e.out, 0)
	e.literal(s)
}
