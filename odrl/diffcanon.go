package odrl

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// The canonical texts say when two parts of policies mean the same, however they are written: what names
// and describes a node is not in them, and the order of what has none does not count.

// list is a canonical text of parts whose order does not count.
func list(parts []string) string {
	parts = slices.Clone(parts)
	slices.Sort(parts)
	return sequence(parts)
}

// sequence is one of parts in their order. JSON keeps every part apart from the next.
func sequence(parts []string) string {
	b, err := json.Marshal(parts)
	if err != nil { // texts always marshal
		return strings.Join(parts, "\n")
	}
	return string(b)
}

func canonicals[T any](list []T, of func(T) string) []string {
	out := make([]string, 0, len(list))
	for _, x := range list {
		out = append(out, of(x))
	}
	return out
}

// meaning is the canonical text of a constraint.
func (c *constraintNode) meaning() string {
	if c.logic != "" {
		parts := canonicals(c.operands, (*constraintNode).meaning)
		if c.logic == "andSequence" {
			return sequence([]string{c.logic, sequence(parts)})
		}
		return sequence([]string{c.logic, list(parts)})
	}
	values := make([]string, 0, len(c.right)+len(c.rightRef))
	for i := range c.right {
		values = append(values, c.valueMeaning(&c.right[i]))
	}
	for _, ref := range c.rightRef {
		values = append(values, "at "+ref.iri)
	}
	operator, unit := c.operator, c.unit.iri
	if code, ok := currencyCode(unit); ok {
		unit = code
	}
	if c.operand == "count" || c.operand == "rateLimit" {
		unit = perPeriod(c)
		if operator == "eq" { // a limit either way
			operator = "lteq"
		}
	}
	return sequence([]string{c.operand, operator, list(values), unit, c.status})
}

// valueMeaning is the canonical text of one right operand: instants in UTC, numbers in lowest terms.
func (c *constraintNode) valueMeaning(l *literal) string {
	if l.window {
		return timeMeaning(l.start) + "/" + timeMeaning(l.end)
	}
	switch operands[c.operand] {
	case instant:
		return timeMeaning(l.text)
	case window:
		start, end, ok := strings.Cut(l.text, "/")
		if ok {
			return timeMeaning(start) + "/" + timeMeaning(end)
		}
	case text, code:
		return canonicalText(c.operand, l.text)
	case version:
		if v, ok := parseSemver(l.text); ok {
			if b, err := json.Marshal(v); err == nil {
				return string(b)
			}
		}
	default:
		if x, ok := parseDecimal(l.text); ok {
			return x.RatString()
		}
		if d, ok := parseDuration(l.text); ok {
			if b, err := json.Marshal(d); err == nil {
				return string(b)
			}
		}
	}
	return l.text
}

func timeMeaning(s string) string {
	if at, ok := parseSpan(s); ok {
		return at.from.Format("2006-01-02T15:04:05.999999999Z") + " " + at.to.Sub(at.from).String()
	}
	if at, _, ok := parseClock(s); ok {
		return integer(at).String()
	}
	return s
}

func (r *reference) meaning() string {
	if r == nil {
		return ""
	}
	kind := ""
	if len(r.refinements) > 0 {
		kind = list(canonicals(r.refinements, (*constraintNode).meaning))
	}
	return sequence([]string{r.name(), kind})
}

func (a *actionNode) meaning() string {
	if a == nil {
		return ""
	}
	return sequence([]string{a.name, list(canonicals(a.refinements, (*constraintNode).meaning))})
}

// identity is what a rule is about: of its kind, the action, the target and the assignee.
func (a *atom) identity() string {
	action := ""
	if a.action != nil {
		action = a.action.name
	}
	return sequence([]string{a.kind.String(), action, a.target.meaning(), a.parties["assignee"].meaning()})
}

// A canon is the canonical texts of the rules of one comparison, each made once: rules that one rule as
// written was split into share their duties.
type canon struct {
	rules  map[*atom]string
	shared map[*ruleNode]string
}

// of is the canonical text of all that a rule says, as its hash.
func (m *canon) of(a *atom) string {
	if known, ok := m.rules[a]; ok {
		return known
	}
	var others []string
	for _, function := range sortedKeys(a.parties) {
		if function != "assignee" {
			others = append(others, sequence([]string{function, a.parties[function].meaning()}))
		}
	}
	text := sequence([]string{a.identity(), a.action.meaning(), sequence(others), m.ofNode(a)})
	sum := sha256.Sum256([]byte(text))
	m.rules[a] = string(sum[:])
	return m.rules[a]
}

// ofNode is the canonical text of what the rules have in common that one rule was split into.
func (m *canon) ofNode(a *atom) string {
	if known, ok := m.shared[a.node]; ok {
		return known
	}
	var relations []string
	for _, relation := range sortedKeys(a.node.relations) {
		for i := range a.node.relations[relation] {
			relations = append(relations, sequence([]string{relation, a.node.relations[relation][i].meaning()}))
		}
	}
	parts := []string{list(canonicals(slices.Concat(a.constraints, a.node.amounts), (*constraintNode).meaning)), sequence(relations), a.node.notice}
	for _, children := range [][]*atom{a.duties, a.remedies, a.consequence} {
		texts := make([]string, 0, len(children))
		for _, child := range children {
			texts = append(texts, hex.EncodeToString([]byte(m.of(child))))
		}
		parts = append(parts, list(texts))
	}
	sum := sha256.Sum256([]byte(sequence(parts)))
	m.shared[a.node] = hex.EncodeToString(sum[:])
	return m.shared[a.node]
}
