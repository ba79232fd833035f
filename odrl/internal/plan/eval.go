package plan

import "strings"

// A Frame is the working memory of one evaluation of a plan. Its contents are valid only during the evaluation.
type Frame struct {
	slots     []value
	arena     []value // the elements of lists in slots
	registers []*value
	keys      []value
	scratch   []value
	memo      []uint8 // cached results of formulas: 0 none, 1 false, 2 true
	bits      []uint64
	text      []byte
	Failed    bool // only OPA can evaluate the request
}

// holds evaluates a formula. The result is meaningless once f.Failed is set.
func (f *Frame) holds(x *formula) bool {
	if x.memo < 0 {
		return f.evaluate(x)
	}
	return f.remembered(x)
}

func (f *Frame) remembered(x *formula) bool {
	m := &f.memo[x.memo]
	if *m == 0 {
		*m = 1
		if f.evaluate(x) {
			*m = 2
		}
	}
	return *m == 2
}

func (f *Frame) evaluate(x *formula) bool {
	switch x.op {
	case fAlways:
		return true
	case fAll:
		for _, k := range x.kids {
			if !f.holds(k) {
				return false
			}
		}
		return true
	case fSome:
		for _, k := range x.kids { //nolint:modernize // calling a function value would cost more than the loop
			if f.holds(k) {
				return true
			}
		}
		return false
	case fNone:
		return !f.holds(x.kids[0])
	case fExists:
		return f.exists(x)
	case fCompare:
		return f.compare(x)
	case fMember:
		return f.member(x)
	case fKind:
		v := f.value(x.a)
		return v != nil && int(v.kind) == x.n
	case fStarts:
		return f.starts(x)
	case fDefined:
		return f.value(x.a) != nil
	case fHolds:
		v := f.value(x.a)
		return v != nil && (v.kind != aBoolean || v.n == 1)
	default:
		return false
	}
}

func (f *Frame) exists(x *formula) bool {
	list := f.value(x.a)
	if list == nil || list.kind != anArray && list.kind != anObject {
		return false
	}
	outer, outerKey := f.registers[x.n], f.keys[x.n]
	found := false
	for i := range list.size() {
		f.registers[x.n] = list.element(i)
		f.keys[x.n] = value{kind: aNumber, n: int64(i)}
		if list.kind == anObject {
			f.keys[x.n] = list.list[2*i]
		}
		if f.holds(x.kids[0]) {
			found = true
			break
		}
	}
	f.registers[x.n], f.keys[x.n] = outer, outerKey
	return found
}

func (f *Frame) member(x *formula) bool {
	v, list := f.value(x.a), f.value(x.b)
	if v == nil || list == nil || list.kind != anArray && list.kind != anObject {
		return false
	}
	for i := range list.size() {
		if list.element(i).equal(v) {
			return true
		}
	}
	return false
}

func (f *Frame) compare(x *formula) bool {
	v, w := f.value(x.a), f.value(x.b)
	if v == nil || w == nil {
		return false
	}
	if v.kind == aNumber && w.kind == aNumber {
		switch x.n {
		case equalTo:
			return v.n == w.n
		case unequalTo:
			return v.n != w.n
		case lessThan:
			return v.n < w.n
		case atMost:
			return v.n <= w.n
		case moreThan:
			return v.n > w.n
		default:
			return v.n >= w.n
		}
	}
	if x.n == equalTo {
		return v.equal(w)
	}
	if x.n == unequalTo {
		return !v.equal(w)
	}
	c, ok := v.order(w)
	f.Failed = f.Failed || !ok
	return compared(x.n, c, false)
}

// starts reports whether one string starts with another.
func (f *Frame) starts(x *formula) bool {
	v := f.value(x.a)
	w := f.value(x.b)
	if v == nil || w == nil {
		return false
	}
	if v.kind != aText || w.kind != aText || v.n != 0 || w.n != 0 { // OPA reports an error for other types
		f.Failed = true
		return false
	}
	return strings.HasPrefix(v.s, w.s)
}

// value returns the value of an expression, or nil if it has none. The value is valid until the same expression is evaluated again.
func (f *Frame) value(e *expr) *value {
	switch e.op {
	case eConstant:
		return e.v
	case eSlot:
		if v := &f.slots[e.n]; v.kind != undefined {
			return v
		}
		return nil
	case eElement:
		return f.registers[e.n]
	case eKey:
		return &f.keys[e.n]
	case eIndex:
		v, key := f.value(e.kids[0]), f.value(e.kids[1])
		if v == nil || key == nil {
			return nil
		}
		return v.at(key)
	case eLength:
		return f.length(e)
	case eTuple:
		out := &f.scratch[e.n]
		out.kind, out.list = anArray, out.list[:0]
		for _, k := range e.kids {
			v := f.value(k)
			if v == nil {
				return nil
			}
			out.list = append(out.list, *v)
		}
		return out
	default:
		return f.joined(e)
	}
}

func (f *Frame) length(e *expr) *value {
	v := f.value(e.kids[0])
	if v == nil {
		return nil
	}
	out := &f.scratch[e.n]
	switch {
	case v.kind == anArray || v.kind == anObject:
		*out = value{kind: aNumber, n: int64(v.size())}
		return out
	case v.kind == aText && v.n == 0:
		*out = value{kind: aNumber, n: int64(len([]rune(v.s)))}
		return out
	default: // OPA reports an error for other types
		f.Failed = true
		return nil
	}
}

func (f *Frame) joined(e *expr) *value {
	var s strings.Builder
	var between string
	for i, k := range e.kids {
		v := f.value(k)
		if v == nil {
			return nil
		}
		if v.kind != aText || v.n != 0 {
			f.Failed = true
			return nil
		}
		switch i {
		case 0:
			between = v.s
			continue
		case 1:
		default:
			s.WriteString(between)
		}
		s.WriteString(v.s)
	}
	out := &f.scratch[e.n]
	*out = value{kind: aText, s: s.String()}
	return out
}
