package plan

import (
	"errors"
	"strconv"
)

// A formula is true or false for the values in a frame. Equal formulas are the same node, so a condition that many rules have is
// evaluated once for a call.
type formula struct {
	id   int
	op   formulaOp
	kids []*formula // several for fAll and fSome; one for fNone and fExists
	a, b *expr
	n    int    // the register of fExists, the comparison of fCompare, or the kind of fKind
	free uint64 // bit set of the registers that it reads but does not set
	uses uint64 // bit set of the slots that it reads, modulo 64
	memo int    // where its result is cached; -1 means nowhere
}

type formulaOp uint8

const (
	fNever   formulaOp = iota
	fAlways            // true
	fAll               // of kids
	fSome              // of kids
	fNone              // not kids[0]
	fExists            // kids[0] is true for an element of a
	fCompare           // a with b
	fMember            // a is an element of b
	fKind              // a is of a kind
	fStarts            // a starts with b
	fDefined           // a has a value
	fHolds             // a has a value that is not false
)

// The comparisons.
const (
	equalTo = iota
	unequalTo
	lessThan
	atMost
	moreThan
	atLeast
)

// An expr is an expression, which may have no value.
type expr struct {
	id   int
	op   exprOp
	kids []*expr
	n    int // slot or register
	v    *value
	free uint64
	uses uint64
}

type exprOp uint8

const (
	eConstant exprOp = iota
	eSlot
	eElement // the element of an fExists, in a register
	eKey
	eIndex  // kids[0] at kids[1]
	eLength // of kids[0]
	eTuple  // an array of kids
	eJoined // kids[1:] joined by kids[0]
)

// A builder creates formulas. Its errors mean that no plan is possible.
type builder struct {
	formulas  map[string]*formula
	exprs     map[string]*expr
	slots     []planSlot
	registers int // how many fExists needs
	scratch   int // how many expressions compute a new value
	memos     int
}

// A planSlot is a part of the input that the plan reads.
type planSlot struct {
	root, key string // key: the member of input.facts
}

// maxFormulas is the maximum number of formulas of a plan. A residual within its own bound can still expand, because rules call rules.
const maxFormulas = 1 << 20

var errTooLarge = errors.New("the plan would be too large")

func newBuilder() *builder {
	return &builder{formulas: map[string]*formula{}, exprs: map[string]*expr{}}
}

func (b *builder) formula(f formula) *formula {
	key := make([]byte, 0, 32)
	key = append(key, byte(f.op))
	key = strconv.AppendInt(key, int64(f.n), 10)
	for _, k := range f.kids {
		key = strconv.AppendInt(append(key, ' '), int64(k.id), 10)
		f.free, f.uses = f.free|k.free, f.uses|k.uses
	}
	for _, e := range []*expr{f.a, f.b} {
		key = append(key, '|')
		if e != nil {
			key = strconv.AppendInt(key, int64(e.id), 10)
			f.free, f.uses = f.free|e.free, f.uses|e.uses
		}
	}
	if known, ok := b.formulas[string(key)]; ok {
		b.share(known)
		return known
	}
	if f.op == fExists {
		f.free = f.kids[0].free&^(1<<f.n) | f.a.free
		b.registers = max(b.registers, f.n+1)
	}
	f.id, f.memo = len(b.formulas), -1
	node := &f
	b.formulas[string(key)] = node
	return node
}

// share gives a cache entry to a formula that is used several times, if its result is the same each time and costs more to compute than
// to look up.
func (b *builder) share(f *formula) {
	if f.memo >= 0 || f.free != 0 {
		return
	}
	switch f.op {
	case fAll, fSome, fExists, fMember:
		f.memo = b.memos
		b.memos++
	default: // cheaper to compute than to look up
	}
}

func (b *builder) expr(e expr) *expr {
	key := make([]byte, 0, 32)
	key = append(key, byte(e.op))
	key = strconv.AppendInt(key, int64(e.n), 10)
	for _, k := range e.kids {
		key = strconv.AppendInt(append(key, ' '), int64(k.id), 10)
		e.free, e.uses = e.free|k.free, e.uses|k.uses
	}
	if e.v != nil {
		key = append(append(key, '='), e.v.term().String()...)
	}
	if known, ok := b.exprs[string(key)]; ok {
		return known
	}
	e.id = len(b.exprs)
	if e.op == eLength || e.op == eTuple || e.op == eJoined {
		e.n = b.scratch
		b.scratch++
	}
	node := &e
	b.exprs[string(key)] = node
	return node
}

func (b *builder) constant(v value) *expr { return b.expr(expr{op: eConstant, v: &v}) }

// constants returns the values that the formulas compare with.
func (b *builder) constants() []*value {
	var list []*value
	for _, e := range b.exprs {
		if e.op == eConstant {
			list = append(list, e.v)
		}
	}
	return list
}

func (b *builder) slot(s planSlot) *expr {
	for i, known := range b.slots {
		if known == s {
			return b.expr(expr{op: eSlot, n: i, uses: 1 << (i % 64)})
		}
	}
	b.slots = append(b.slots, s)
	return b.expr(expr{op: eSlot, n: len(b.slots) - 1, uses: 1 << ((len(b.slots) - 1) % 64)})
}

func (b *builder) truth(t bool) *formula {
	if t {
		return b.formula(formula{op: fAlways})
	}
	return b.formula(formula{op: fNever})
}

// all returns the conjunction of a list, in this order.
func (b *builder) all(list ...*formula) *formula {
	kids := make([]*formula, 0, len(list))
	for _, f := range list {
		switch f.op {
		case fNever:
			return f
		case fAlways:
		default:
			kids = append(kids, f)
		}
	}
	kids = b.guarded(kids)
	if len(kids) == 1 {
		return kids[0]
	}
	if len(kids) == 0 {
		return b.truth(true)
	}
	return b.formula(formula{op: fAll, kids: kids})
}

// guarded replaces each run of formulas about the same slots with nested conjunctions. Runs with the same beginning then share nodes, so
// the guard that precedes each comparison with a fact is evaluated only once.
func (b *builder) guarded(kids []*formula) []*formula {
	const deepest = 8
	var out []*formula
	for i := 0; i < len(kids); {
		end := i + 1
		for end < len(kids) && kids[end].uses == kids[i].uses && kids[end].free == 0 && kids[i].free == 0 {
			end++
		}
		if end-i < 2 || end-i == len(kids) && len(kids) == 2 {
			out = append(out, kids[i:end]...)
			i = end
			continue
		}
		prefix := kids[i]
		for n, k := range kids[i+1 : end] {
			if n >= deepest {
				out = append(out, prefix)
				prefix = k
				break
			}
			prefix = b.formula(formula{op: fAll, kids: []*formula{prefix, k}})
		}
		out = append(out, prefix)
		if end-i > deepest+1 {
			out = append(out, kids[i+deepest+2:end]...)
		}
		i = end
	}
	return out
}

// some returns the disjunction of a list, in this order.
func (b *builder) some(list ...*formula) *formula {
	kids := make([]*formula, 0, len(list))
	for _, f := range list {
		switch f.op {
		case fAlways:
			return f
		case fNever:
		case fSome:
			kids = append(kids, f.kids...)
		default:
			kids = append(kids, f)
		}
	}
	if len(kids) == 1 {
		return kids[0]
	}
	if len(kids) == 0 {
		return b.truth(false)
	}
	return b.formula(formula{op: fSome, kids: kids})
}

func (b *builder) not(f *formula) *formula {
	switch f.op {
	case fNever, fAlways:
		return b.truth(f.op == fNever)
	default:
		return b.formula(formula{op: fNone, kids: []*formula{f}})
	}
}

// exists returns a formula that is true if body is true for an element of list. The register holds the element.
func (b *builder) exists(list *expr, register int, body *formula) *formula {
	if body.op == fNever {
		return body
	}
	if body.op == fAll { // parts that do not depend on the element are evaluated once, after the others
		var about, others []*formula
		for _, k := range body.kids {
			if k.free&(1<<register) != 0 {
				about = append(about, k)
			} else {
				others = append(others, k)
			}
		}
		if len(others) > 0 && len(about) > 0 {
			return b.all(append([]*formula{b.exists(list, register, b.all(about...))}, others...)...)
		}
	}
	if v, ok := body.only(register); ok { // the same form as for "value in list"
		return b.formula(formula{op: fMember, a: v, b: list})
	}
	return b.formula(formula{op: fExists, a: list, n: register, kids: []*formula{body}})
}

// only returns the value that the formula compares the element in the register with. It returns false for any other formula.
func (f *formula) only(register int) (*expr, bool) {
	if f.op != fCompare || f.n != equalTo {
		return nil, false
	}
	for _, e := range [2][2]*expr{{f.a, f.b}, {f.b, f.a}} {
		if e[0].op == eElement && e[0].n == register && e[1].free&(1<<register) == 0 {
			return e[1], true
		}
	}
	return nil, false
}

func (b *builder) compare(how int, x, y *expr) *formula {
	if x.op == eConstant && y.op == eConstant {
		if c, ok := x.v.order(y.v); ok || how == equalTo || how == unequalTo {
			return b.truth(compared(how, c, x.v.equal(y.v)))
		}
	}
	return b.formula(formula{op: fCompare, n: how, a: x, b: y})
}

func compared(how, c int, equal bool) bool {
	switch how {
	case equalTo:
		return equal
	case unequalTo:
		return !equal
	case lessThan:
		return c < 0
	case atMost:
		return c <= 0
	case moreThan:
		return c > 0
	default:
		return c >= 0
	}
}
