package intents

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// charge takes the cost of checking the value from the budgets of the call. Where they are exhausted, or the value is
// certainly too long, ok is false and one is the violation.
func (c *check) charge(v any, at *path, r *report) (one Violation, ok bool) {
	weight := c.compiled.patterns
	if c.walked {
		n := count(v, c.maxValues)
		if n > c.maxValues || n*c.work > workBudget-r.walkWork {
			if n <= c.maxValues {
				r.walkWork = workBudget
			}
			most := json.Number(strconv.Itoa(min(c.maxValues, workBudget/c.work)))
			one = violated("maxItems", most, at.String())
			one.Message = "this holds too many values to be checked, at most " + string(most) + " in all"
			return one, false
		}
		r.walkWork += n * c.work
		weight *= c.work
	}
	if weight == 0 {
		return one, true
	}
	if s, isText := v.(string); isText && !c.walked && longerThan(s, c.compiled.doc["maxLength"]) {
		return violated("maxLength", c.compiled.doc["maxLength"], at.String()), false
	}
	size := textSize(v)
	if size > (matchBudget-r.matchWork)/weight {
		r.matchWork = matchBudget
		one = violated("maxLength", json.Number(strconv.Itoa(matchBudget/weight)), at.String())
		one.Message = "this holds too much text to be matched against patterns, at most " + strconv.Itoa(matchBudget/weight) + " bytes in all"
		return one, false
	}
	r.matchWork += size * weight
	return one, true
}

func longerThan(s string, limit any) bool {
	n, ok := limit.(json.Number)
	if !ok {
		return false
	}
	most, err := strconv.ParseFloat(string(n), 64) // at most maxCount: exact
	return err == nil && float64(utf8.RuneCountInString(s)) > most
}

// count returns the number of values in a tree, or some number above most.
func count(v any, most int) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			if n > most {
				break
			}
			n += count(member, most-n)
		}
	case []any:
		for _, item := range v {
			if n > most {
				break
			}
			n += count(item, most-n)
		}
	}
	return n
}
