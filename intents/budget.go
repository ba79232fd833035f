package intents

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// afford takes what checking the value costs from the budgets of the call; not ok means that they do
// not reach, or that the value is plainly too long, and one says so.
func (c *check) afford(v any, at *path, r *report) (one Violation, ok bool) {
	weight := c.own.patterns
	if c.walked {
		n := count(v, c.most)
		if n > c.most || n*c.work > workBudget-r.worked {
			if n <= c.most {
				r.worked = workBudget
			}
			most := json.Number(strconv.Itoa(min(c.most, workBudget/c.work)))
			one = violated("maxItems", most, at.String())
			one.Message = "this holds too many values to be checked, at most " + string(most) + " in all"
			return one, false
		}
		r.worked += n * c.work
		weight *= c.work
	}
	if weight == 0 {
		return one, true
	}
	if s, isText := v.(string); isText && !c.walked && longer(s, c.own.doc["maxLength"]) {
		return violated("maxLength", c.own.doc["maxLength"], at.String()), false
	}
	size := textSize(v)
	if size > (matchBudget-r.matched)/weight {
		r.matched = matchBudget
		one = violated("maxLength", json.Number(strconv.Itoa(matchBudget/weight)), at.String())
		one.Message = "this holds too much text to be matched against patterns, at most " + strconv.Itoa(matchBudget/weight) + " bytes in all"
		return one, false
	}
	r.matched += size * weight
	return one, true
}

func longer(s string, limit any) bool {
	n, ok := limit.(json.Number)
	if !ok {
		return false
	}
	most, err := strconv.ParseFloat(string(n), 64) // at most maxCount: exact
	return err == nil && float64(utf8.RuneCountInString(s)) > most
}

// count counts the values in a tree, giving up above most.
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
