package words_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/odrl/words"
)

// Pairs of policies with the expected direction of the difference, if there is one.
func TestJudge(t *testing.T) {
	rule := func(parts string) string {
		return `{"target":"http://example.com/a","action":"play"` + parts + `}`
	}
	permission := func(parts string) string { return `"permission":[` + rule(parts) + `]` }
	constraint := func(c ...string) string { return permission(`,"constraint":[` + strings.Join(c, ",") + `]`) }
	duty := func(d string) string { return permission(`,"duty":[` + d + `]`) }
	prohibition := func(parts string) string {
		return `"conflict":"prohibit",` + permission(``) + `,"prohibition":[` + rule(parts) + `]`
	}
	either := func(c ...string) string { return `{"or":[` + strings.Join(c, ",") + `]}` }
	per := func(n int, unit string) string {
		return fmt.Sprintf(`{"leftOperand":"count","operator":"lteq","rightOperand":%d,"unit":"%s"}`, n, unit)
	}
	window := func(start, end string) string {
		return `{"leftOperand":"timeWindow","operator":"within","rightOperand":{"start":"` + start + `","end":"` + end + `"}}`
	}
	pay := func(amount string) string { return `{"action":"pay","amount":"` + amount + `","unit":"EUR"}` }
	ads, research := leaf("purpose", "eq", "ads"), leaf("purpose", "eq", "research")
	const obligation = `"obligation":[{"action":"inform","target":"http://example.com/a"}]`
	for name, test := range map[string]struct {
		old, new string
		shift    words.Shift
		verdict  words.Effect
	}{
		"list of one value": {constraint(ads), constraint(leaf("purpose", "isAnyOf", list{"ads"})), words.None, words.Same},
		"longer list": {
			constraint(ads), constraint(leaf("purpose", "isAnyOf", list{"ads", "research"})), words.Wider, words.Better,
		},
		"different purpose": {constraint(ads), constraint(research), words.Both, words.Mixed},
		"operands of or reordered": {
			constraint(either(ads, research)), constraint(leaf("purpose", "isAnyOf", list{"research", "ads"})), words.None, words.Same,
		},
		"removed operand of or": {constraint(either(ads, research)), constraint(research), words.Narrower, words.Worse},
		"rule split in two": {
			constraint(leaf("purpose", "isAnyOf", list{"ads", "research"})),
			`"permission":[` + rule(`,"constraint":[`+ads+`]`) + `,` + rule(`,"constraint":[`+research+`]`) + `]`, words.None, words.Same,
		},
		"redundant rule": {
			permission(``), `"permission":[` + rule(``) + `,` + rule(`,"constraint":[`+ads+`]`) + `]`, words.None, words.Same,
		},
		"prohibition of an action without permission": {
			constraint(ads),
			`"conflict":"prohibit",` + constraint(ads) + `,"prohibition":[` + rule(`,"constraint":[`+leaf("purpose", "neq", "ads")+`]`) + `]`,
			words.None, words.Same,
		},
		"prohibition of a permitted action": {permission(``), prohibition(`,"constraint":[` + ads + `]`), words.Narrower, words.Worse},
		"broader action":                    {permission(``), strings.Replace(permission(``), `"play"`, `"use"`, 1), words.Wider, words.Better},
		"assignee added":                    {permission(``), permission(`,"assignee":"http://example.com/x"`), words.Narrower, words.Worse},
		"different assignee": {
			permission(`,"assignee":"http://example.com/x"`), permission(`,"assignee":"http://example.com/y"`), words.Both, words.Mixed,
		},
		"exclusive bound on a size": {
			constraint(leaf("absoluteSize", "lteq", 100)), constraint(leaf("absoluteSize", "lt", 101)), words.Wider, words.Better,
		},
		"size in a different unit": {
			constraint(measured("absoluteSize", "lteq", "1", "MB")),
			constraint(measured("absoluteSize", "lteq", "1000", "KB")), words.None, words.Same,
		},
		"smaller size": {
			constraint(measured("absoluteSize", "lteq", "1", "MB")),
			constraint(measured("absoluteSize", "lteq", "999", "KB")), words.Narrower, words.Worse,
		},
		"end one second later": {
			constraint(leaf("dateTime", "lt", "2030-01-01T00:00:00Z")),
			constraint(leaf("dateTime", "lteq", "2030-01-01T00:00:01Z")), words.Wider, words.Better,
		},
		"day as a time window": {
			constraint(leaf("dateTime", "eq", "2030-01-01")),
			constraint(window("2030-01-01T00:00:00Z", "2030-01-02T00:00:00Z")), words.None, words.Same,
		},
		"later time window": {
			constraint(window("09:00:00Z", "17:00:00Z")), constraint(window("10:00:00Z", "18:00:00Z")), words.Both, words.Mixed,
		},
		"longer time window": {
			constraint(window("09:00:00Z", "17:00:00Z")), constraint(window("09:00:00Z", "18:00:00Z")), words.Wider, words.Better,
		},
		"region inside the previous one": {
			constraint(leaf("spatial", "isPartOf", "US")), constraint(leaf("spatial", "isPartOf", "US-CA")), words.Narrower, words.Worse,
		},
		"duration in hours": {
			constraint(leaf("elapsedTime", "lteq", "P1D")), constraint(leaf("elapsedTime", "lteq", "PT24H")), "", words.Same,
		},
		"lower minimum version": {
			constraint(leaf("version", "gteq", "2.0.0")), constraint(leaf("version", "gt", "1.9.0")), words.Wider, words.Better,
		},
		"additional limit":                 {permission(``), constraint(per(5, "hour")), words.Narrower, words.Worse},
		"limit with a shorter period":      {constraint(per(5, "hour")), constraint(per(5, "minute")), words.Both, words.Mixed},
		"duplicate limit":                  {constraint(per(5, "hour")), constraint(per(5, "hour"), per(9, "hour")), words.None, words.Same},
		"same limit with another operator": {constraint(leaf("count", "lteq", 100)), constraint(leaf("count", "lt", 101)), "", words.Same},
		"higher price":                     {duty(pay("1")), duty(pay("1.01")), words.Narrower, words.Worse},
		"price split in two duties":        {duty(pay("3")), duty(pay("1") + `,` + pay("2")), words.None, words.Same},
		"new duty":                         {permission(``), duty(`{"action":"inform"}`), words.Narrower, words.Worse},
		"duty under a condition": {
			duty(`{"action":"inform"}`), duty(`{"action":"inform","constraint":[` + ads + `]}`), words.Wider, words.Better,
		},
		"removed obligation": {permission(``) + `,` + obligation, permission(``), words.Wider, words.Better},
		"new remedy": {
			prohibition(``), prohibition(`,"remedy":[{"action":"inform","target":"http://example.com/a"}]`), words.Narrower, words.Worse,
		},
		"required signature": {
			permission(``), permission(``) + `,"obligation":[{"action":"signPayload"}]`, words.Narrower, words.Worse,
		},
		"wider offer": {
			`"type":"Offer",` + constraint(ads), `"type":"Offer",` + permission(``), words.Wider, words.Better,
		},
		"price instead of a limit": {constraint(leaf("count", "lteq", 5)), duty(pay("1")), words.Both, words.Mixed},
		"end at the time of use": {
			permission(``), constraint(leaf("dateTime", "lt", "odrl:policyUsage")), words.Changed, words.Worse,
		},
		"unknown operand": {
			constraint(leaf("http://example.com/odd", "eq", "x")),
			constraint(leaf("http://example.com/odd", "isAnyOf", list{"x", "y"})), words.Wider, words.Better,
		},
		"condition on the time of use": {
			constraint(leaf("dateTime", "lt", "odrl:policyUsage")), constraint(leaf("dateTime", "gt", "odrl:policyUsage")),
			words.Unchecked, words.Mixed,
		},
		"too many requests to try":               {constraint(eight("x")...), constraint(eight("y")...), words.Both, words.Mixed},
		"too many requests to try, part differs": {constraint(eight("x")[1:]...), constraint(eight("x")...), words.Changed, words.Worse},
		"different conflict strategy": {
			strings.Replace(prohibition(``), "prohibit", "perm", 1), prohibition(``), words.Narrower, words.Worse,
		},
		"conflict strategy without effect": {
			`"conflict":"perm",` + permission(``), `"conflict":"prohibit",` + permission(``), "", words.Same,
		},
	} {
		old, new := lenient(t, policy(test.old)), lenient(t, policy(test.new)) //nolint:revive // the words for it
		c := words.Compare(old, new)
		if err := c.Judge(t.Context(), old, new); err != nil {
			t.Fatal(err)
		}
		var shift words.Shift
		if c.Decided != nil {
			shift = c.Decided.Shift
		}
		if shift != test.shift || c.Verdict != test.verdict {
			t.Errorf("%s: %s, want %s; verdict %s, want %s\n%s", name, shift, test.shift, c.Verdict, test.verdict, changed(c))
			if c.Decided != nil {
				t.Errorf("%+v\n%+v\n%+v", c.Decided, c.Decided.Wider, c.Decided.Narrower)
			}
		}
		if c.Decided == nil {
			continue
		}
		wider, narrower := shift == words.Wider || shift == words.Both, shift == words.Narrower || shift == words.Both
		if shift != words.Changed && ((c.Decided.Wider != nil) != wider || (c.Decided.Narrower != nil) != narrower) {
			t.Errorf("%s: %s with examples %v and %v", name, shift, c.Decided.Wider, c.Decided.Narrower)
		}
	}
}

// eight returns conditions on eight operands.
func eight(value string) []string {
	var conditions []string
	for operand := range strings.FieldsSeq("purpose product media industry fileFormat deliveryChannel systemDevice recipient") {
		conditions = append(conditions, leaf(operand, "eq", value))
	}
	return conditions
}

func measured(operand, operator, value, unit string) string {
	return `{"leftOperand":"` + operand + `","operator":"` + operator + `","rightOperand":"` + value +
		`","unit":"http://example.com/units/` + unit + `"}`
}
