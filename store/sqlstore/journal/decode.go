package journal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/calls"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

func (damage) Is(target error) bool { return target == engine.ErrDamaged }

// Decode decodes a record of Encode. The error wraps ErrDamaged, or ErrVersion if the record has another version.
func Decode(in []byte) (*calls.Changes, error) {
	switch {
	case len(in) < headerLen || len(in) > MaxRecord:
		return nil, fmt.Errorf("%w: it has %d bytes", ErrDamaged, len(in))
	case in[0] != version && in[0] != unchained:
		return nil, fmt.Errorf("%w: its format has version %d, but this program reads version %d", ErrVersion, in[0], version)
	case binary.BigEndian.Uint32(in[1:]) != crc32.Checksum(in[headerLen:], castagnoli):
		return nil, fmt.Errorf("%w: its checksum is wrong", ErrDamaged)
	}
	return decode(in[headerLen:], in[0] == unchained)
}

// decode reads the bytes after the header.
func decode(in []byte, unchained bool) (*calls.Changes, error) {
	d := decoder{in: in, unchained: unchained}
	d.at = d.int()
	r := calls.Changes{At: fromNanos(d.at), Unchained: unchained}
	r.Lines = each(&d, (*decoder).line)
	r.Counters = each(&d, (*decoder).counter)
	r.Accounts = each(&d, (*decoder).account)
	r.Pools = each(&d, func(d *decoder) ledger.Pool {
		return ledger.Pool{PoolKey: ledger.PoolKey{Service: d.text(), Currency: d.text()}, Owed: d.int(), Faded: d.int(), FadedAt: d.int()}
	})
	r.Used = each(&d, func(d *decoder) calls.Use { return calls.Use{Service: d.text(), ID: d.text(), At: r.At} })
	if d.wrong || len(d.in) > 0 || !valid(&r) {
		return nil, ErrDamaged
	}
	return &r, nil
}

// A decoder reads values from the start of the field in. After the first error it returns zero values.
type decoder struct {
	in    []byte
	known []string
	at    int64
	wrong bool
	// unchained means that the record has the format of a release without chains, whose lines and accounts have fewer members.
	unchained bool
}

// each reads a list. An element has at least one byte, so a list has at most as many elements as there are bytes.
func each[T any](d *decoder, read func(*decoder) T) []T {
	n := d.length()
	if n == 0 {
		return nil
	}
	var out []T
	for range n {
		v := read(d)
		if d.wrong {
			return nil
		}
		out = append(out, v)
	}
	return out
}

func (d *decoder) line() ledger.Line {
	kind := d.byte()
	chained := d.chained()
	x := &store.Execution{
		ID: d.literal(), Service: d.text(), AgentID: pat.AgentID(d.text()), Intent: d.text(), Rule: d.text(),
		Charge: money.Amount{Nano: d.int(), Currency: d.text()},
	}
	switch kind {
	case lineBegan:
		x.Fingerprint, x.AgreementID, x.TokenID = d.text(), pat.AgreementID(d.text()), pat.TokenID(d.text())
		x.PolicyDigest, x.ContextID = d.text(), d.text()
		x.State, x.BeganAt, x.Deadline = store.Held, fromNanos(d.at), d.moment()
		if !d.unchained {
			x.Evidence = d.evidence()
		}
		return ledger.Line{Execution: x, By: ledger.ByAgent, Place: chained}
	case lineChanged:
		from := store.State(d.text())
		if from == "" {
			d.wrong = true
		}
		x.State, x.Outcome = store.State(d.text()), store.Outcome(d.text())
		x.SettledAt, x.UnresolvedAt = d.time(), d.time()
		l := ledger.Line{Execution: x, From: from, By: ledger.ByAgent, Place: chained}
		if !d.unchained {
			l.Sent, l.Form = d.literal(), d.text()
		}
		return l
	default:
		d.wrong = true
		return ledger.Line{}
	}
}

func (d *decoder) counter() calls.Counter {
	k := calls.CounterKey{Service: d.text(), AgentID: d.text(), LimitID: d.text(), Period: limit.Period(d.text())}
	return calls.Counter{CounterKey: k, Slot: d.int(), Dispatch: d.int(), DispatchSlot: d.int(), Counts: d.bytes()}
}

func (d *decoder) account() ledger.Account {
	a := ledger.Account{
		AccountKey: ledger.AccountKey{Service: d.text(), AgentID: d.text(), Currency: d.text()},
		ToppedUp:   d.int(), Held: d.int(), Captured: d.int(), Pooled: d.flag(),
	}
	if !d.unchained {
		a.Lines, a.Head = d.int(), d.hash()
	}
	return a
}

func (d *decoder) chained() ledger.Place {
	if d.unchained {
		return ledger.Place{K: -1}
	}
	return ledger.Place{Epoch: d.int(), K: d.int(), Prev: d.hash(), Leaf: d.hash()}
}

// evidence reads the evidence of a charge. It returns nil if there is none.
func (d *decoder) evidence() *store.Evidence {
	if !d.flag() {
		return nil
	}
	v := &store.Evidence{KeyID: d.text(), Proof: d.literal(), Decision: d.literal()}
	if d.flag() {
		v.Text = &store.EvidenceText{Proof: d.literal(), Asked: d.bytes()}
	}
	return v
}

func (d *decoder) hash() (h evidence.Hash) {
	if len(d.in) < len(h) {
		d.wrong = true
	}
	if !d.wrong {
		d.in = d.in[copy(h[:], d.in):]
	}
	return h
}

func (d *decoder) byte() byte {
	if d.wrong || len(d.in) == 0 {
		d.wrong = true
		return 0
	}
	b := d.in[0]
	d.in = d.in[1:]
	return b
}

func (d *decoder) flag() bool {
	b := d.byte()
	if b > 1 {
		d.wrong = true
	}
	return b == 1
}

func (d *decoder) int() int64 {
	n, size := binary.Varint(d.in)
	if d.wrong || size <= 0 {
		d.wrong = true
		return 0
	}
	d.in = d.in[size:]
	return n
}

func (d *decoder) uint() uint64 {
	n, size := binary.Uvarint(d.in)
	if d.wrong || size <= 0 {
		d.wrong = true
		return 0
	}
	d.in = d.in[size:]
	return n
}

// length reads how many bytes or elements follow. It rejects a number larger than the number of bytes left.
func (d *decoder) length() int {
	n := d.uint()
	if n > uint64(len(d.in)) {
		d.wrong = true
	}
	if d.wrong {
		return 0
	}
	return int(n)
}

// bytes reads a byte slice. It returns nil if there are no bytes.
func (d *decoder) bytes() []byte {
	n := d.length()
	if n == 0 {
		return nil
	}
	out := append([]byte(nil), d.in[:n]...)
	d.in = d.in[n:]
	return out
}

func (d *decoder) literal() string {
	n := d.length()
	s := string(d.in[:n])
	d.in = d.in[n:]
	return s
}

func (d *decoder) text() string {
	n := d.uint()
	switch {
	case d.wrong:
		return ""
	case n > 0 && n <= uint64(len(d.known)):
		return d.known[n-1]
	case n > 0:
		d.wrong = true
		return ""
	}
	s := d.literal()
	d.known = append(d.known, s)
	return s
}

// moment reads a time that is stored relative to the time of the record.
func (d *decoder) moment() time.Time { return fromNanos(d.at + d.int()) }

// time reads a time that may be missing.
func (d *decoder) time() time.Time {
	if !d.flag() {
		return time.Time{}
	}
	return d.moment()
}
