package schema

import (
	"fmt"
	"regexp/syntax"
	"sync"
	"unicode/utf8"
)

// A pattern is a regular expression in the form of a program of package regexp/syntax. Package regexp would run the same program, but
// cannot be interrupted, and for some strings a program runs all its instructions for each character. A pattern therefore runs the program
// itself and counts the steps. It reads one character at a time and never backtracks (Thompson's construction).
type pattern struct {
	text    string
	program *syntax.Prog
	first   syntax.EmptyOp // conditions at the start of a match
	idle    sync.Pool      // unused *threads
}

// compilePattern compiles a regular expression. The error wraps that of package syntax.
func compilePattern(text string) (*pattern, error) {
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("parsing the pattern: %w", err)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, fmt.Errorf("compiling the pattern: %w", err)
	}
	return &pattern{text: text, program: program, first: program.StartCond()}, nil
}

// threads holds the instructions that wait for the current character and for the next one. Both sets are sparse sets, which need no
// clearing.
type threads struct {
	now, next set
	stack     []uint32
}

type set struct {
	dense  []uint32
	sparse []uint32
}

func (s *set) add(pc uint32) bool {
	if i := s.sparse[pc]; int(i) < len(s.dense) && s.dense[i] == pc {
		return false
	}
	s.sparse[pc] = uint32(len(s.dense))
	s.dense = append(s.dense, pc)
	return true
}

// The steps of reaching an instruction, and of comparing it with a character.
const (
	stepsReach   = 1
	stepsCompare = 1
)

// match reports whether s contains a match. The result is meaningless once m is exhausted.
func (p *pattern) match(s string, m *Meter) bool {
	if !m.take(10) {
		return false
	}
	t, _ := p.idle.Get().(*threads)
	if t == nil {
		n := len(p.program.Inst)
		if !m.take(n / 4) {
			return false
		}
		t = &threads{now: set{sparse: make([]uint32, n)}, next: set{sparse: make([]uint32, n)}}
	}
	defer p.idle.Put(t)
	t.now.dense = t.now.dense[:0]
	before := rune(-1)
	for at := 0; ; {
		r, size := rune(-1), 0
		if at < len(s) {
			r, size = utf8.DecodeRuneInString(s[at:])
		}
		here := syntax.EmptyOpContext(before, r)
		t.next.dense = t.next.dense[:0]
		if at == 0 || p.first&syntax.EmptyBeginText == 0 {
			if matched, ok := p.reach(&t.now, t, uint32(p.program.Start), here, m); matched || !ok {
				return matched && ok
			}
		} else if len(t.now.dense) == 0 {
			return false
		}
		if size == 0 {
			return false
		}
		after := rune(-1)
		if at+size < len(s) {
			after, _ = utf8.DecodeRuneInString(s[at+size:])
		}
		following := syntax.EmptyOpContext(r, after)
		if !m.take(1 + stepsCompare*len(t.now.dense)) {
			return false
		}
		for _, pc := range t.now.dense {
			inst := &p.program.Inst[pc]
			if !inst.MatchRune(r) {
				continue
			}
			if matched, ok := p.reach(&t.next, t, inst.Out, following, m); matched || !ok {
				return matched && ok
			}
		}
		t.now, t.next = t.next, t.now
		before, at = r, at+size
	}
}

// reach adds to the set into every instruction that the program reaches from pc without reading a character. matched is true if one of
// these instructions ends the program with a match; ok is false once m is exhausted.
func (p *pattern) reach(into *set, t *threads, pc uint32, here syntax.EmptyOp, m *Meter) (matched, ok bool) {
	t.stack = append(t.stack[:0], pc)
	for len(t.stack) > 0 {
		pc = t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		if !m.take(stepsReach) {
			return false, false
		}
		inst := &p.program.Inst[pc]
		if !into.add(pc) {
			continue
		}
		switch inst.Op {
		case syntax.InstMatch:
			return true, true
		case syntax.InstAlt, syntax.InstAltMatch:
			t.stack = append(t.stack, inst.Arg, inst.Out)
		case syntax.InstCapture, syntax.InstNop:
			t.stack = append(t.stack, inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^here == 0 {
				t.stack = append(t.stack, inst.Out)
			}
		default: // waits for a character, or fails
		}
	}
	return false, true
}
