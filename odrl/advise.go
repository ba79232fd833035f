package odrl

import (
	"slices"
	"strings"
)

// advise warns of what is allowed and likely to be read differently by others: ODRL V 2.2 on datatypes,
// units and operators, and terms that it deprecates or does not have.
func (l *library) advise(d *document) {
	a := &adviser{names: l.names, seen: map[*ruleNode]bool{}}
	subclasses := slices.DeleteFunc(slices.Clone(d.types), func(t string) bool { return t == "Set" || t == "Policy" })
	if len(subclasses) > 1 {
		a.problems.Warnf("types", d.typesAt, "a policy is of one class, this one is a %s at once", strings.Join(subclasses, " and a "))
	}
	if len(d.strategies) > 1 {
		a.problems.Warnf("conflict-strategy", d.pointer, "the policy has %d conflict strategies: any conflict voids it", len(d.strategies))
	}
	for _, ref := range d.replacedBy {
		a.problems.Warnf("replaced", ref.pointer, "the policy is void: %s stands in its place", quote(ref.iri))
	}
	for _, r := range d.rules {
		a.rule(r)
	}
}

// spellings warns of terms that are deprecated or of another profile than those declared.
func (l *library) spellings() {
	uim := slices.ContainsFunc(l.list, func(d *document) bool {
		return slices.ContainsFunc(d.profiles, func(p reference) bool {
			rest, _ := bare(p.iri)
			return slices.Contains(uimProfiles, rest)
		})
	})
	for _, s := range l.loose {
		switch {
		case slices.Contains(retired, s.written):
			l.problems.Warnf("deprecated", s.pointer, "the %s %s is deprecated: write %s", s.what, s.written, s.meant)
		case slices.Contains(deprecated, s.meant):
			l.problems.Warnf("deprecated", s.pointer, "the %s %s is deprecated", s.what, s.written)
		case uim:
		case s.written != s.meant:
			l.problems.Warnf("profile-term", s.pointer, "%s is no %s of ODRL: it is read as %s", s.written, s.what, s.meant)
		case s.what != "action" || s.meant != "use":
			l.problems.Warnf("profile-term", s.pointer, "the %s %s is UIM's and not ODRL's own: name the profile http://%s", s.what, s.meant, uimProfiles[0])
		}
	}
}

type adviser struct {
	*names
	seen map[*ruleNode]bool
}

func (a *adviser) rule(r *ruleNode) {
	if a.seen[r] || a.problems.warned() {
		return
	}
	a.seen[r] = true
	for _, ref := range r.references() {
		if ref.literal {
			a.problems.Warnf("literal", ref.pointer, "%s is no absolute IRI: others may read it as another name, or not at all", quote(ref.name()))
		}
		a.constraints(ref.refinements)
	}
	a.constraints(r.constraints)
	for _, action := range r.actions {
		a.constraints(action.refinements)
	}
	for _, child := range r.children() {
		a.rule(child)
	}
}

func (a *adviser) constraints(list []*constraintNode) {
	for _, c := range list {
		a.constraints(c.operands)
		if c.logic == "" {
			a.constraint(c)
		}
	}
}

// fitting are the operators that ODRL V 2.2 foresees for a left operand, where it does not mean all.
var fitting = map[string][]string{
	"timeInterval": {"eq"}, "elapsedTime": {"eq", "lt", "lteq"}, "meteredTime": {"eq", "lt", "lteq"}, "delayPeriod": {"eq", "gt", "gteq"}, "event": {"lt", "eq", "gt", "lteq", "gteq"},
}

// datatypes are what the right operand of a left operand must read as.
var datatypes = map[string]struct {
	what string
	ok   func(string) bool
}{
	"dateTime":     {"a date or dateTime", func(s string) bool { _, ok := parseInstant(s); return ok }},
	"count":        {"a whole number", func(s string) bool { _, ok := parseCount(s); return ok }},
	"payAmount":    {"a number", isNumber},
	"percentage":   {"a number from 0 to 100", func(s string) bool { n, ok := parseNumber(s); return ok && n >= 0 && n <= 100*scale }},
	"elapsedTime":  {"a duration such as P30D", isDuration},
	"meteredTime":  {"a duration such as PT1H", isDuration},
	"delayPeriod":  {"a duration such as PT10M", isDuration},
	"timeInterval": {"a duration such as P7D", isDuration},
	"absoluteSize": {"a number", isNumber}, "relativeSize": {"a number", isNumber}, "resolution": {"a number", isNumber},
}

func isNumber(s string) bool { _, ok := parseNumber(s); return ok }

func isDuration(s string) bool {
	s = strings.TrimPrefix(s, "-")
	rest, ok := strings.CutPrefix(s, "P")
	if !ok || rest == "" || strings.HasSuffix(rest, "T") {
		return false
	}
	return strings.ContainsAny(rest, "0123456789") && strings.Trim(rest, "0123456789YMDTHSW.") == "" && strings.ContainsAny(rest[len(rest)-1:], "YMDHSW")
}

// unitless are left operands whose values have no unit; money is what a payAmount needs one for.
var unitless = []string{"dateTime", "purpose", "spatial", "recipient", "language", "version", "event", "deliveryChannel", "media", "industry", "product", "fileFormat", "systemDevice", "virtualLocation", "percentage"}

func (a *adviser) constraint(c *constraintNode) {
	if want, ok := fitting[c.operand]; ok && !slices.Contains(want, c.operator) {
		a.problems.Warnf("operator", c.pointer, "%s is compared by %s, not %s", c.operand, strings.Join(want, ", "), c.operator)
	}
	if slices.Contains(orderings, c.operator) && operands[c.operand] == text && known(operands, c.operand) {
		a.problems.Warnf("operator", c.pointer, "%s has no order: %s is never true", c.operand, c.operator)
	}
	if d, ok := datatypes[c.operand]; ok && c.operator != "within" && c.operator != "outside" {
		for _, r := range c.right {
			if !r.window && !d.ok(r.text) && !strings.Contains(r.text, "/") {
				a.problems.Warnf("datatype", r.pointer, "the right operand of %s is %s, not %s", c.operand, d.what, quote(r.text))
			}
		}
	}
	for _, r := range c.right {
		if at, ok := parseInstant(r.text); c.operand == "dateTime" && ok && at.zoneless {
			a.problems.Warnf("zone", r.pointer, "a dateTime without a zone is read as UTC")
		}
	}
	switch {
	case c.unit.iri != "" && slices.Contains(unitless, c.operand):
		a.problems.Warnf("unit", c.unit.pointer, "%s has no unit", c.operand)
	case c.unit.iri == "" && c.operand == "payAmount":
		a.problems.Warnf("unit", c.pointer, "an amount needs a unit: a currency")
	}
	if c.status != "" && !isNumber(c.status) && !isDuration(c.status) {
		a.problems.Warnf("status", c.pointer, "the status %s is no value of %s", quote(c.status), c.operand)
	}
}
