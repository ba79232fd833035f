package odrl

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// rate reads a limit: at most N executions in a period. A permission says so by count or rateLimit
// lteq N, a prohibition by gt N.
func (n *normalizer) rate(c *constraintNode, k ruleKind) (limit.Rate, bool) {
	if len(c.right) != 1 || c.right[0].window {
		n.problems.Errorf("limit", c.pointer, "%s compares with one number", c.operand)
		return limit.Rate{}, false
	}
	count, period, ok := n.countAndPeriod(c)
	if !ok {
		return limit.Rate{}, false
	}
	switch op := c.operator; {
	case k == permission && op == "lteq" || k == prohibition && op == "gt":
	case k == permission && op == "lt" || k == prohibition && op == "gteq":
		count--
	case k == permission && op == "eq":
		n.problems.Warnf("limit", c.pointer, "eq is read as lteq: at most %d", count)
	default:
		want := "lteq or lt"
		if k == prohibition {
			want = "gt or gteq"
		}
		n.problems.Errorf("limit", c.pointer, "%s in a %s is a limit and compares by %s, not %s", c.operand, k, want, op)
		return limit.Rate{}, false
	}
	if c.status != "" {
		used, ok := parseCount(c.status)
		if !ok || used < 0 || period != limit.Lifetime {
			n.problems.Errorf("status", c.pointer, "a status is a whole number of uses, on a count without a unit")
			return limit.Rate{}, false
		}
		count = max(count-used, 0)
	}
	if count < 0 || count > limit.MaxCount {
		n.problems.Errorf("limit", c.right[0].pointer, "a limit is a whole number from 0 to %d", int64(limit.MaxCount))
		return limit.Rate{}, false
	}
	return limit.Rate{Max: count, Period: period}, true
}

func (n *normalizer) countAndPeriod(c *constraintNode) (int64, limit.Period, bool) {
	value := c.right[0].text
	period := limit.Lifetime
	switch {
	case c.unit.iri != "":
		p, ok := n.period(c.unit)
		if !ok {
			return 0, "", false
		}
		period = p
	case strings.Contains(value, "/"):
		r, err := limit.ParseRate(value)
		if err != nil {
			n.problems.Errorf("limit", c.right[0].pointer, "%v", err)
			return 0, "", false
		}
		return r.Max, r.Period, true
	case c.operand == "rateLimit":
		n.problems.Errorf("unit", c.pointer, "a rateLimit needs a unit: second, minute, hour, day, week, month or year")
		return 0, "", false
	}
	count, ok := parseCount(value)
	if !ok {
		n.problems.Errorf("limit", c.right[0].pointer, "%s is no whole number", quote(value))
		return 0, "", false
	}
	return count, period, true
}

// period reads hour, odrl:hour, an IRI of a known vocabulary, requests/hour and PT1H.
func (n *normalizer) period(unit reference) (limit.Period, bool) {
	name, ok := n.local(unit.iri, n.namespaces, unitNamespaces)
	if what, per, cut := strings.Cut(name, "/"); ok && cut {
		name = per
		ok = slices.Contains([]string{"request", "requests", "call", "calls", "execution", "executions", "use", "uses"}, strings.ToLower(what))
	}
	if known, alias := periodNames[name]; alias {
		name = known
	}
	if ok {
		if p, err := limit.ParsePeriod(name); err == nil {
			return p, true
		}
	}
	n.problems.Errorf("unit", unit.pointer, "%s is no period%s: use second, minute, hour, day, week, month or year", quote(unit.iri), suggest(lastName(unit.iri), []string{"second", "minute", "hour", "day", "week", "month", "year"}))
	return "", false
}

// limitID names the counter of a limit: by what is limited and over which time, never by how much,
// at what price, or where in the document it stands, so that a count outlives changes of those.
func limitID(r *rule, p limit.Period) string {
	b, err := strictjson.Canonical(map[string]any{
		"action": r.action, "target": r.target.name, "period": string(p), "constraints": append([]string{}, r.canonical...),
	})
	if err != nil { // only texts are in the tree
		b = []byte(r.node.pointer)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// addLimit adds l; limits of one id are one, held to the smaller number.
func addLimit(list []limit.Limit, l limit.Limit) []limit.Limit {
	for i := range list {
		if list[i].ID == l.ID {
			list[i].Max = min(list[i].Max, l.Max)
			return list
		}
	}
	return append(list, l)
}
