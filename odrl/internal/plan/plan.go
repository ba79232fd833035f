package plan

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// A Plan returns the results of the semantics module for one policy without OPA. It holds the residual of the module as formulas over the
// values of a frame. It is safe for concurrent use.
type Plan struct {
	slots   []planSlot
	sets    []planSet
	Intents map[string]*planIntent // by UID
	Fill    *filler
	frames  sync.Pool
}

// A planIntent is the part of the plan that depends only on the intent.
type planIntent struct {
	targets, version value
	Outcome, Reasons []planEntry // the entries that concern its targets
}

// A planSet is one set of an answer.
type planSet struct {
	answer, name string // "outcome", "active"
	first        int    // bit of its first element
	heads        []*ast.Term
	entries      []planEntry
}

// A planEntry puts an element into its set if the formula is true.
type planEntry struct {
	bit  int
	when *formula
}

// newPlan converts a residual into formulas. Its error names the part that no plan supports.
func newPlan(in *Inputs, r *Residual) (*Plan, error) {
	x := newReading(r)
	made := &Plan{}
	bits := 0
	for _, answer := range keysOf(r.Result) {
		sets, ok := r.Result.Get(ast.StringTerm(answer)).Value.(ast.Object)
		if !ok {
			return nil, Unplanned("the result %s", answer)
		}
		for _, name := range keysOf(sets) {
			list, err := x.set(sets.Get(ast.StringTerm(name)))
			if err != nil {
				return nil, err
			}
			s := planSet{answer: answer, name: name, first: bits}
			s.take(list)
			bits += len(s.heads)
			made.sets = append(made.sets, s)
		}
	}
	if len(x.formulas) > maxFormulas {
		return nil, errTooLarge
	}
	made.slots = x.slots
	made.Intents = x.intents(made.sets, in.targets)
	var err error
	if made.Fill, err = in.filler(x.slots, x.constants()); err != nil {
		return nil, err
	}
	words := (bits + 63) / 64
	made.frames.New = func() any {
		return &Frame{
			slots: make([]value, len(x.slots)), registers: make([]*value, x.registers), keys: make([]value, x.registers),
			scratch: make([]value, x.scratch), memo: make([]uint8, x.memos), bits: make([]uint64, words),
		}
	}
	return made, nil
}

func keysOf(o ast.Object) []string {
	var list []string
	o.Foreach(func(k, _ *ast.Term) {
		if s, ok := k.Value.(ast.String); ok {
			list = append(list, string(s))
		}
	})
	slices.Sort(list)
	return list
}

// take assigns a bit to each distinct element.
func (s *planSet) take(list []setEntry) {
	known := map[string]int{}
	for _, e := range list {
		if e.when.op == fNever {
			continue
		}
		key := e.head.String()
		bit, ok := known[key]
		if !ok {
			bit = s.first + len(s.heads)
			known[key] = bit
			s.heads = append(s.heads, e.head)
		}
		s.entries = append(s.entries, planEntry{bit, e.when})
	}
}

// Frame returns an empty frame for an evaluation. The caller must release it with Done.
func (p *Plan) Frame() *Frame {
	f, _ := p.frames.Get().(*Frame)
	clear(f.memo)
	clear(f.bits)
	f.Failed = false
	return f
}

// Done releases a frame and drops its content.
func (p *Plan) Done(f *Frame) {
	clear(f.slots) // no value of a request may remain
	clear(f.arena)
	f.arena = f.arena[:0]
	p.frames.Put(f)
}

// Run evaluates every element of one answer, and records in the frame's bits which elements were found.
func (p *Plan) Run(f *Frame, answer string) {
	for i := range p.sets {
		if p.sets[i].answer == answer {
			f.Run(p.sets[i].entries)
		}
	}
}

// Run evaluates entries, and records in the frame's bits which elements were found.
func (f *Frame) Run(entries []planEntry) {
	for i := range entries {
		e := &entries[i]
		if word, mask := e.bit/64, uint64(1)<<(e.bit%64); f.bits[word]&mask == 0 && f.holds(e.when) {
			f.bits[word] |= mask
		}
	}
}

// has reports whether an element was found.
func (f *Frame) has(bit int) bool { return f.bits[bit/64]&(1<<(bit%64)) != 0 }

// Answer returns the result of Run in OPA's form.
func (p *Plan) Answer(f *Frame, answer string) ast.Object {
	o := ast.NewObject()
	for i := range p.sets {
		s := &p.sets[i]
		if s.answer != answer {
			continue
		}
		set := ast.NewSet()
		for j, head := range s.heads {
			if f.has(s.first + j) {
				set.Add(head)
			}
		}
		o.Insert(ast.StringTerm(s.name), ast.NewTerm(set))
	}
	return o
}

// known reports whether a Request has a source for the slot.
func (s planSlot) known() bool {
	return s.root == "facts" && s.key != "" || slices.Contains([]string{"targets", "parties", "proof", "agent"}, s.root) && s.key == ""
}

// Load fills the frame from an input document. It returns false if a value cannot be represented in a frame.
func (p *Plan) Load(f *Frame, input ast.Object) bool {
	for i, s := range p.slots {
		t := input.Get(ast.StringTerm(s.root))
		if s.key != "" && t != nil {
			facts, ok := t.Value.(ast.Object)
			if t = nil; ok {
				t = facts.Get(ast.StringTerm(s.key))
			}
		}
		f.slots[i] = value{}
		if t != nil {
			v, ok := valueOf(t.Value)
			if !ok {
				return false
			}
			f.slots[i] = v
		}
	}
	return true
}

// Bounds limit how many expressions OPA may evaluate for the plan of a policy.
type Bounds struct {
	Partial  int // to evaluate the policy partially; each takes about 10 µs
	Compared int // to compare the plan with OPA; each takes about 1 µs
}

// UsualBounds allow about two seconds for each, more than twice the time for the largest policies of the tests.
var UsualBounds = Bounds{Partial: 200_000, Compared: 2_000_000}

// Compile returns the plan of a policy. The error states why there is no plan: the residual does not permit a plan, a bound is exceeded, or
// the plan and OPA disagree. If partial evaluation succeeds, Compile also returns the residual.
func Compile(ctx context.Context, p *rules.Program, in *Inputs, bounds Bounds) (*Plan, *Residual, error) {
	left, err := partially(ctx, p.Engine.Compiler, p.Engine.Store, bounds.Partial)
	if err != nil {
		return nil, left, err
	}
	made, err := newPlan(in, left)
	if err != nil {
		return nil, left, err
	}
	if err := checkedOnce(ctx, p, in, left, made, bounds.Compared); err != nil {
		return nil, left, err
	}
	return made, left, nil
}

// Key returns the frame's bits as a key, which is valid until the next call. reasons must be set if the reasons were computed, because
// then their bits count.
func (f *Frame) Key(reasons bool) []byte {
	f.text = f.text[:0]
	for _, word := range f.bits {
		f.text = binary.LittleEndian.AppendUint64(f.text, word)
	}
	if reasons {
		f.text = append(f.text, 1)
	}
	return f.text
}
