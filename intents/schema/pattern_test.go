package schema

import (
	"math/rand/v2"
	"regexp"
	"testing"
)

// FuzzPattern checks that our matcher agrees with package regexp.
func FuzzPattern(f *testing.F) {
	for _, s := range [][2]string{
		{`^[a-z]+$`, "abc"},
		{`(?i)^(ab|b\b|\Bc)*?x{2,5}$`, "ABxxx"},
		{`(?m)^$|é.`, "a\né\xff"},
		{`(?s)a.c\z|[^\pL]`, "a\nc"},
		{`(?U)(a?){3}\x{10ffff}?`, ""},
		{`[^\x00-\x{10FFFF}]|a$`, "ba"},
		{`\bfoo\b|^\B`, "a foo"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, text, s string) {
		if len(text) > maxPattern {
			return
		}
		theirs, err := regexp.Compile(text)
		ours, mistake := compilePattern(text)
		if (err == nil) != (mistake == nil) {
			t.Fatalf("%q: %v, regexp says %v", text, mistake, err)
		}
		if err != nil {
			return
		}
		m := &Meter{left: CallSteps}
		for range 2 { // the second time with reused threads
			if got := ours.match(s, m); !m.Exhausted() && got != theirs.MatchString(s) {
				t.Fatalf("%q in %q: %v", text, s, got)
			}
		}
	})
}

func TestPatternsMatchLikeRegexp(t *testing.T) {
	d := rand.New(rand.NewPCG(3, 5))
	atoms := []string{
		"a", "b", ".", "[^a]", `\b`, `\B`, "^", "$", `\z`, `\A`, "é", `\s`, "(?:",
		"(", ")", "|", "*", "+?", "?", "{1,2}", "(?i)", "(?m)",
	}
	texts := []string{"a", "b", "A", "é", "\n", " ", "\xff", "ab"}
	some := func(from []string, n int) (out string) {
		for range d.IntN(n) {
			out += from[d.IntN(len(from))]
		}
		return out
	}
	compared := 0
	for range 20_000 {
		text := some(atoms, 8)
		theirs, err := regexp.Compile(text)
		if err != nil {
			continue
		}
		ours, err := compilePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			s := some(texts, 6)
			compared++
			if got := ours.match(s, &Meter{left: CallSteps}); got != theirs.MatchString(s) {
				t.Fatalf("%q in %q: %v", text, s, got)
			}
		}
	}
	if compared < 10_000 {
		t.Errorf("only %d comparisons, want at least 10_000", compared)
	}
}
