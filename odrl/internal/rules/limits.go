package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

// rate reads a limit of N executions in a period, given as count or rateLimit: in a permission with lteq N, in a prohibition with gt N.
// It reports a constraint that is not such a limit and returns false.
func (k *compiler) rate(c *model.Constraint, kind model.RuleKind) (limit.Rate, bool) {
	count, period, ok := k.bound(c)
	if !ok {
		return limit.Rate{}, false
	}
	switch op := c.Operator; {
	case kind == model.Permission && op == "lteq" || kind == model.Prohibition && op == "gt":
	case kind == model.Permission && op == "lt" || kind == model.Prohibition && op == "gteq":
		count--
	case kind == model.Permission && op == "eq":
		k.Problems.Warnf("limit", c.Pointer, "eq is read as lteq: at most %d", count)
	default:
		want := "lteq or lt"
		if kind == model.Prohibition {
			want = "gt or gteq"
		}
		k.Problems.Errorf("limit", c.Pointer, "%s in a %s is a limit and needs the operator %s, not %s", c.Operand, kind, want, op)
		return limit.Rate{}, false
	}
	if count < 0 {
		k.outOfBounds(c)
		return limit.Rate{}, false
	}
	if used, ok := model.ParseCount(c.Status); ok {
		count = max(count-used, 0)
	}
	return limit.Rate{Max: count, Period: period}, true
}

// bound reads the number and the period of a limit, whatever its operator. If either cannot be read, it reports that and returns false.
func (k *compiler) bound(c *model.Constraint) (int64, limit.Period, bool) {
	if len(c.Right) != 1 || c.Right[0].Window {
		k.Problems.Errorf("limit", c.Pointer, "%s must be compared with exactly one number", c.Operand)
		return 0, "", false
	}
	count, period, ok := k.countAndPeriod(c)
	if !ok {
		return 0, "", false
	}
	if count < 0 || count > limit.MaxCount {
		k.outOfBounds(c)
		return 0, "", false
	}
	if used, ok := model.ParseCount(c.Status); c.Status != "" && (!ok || used < 0 || period != limit.Lifetime) {
		k.Problems.Errorf("status", c.Pointer, "a status must be a whole number of uses, on a count without a unit")
		return 0, "", false
	}
	return count, period, true
}

func (k *compiler) outOfBounds(c *model.Constraint) {
	k.Problems.Errorf("limit", c.Right[0].Pointer, "a limit must be a whole number from 0 to %d", int64(limit.MaxCount))
}

func (k *compiler) countAndPeriod(c *model.Constraint) (int64, limit.Period, bool) {
	value := c.Right[0].Text
	period := limit.Lifetime
	switch {
	case c.Unit.IRI != "":
		p, ok := k.period(c.Unit)
		if !ok {
			return 0, "", false
		}
		period = p
	case strings.Contains(value, "/"):
		r, err := limit.ParseRate(value)
		if err != nil {
			k.Problems.Errorf("limit", c.Right[0].Pointer, "%v", err)
			return 0, "", false
		}
		return r.Max, r.Period, true
	case c.Operand == "rateLimit":
		k.Problems.Errorf("unit", c.Pointer, "a rateLimit needs a unit: second, minute, hour, day, week, month or year")
		return 0, "", false
	}
	count, ok := model.ParseCount(value)
	if !ok {
		k.Problems.Errorf("limit", c.Right[0].Pointer, "%s is not a whole number", model.Quote(value))
		return 0, "", false
	}
	return count, period, true
}

// period parses the unit of a limit, such as hour, odrl:hour, an IRI of a known vocabulary, requests/hour or PT1H.
func (k *compiler) period(unit model.Reference) (limit.Period, bool) {
	name, ok := k.Local(unit.IRI, k.Namespaces, model.UnitNamespaces)
	if what, per, cut := strings.Cut(name, "/"); ok && cut {
		name = per
		ok = slices.Contains([]string{"request", "requests", "call", "calls", "execution", "executions", "use", "uses"}, strings.ToLower(what))
	}
	if known, alias := model.PeriodNames[name]; alias {
		name = known
	}
	if ok {
		if p, err := limit.ParsePeriod(name); err == nil {
			return p, true
		}
	}
	k.Problems.Errorf("unit", unit.Pointer, "%s is not a period%s: use second, minute, hour, day, week, month or year", model.Quote(unit.IRI),
		model.Suggest(model.LastName(unit.IRI), []string{"second", "minute", "hour", "day", "week", "month", "year"}))
	return "", false
}

// limitID returns the id of the counter of a limit. It depends on the limited rule and on the period. It does not depend on the number, the
// price or the position in the document, so a count survives changes to those. It does not depend on the plans of the rule either, so a
// count survives a change of the plan.
func limitID(r *Rule, p limit.Period) string {
	b, err := strictjson.Canonical(map[string]any{
		"action": r.Action, "target": r.Target.Name, "period": string(p), "constraints": append([]string{}, r.besidePlans()...),
	})
	if err != nil { // cannot happen: the tree contains only strings
		b = []byte(r.Node.Pointer)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// AddLimit adds l to list. If list already has a limit with the same id, the smaller maximum applies.
func AddLimit(list []limit.Limit, l limit.Limit) []limit.Limit {
	for i := range list {
		if list[i].ID == l.ID {
			list[i].Max = min(list[i].Max, l.Max)
			return list
		}
	}
	return append(list, l)
}
