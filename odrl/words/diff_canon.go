package words

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// Two parts of policies have the same meaning if their canonical texts are equal. The texts omit the names and descriptions of nodes, and
// do not depend on an order that has no meaning.

// list returns the canonical text of parts whose order has no meaning.
func list(parts []string) string {
	parts = slices.Clone(parts)
	slices.Sort(parts)
	return sequence(parts)
}

// sequence returns the canonical text of parts in their order, as a JSON array.
func sequence(parts []string) string {
	b, err := json.Marshal(parts)
	if err != nil { // strings can always be encoded
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

// constraintMeaning returns the canonical text of a constraint. For a logical constraint the text contains a hash of its parts, because
// otherwise each level of nesting would repeat the levels below it.
func constraintMeaning(c *model.Constraint) string {
	if c.Logic != "" {
		parts := canonicals(c.Operands, constraintMeaning)
		if c.Logic != "andSequence" {
			slices.Sort(parts)
		}
		sum := sha256.Sum256([]byte(sequence(parts)))
		return sequence([]string{c.Logic, hex.EncodeToString(sum[:])})
	}
	values := make([]string, 0, len(c.Right)+len(c.RightRef))
	for i := range c.Right {
		values = append(values, valueMeaning(c, &c.Right[i]))
	}
	for _, ref := range c.RightRef {
		values = append(values, "at "+ref.IRI)
	}
	operator, unit := c.Operator, c.Unit.IRI
	if closed, value, ok := closedBound(c); ok {
		operator, values = closed, []string{value}
	}
	if code, ok := currencyCode(unit); ok {
		unit = code
	}
	if c.Left().Kind == model.Count {
		unit = perPeriod(c)
		if operator == "eq" { // both are the same limit
			operator = "lteq"
		}
	}
	return sequence([]string{c.Operand, operator, list(values), unit, c.Status})
}

// closedBound normalizes a bound of a count, or of the time if it is a whole day, so that bounds with the same meaning are equal. For
// example, "fewer than 101" becomes "at most 100", and "until the end of a day" becomes "before the next day". It returns false for all
// other constraints.
func closedBound(c *model.Constraint) (operator, value string, ok bool) {
	if len(c.Right) != 1 || c.Right[0].Window || len(c.RightRef) > 0 {
		return "", "", false
	}
	switch text := c.Right[0].Text; c.Left().Kind {
	case model.Count:
		n, whole := model.ParseCount(text)
		if !whole || n <= 0 {
			return "", "", false
		}
		switch c.Operator {
		case "lt":
			return "lteq", strconv.FormatInt(n-1, 10), true
		case "gteq":
			return "gt", strconv.FormatInt(n-1, 10), true
		}
	case model.Instant:
		at, known := parseSpan(text)
		if !known || !at.day() {
			return "", "", false
		}
		switch c.Operator {
		case "lt", "gteq":
			return c.Operator, timeMeaning(at.from.Format(time.RFC3339Nano)), true
		case "lteq":
			return "lt", timeMeaning(at.to.Format(time.RFC3339Nano)), true
		case "gt":
			return "gteq", timeMeaning(at.to.Format(time.RFC3339Nano)), true
		}
	default:
	}
	return "", "", false
}

// valueMeaning returns the canonical text of one right operand: instants in UTC, numbers in lowest terms.
func valueMeaning(c *model.Constraint, l *model.Literal) string {
	if l.Window {
		return timeMeaning(l.Start) + "/" + timeMeaning(l.End)
	}
	switch c.Left().Kind {
	case model.Instant:
		return timeMeaning(l.Text)
	case model.Window:
		start, end, ok := strings.Cut(l.Text, "/")
		if ok {
			return timeMeaning(start) + "/" + timeMeaning(end)
		}
	case model.Text, model.Code:
		return c.Left().CanonicalText(l.Text)
	case model.Version:
		if v, ok := model.ParseSemver(l.Text); ok {
			if b, err := json.Marshal(v); err == nil {
				return string(b)
			}
		}
	default:
		if x, ok := model.ParseDecimal(l.Text); ok {
			return x.RatString()
		}
		if d, ok := model.ParseDuration(l.Text); ok {
			if b, err := json.Marshal(d); err == nil {
				return string(b)
			}
		}
	}
	return l.Text
}

func timeMeaning(s string) string {
	if at, ok := parseSpan(s); ok {
		return at.from.Format("2006-01-02T15:04:05.999999999Z") + " " + at.to.Sub(at.from).String()
	}
	if at, _, ok := model.ParseClock(s); ok {
		return model.Integer(at).String()
	}
	return s
}

func referenceMeaning(r *model.Reference) string {
	if r == nil {
		return ""
	}
	kind := ""
	if len(r.Refinements) > 0 {
		kind = list(canonicals(r.Refinements, constraintMeaning))
	}
	return sequence([]string{r.Name(), kind})
}

func actionMeaning(a *model.Action) string {
	if a == nil {
		return ""
	}
	return sequence([]string{a.Name, list(canonicals(a.Refinements, constraintMeaning))})
}

// identity returns the canonical text of the subject of a rule: its kind, action, target and assignee.
func identity(a *model.Atom) string {
	action := ""
	if a.Action != nil {
		action = a.Action.Name
	}
	return sequence([]string{a.Kind.String(), action, referenceMeaning(a.Target), referenceMeaning(a.Parties["assignee"])})
}

// A canon caches the canonical texts of the rules of one comparison. The parts of one rule of the document share the text of their
// constraints and duties.
type canon struct {
	rules  map[*model.Atom]string
	shared map[*model.Rule]string
}

// of returns the hash of the canonical text of a rule.
func (m *canon) of(a *model.Atom) string {
	if known, ok := m.rules[a]; ok {
		return known
	}
	var others []string
	for _, function := range model.SortedKeys(a.Parties) {
		if function != "assignee" {
			others = append(others, sequence([]string{function, referenceMeaning(a.Parties[function])}))
		}
	}
	text := sequence([]string{identity(a), actionMeaning(a.Action), sequence(others), m.ofNode(a)})
	sum := sha256.Sum256([]byte(text))
	m.rules[a] = string(sum[:])
	return m.rules[a]
}

// ofNode returns the hash of the canonical text that all parts of one rule of the document have in common.
func (m *canon) ofNode(a *model.Atom) string {
	if known, ok := m.shared[a.Node]; ok {
		return known
	}
	var relations []string
	for _, relation := range model.SortedKeys(a.Node.Relations) {
		for i := range a.Node.Relations[relation] {
			relations = append(relations, sequence([]string{relation, referenceMeaning(&a.Node.Relations[relation][i])}))
		}
	}
	parts := []string{list(canonicals(slices.Concat(a.Constraints, a.Node.Amounts), constraintMeaning)), sequence(relations), a.Node.Notice}
	for _, children := range [][]*model.Atom{a.Duties, a.Remedies, a.Consequence} {
		texts := make([]string, 0, len(children))
		for _, child := range children {
			texts = append(texts, hex.EncodeToString([]byte(m.of(child))))
		}
		parts = append(parts, list(texts))
	}
	sum := sha256.Sum256([]byte(sequence(parts)))
	m.shared[a.Node] = hex.EncodeToString(sum[:])
	return m.shared[a.Node]
}
