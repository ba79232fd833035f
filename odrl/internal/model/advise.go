package model

import (
	"slices"
	"strings"
)

// Advise warns about usage that is valid but that other implementations are likely to interpret differently, such as datatypes, units and
// operators that ODRL V 2.2 does not provide for an operand.
func (l *Library) Advise(d *Document) {
	a := &adviser{Names: l.Names, seen: map[*Rule]bool{}}
	subclasses := slices.DeleteFunc(slices.Clone(d.Types), func(t string) bool { return t == "Set" || t == "Policy" })
	if len(subclasses) > 1 {
		a.Problems.Warnf("types", d.TypesAt, "a policy should have one class, but this one has %s", strings.Join(subclasses, " and "))
	}
	if len(d.strategies) > 1 {
		a.Problems.Warnf("conflict-strategy", d.Pointer, "the policy has %d conflict strategies, so any conflict voids it", len(d.strategies))
	}
	for _, ref := range d.ReplacedBy {
		a.Problems.Warnf("replaced", ref.Pointer, "the policy is void: %s replaces it", Quote(ref.IRI))
	}
	for _, r := range d.Rules {
		a.rule(r)
	}
}

// uim reports whether the policy declares UIM's profile.
func (d *Document) uim() bool {
	return slices.ContainsFunc(d.profiles, func(p Reference) bool {
		rest, _ := Bare(p.IRI)
		return slices.Contains(uimProfiles, rest)
	})
}

// Spellings warns about deprecated terms. If no policy of the document declares UIM's profile, Spellings also warns about terms and
// spellings that are not ODRL's own.
func (l *Library) Spellings() {
	uim := slices.ContainsFunc(l.List, (*Document).uim)
	for _, s := range l.loose {
		switch {
		case uim && s.written == "pay": // UIM's own word
		case slices.Contains(retired, s.written):
			l.Problems.Warnf("deprecated", s.pointer, "the %s %s is deprecated: write %s", s.what, s.written, s.meant)
		case slices.Contains(deprecated, s.meant):
			l.Problems.Warnf("deprecated", s.pointer, "the %s %s is deprecated", s.what, s.written)
		case uim:
		case s.written != s.meant:
			l.Problems.Warnf("profile-term", s.pointer, "%s is not an ODRL %s: it is read as %s", s.written, s.what, s.meant)
		case s.what != "action" || s.meant != "use":
			l.Problems.Warnf("profile-term", s.pointer, "the %s %s is a term of UIM, not of ODRL: declare the profile http://%s",
				s.what, s.meant, uimProfiles[0])
		}
	}
}

type adviser struct {
	*Names
	seen map[*Rule]bool
}

func (a *adviser) rule(r *Rule) {
	if a.seen[r] || a.Problems.Warned() {
		return
	}
	a.seen[r] = true
	for _, ref := range r.References() {
		if ref.Literal {
			a.Problems.Warnf("literal", ref.Pointer, "%s is not an absolute IRI: other implementations may read it as a different name or reject it", Quote(ref.Name()))
		}
		a.constraints(ref.Refinements)
	}
	a.constraints(r.Constraints)
	for _, action := range r.Actions {
		a.constraints(action.Refinements)
	}
	for _, child := range r.children() {
		a.rule(child)
	}
}

func (a *adviser) constraints(list []*Constraint) {
	for _, c := range list {
		a.constraints(c.Operands)
		if c.Logic == "" {
			a.constraint(c)
		}
	}
}

func isNumber(s string) bool { _, ok := ParseNumber(s); return ok }

func isDuration(s string) bool {
	s = strings.TrimPrefix(s, "-")
	rest, ok := strings.CutPrefix(s, "P")
	if !ok || rest == "" || strings.HasSuffix(rest, "T") {
		return false
	}
	return strings.ContainsAny(rest, "0123456789") && strings.Trim(rest, "0123456789YMDTHSW.") == "" &&
		strings.ContainsAny(rest[len(rest)-1:], "YMDHSW")
}

func (a *adviser) constraint(c *Constraint) {
	left := c.Left()
	if want := strings.Fields(left.Operators); len(want) > 0 && !slices.Contains(want, c.Operator) {
		a.Problems.Warnf("operator", c.Pointer, "%s takes the operators %s, not %s", c.Operand, strings.Join(want, ", "), c.Operator)
	}
	if slices.Contains(Orderings, c.Operator) && left.Kind == Text {
		a.Problems.Warnf("operator", c.Pointer, "the values of %s have no order: %s is never true", c.Operand, c.Operator)
	}
	if d := left.Datatype; d != nil && c.Operator != "within" && c.Operator != "outside" {
		for _, r := range c.Right {
			if !r.Window && !d.ok(r.Text) && !strings.Contains(r.Text, "/") {
				a.Problems.Warnf("datatype", r.Pointer, "the right operand of %s should be %s, not %s", c.Operand, d.what, Quote(r.Text))
			}
		}
	}
	for _, r := range c.Right {
		if at, ok := ParseInstant(r.Text); c.Operand == "dateTime" && ok && at.Zoneless {
			a.Problems.Warnf("zone", r.Pointer, "a dateTime without a time zone is read as UTC")
		}
	}
	switch {
	case c.Unit.IRI != "" && left.Unit == NoUnit:
		a.Problems.Warnf("unit", c.Unit.Pointer, "%s does not take a unit", c.Operand)
	case c.Unit.IRI == "" && left.Unit == Currency:
		a.Problems.Warnf("unit", c.Pointer, "an amount needs a currency as its unit")
	}
	if c.Status != "" && !isNumber(c.Status) && !isDuration(c.Status) {
		a.Problems.Warnf("status", c.Pointer, "the status %s is not a valid value of %s", Quote(c.Status), c.Operand)
	}
}
