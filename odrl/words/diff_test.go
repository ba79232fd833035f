package words_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/words"
)

func lenient(t *testing.T, doc string) *odrl.Policy {
	t.Helper()
	p, problems := odrl.Load(t.Context(), []byte(doc), odrl.LoadOptions{Lenient: true})
	if p == nil {
		t.Fatalf("%s: %v", doc, problems)
	}
	return p
}

// changed formats a comparison: effect, rule and text of each change.
func changed(c words.Comparison) string {
	var b strings.Builder
	b.WriteString(string(c.Verdict) + "\n")
	for _, change := range c.Changes {
		b.WriteString(string(change.Effect) + " " + change.Old + ">" + change.New + " " + change.Text + "\n")
	}
	return b.String()
}

const rateOf = `{"leftOperand":"rateLimit","operator":"lteq","rightOperand":30,"unit":"minute"}`

func TestCompare(t *testing.T) {
	permission := func(parts string) string {
		return `"permission":[{"target":"http://example.com/a","action":"execute"` + parts + `}]`
	}
	constraint := func(c string) string { return permission(`,"constraint":[` + c + `]`) }
	duty := func(d string) string { return permission(`,"duty":[` + d + `]`) }
	date := func(day string) string { return leaf("dateTime", "lteq", day) }
	for name, test := range map[string]struct{ old, new, want string }{
		"new permission": {permission(``), permission(`},{"target":"http://example.com/b","action":"play","constraint":` + date("2030-01-01")), `
			better >/permission/1 This permission is new. It applies only if the action takes place before 2 January 2030 (UTC).`},
		"removed permission": {permission(`},{"uid":"http://example.com/p#2","target":"http://example.com/b","action":"play"`), permission(``), `
			worse http://example.com/p#2> This permission has been removed.`},
		"new prohibition": {permission(``), permission(``) + `,"prohibition":[{"target":"http://example.com/a","action":"sell"}]`, `
			worse >/prohibition/0 This prohibition is new.`},
		"removed obligation": {permission(``) + `,"obligation":[{"action":"signPayload"}]`, permission(``), `
			better /obligation/0> This obligation has been removed.`},
		"lower limit": {constraint(rateOf), constraint(strings.Replace(rateOf, "30", "20", 1)), `
			worse /permission/0>/permission/0 At most 20 times per minute. Before: at most 30 times per minute.`},
		"higher limit": {constraint(rateOf), constraint(strings.Replace(rateOf, "30", "31", 1)), `
			better /permission/0>/permission/0 At most 31 times per minute. Before: at most 30 times per minute.`},
		"limit with another period": {constraint(rateOf), constraint(strings.Replace(rateOf, "minute", "hour", 1)), `
			worse /permission/0>/permission/0 New condition: the action takes place at most 30 times per hour.
			better /permission/0>/permission/0 This is no longer a condition: the action takes place at most 30 times per minute.`},
		"higher limit of a prohibition": {
			`"prohibition":[{"target":"http://example.com/a","action":"execute","constraint":` + leaf("count", "gt", 5) + `}]`,
			`"prohibition":[{"target":"http://example.com/a","action":"execute","constraint":` + leaf("count", "gt", 6) + `}]`, `
			better /prohibition/0>/prohibition/0 More than 6 times in all. Before: more than 5 times in all.`,
		},
		"new condition of a prohibition": {
			`"prohibition":[{"target":"http://example.com/a","action":"execute"}]`, `"prohibition":[{"target":"http://example.com/a","action":"execute","constraint":` + leaf("purpose", "eq", "ads") + `}]`, `
			better /prohibition/0>/prohibition/0 New condition: the purpose is "ads".`,
		},
		"same limit with another operator": {constraint(leaf("count", "lteq", 100)), constraint(leaf("count", "lt", 101)), ``},
		"same end with another operator":   {constraint(leaf("dateTime", "lteq", "2030-01-01")), constraint(leaf("dateTime", "lt", "2030-01-02")), ``},
		"higher limit with another operator": {constraint(leaf("count", "lteq", 100)), constraint(leaf("count", "lt", 102)), `
			better /permission/0>/permission/0 Fewer than 102 times in all. Before: at most 100 times in all.`},
		"lower limit with another operator": {constraint(leaf("count", "lteq", 100)), constraint(leaf("count", "lt", 100)), `
			worse /permission/0>/permission/0 Fewer than 100 times in all. Before: at most 100 times in all.`},
		"later end": {constraint(date("2030-01-01")), constraint(date("2031-01-01T00:00:00Z")), `
			better /permission/0>/permission/0 The action takes place no later than 1 January 2031, 00:00:00 UTC. Before: the action takes place before 2 January 2030 (UTC).`},
		"same date, inclusive operator": {constraint(leaf("dateTime", "lt", "2030-01-01")), constraint(date("2030-01-01")), `
			better /permission/0>/permission/0 The action takes place before 2 January 2030 (UTC). Before: the action takes place before 1 January 2030 (UTC).`},
		"additional permitted purpose": {constraint(leaf("purpose", "isAnyOf", list{"a", "b"})), constraint(leaf("purpose", "isAnyOf", list{"c", "a", "b"})), `
			better /permission/0>/permission/0 The purpose is "a", "b" or "c". Before: the purpose is "a" or "b".`},
		"excluded purpose removed": {constraint(leaf("purpose", "isNoneOf", list{"a", "b"})), constraint(leaf("purpose", "isNoneOf", list{"a"})), `
			better /permission/0>/permission/0 The purpose is not "a". Before: the purpose is not "a" or "b".`},
		"different purpose": {constraint(leaf("purpose", "eq", "a")), constraint(leaf("purpose", "eq", "b")), `
			mixed /permission/0>/permission/0 The purpose is "b". Before: the purpose is "a".`},
		"lower minimum version": {constraint(leaf("version", "gteq", "v2")), constraint(leaf("version", "gteq", "v1.9")), `
			better /permission/0>/permission/0 The version of the intent is at least 1.9.0. Before: the version of the intent is at least 2.0.0.`},
		"longer maximum duration": {constraint(leaf("elapsedTime", "lteq", "P1D")), constraint(leaf("elapsedTime", "lteq", "PT25H")), `
			better /permission/0>/permission/0 The time elapsed is at most 25 hours. Before: the time elapsed is at most 1 day.`},
		"days instead of a month": {constraint(leaf("elapsedTime", "lteq", "P1M")), constraint(leaf("elapsedTime", "lteq", "P30D")), `
			mixed /permission/0>/permission/0 The time elapsed is at most 30 days. Before: the time elapsed is at most 1 month.`},
		"new price": {permission(``), duty(`{"action":"pay","amount":"0.05","unit":"EUR"}`), `
			worse /permission/0>/permission/0 New duty: the party that owes it must pay 0.05 EUR for each call.`},
		"removed price": {duty(`{"action":"pay","amount":"0.05","unit":"EUR"}`), permission(``), `
			better /permission/0>/permission/0 This duty has been removed: the party that owes it must pay 0.05 EUR for each call.`},
		"higher price": {duty(`{"action":"pay","amount":"0.05","unit":"EUR"}`), duty(`{"action":"pay","amount":"0.10","unit":"EUR"}`), `
			worse /permission/0>/permission/0 In the duty to pay: The price is 0.10 EUR, instead of 0.05 EUR.`},
		"lower price": {duty(`{"action":"pay","amount":"0.05","unit":"EUR"}`), duty(`{"action":"compensate","amount":"0.049","unit":"EUR"}`), `
			better /permission/0>/permission/0 In the duty to pay: The price is 0.049 EUR, instead of 0.05 EUR.`},
		"different currency": {duty(`{"action":"pay","amount":"0.05","unit":"EUR"}`), duty(`{"action":"pay","amount":"0.04","unit":"USD"}`), `
			mixed /permission/0>/permission/0 In the duty to pay: The price is 0.04 USD, instead of 0.05 EUR.`},
		"later deadline": {
			`"obligation":[{"action":"delete","target":"http://example.com/a","constraint":` + leaf("delayPeriod", "lteq", "P1D") + `}]`,
			`"obligation":[{"action":"delete","target":"http://example.com/a","constraint":` + leaf("delayPeriod", "lteq", "P2D") + `}]`, `
			better /obligation/0>/obligation/0 The waiting time is at most 2 days. Before: the waiting time is at most 1 day.`,
		},
		"new deadline": {
			`"obligation":[{"action":"delete","target":"http://example.com/a"}]`, `"obligation":[{"action":"delete","target":"http://example.com/a","constraint":` + leaf("delayPeriod", "lteq", "P2D") + `}]`, `
			worse /obligation/0>/obligation/0 New condition: the waiting time is at most 2 days.`,
		},
		"new remedy": {
			`"prohibition":[{"target":"http://example.com/a","action":"sell"}]`, `"prohibition":[{"target":"http://example.com/a","action":"sell","remedy":[{"action":"pay","amount":"5","unit":"EUR"}]}]`, `
			worse /prohibition/0>/prohibition/0 New remedy: the party that owes it must pay 5.00 EUR.`,
		},
		"removed consequence": {duty(`{"action":"inform","consequence":[{"action":"pay","amount":"5","unit":"EUR"}]}`), duty(`{"action":"inform"}`), `
			better /permission/0>/permission/0 In the duty to inform others of it: This consequence has been removed: the party that owes it must pay 5.00 EUR.`},
		"same uid, different assignee": {
			`"permission":[{"uid":"http://example.com/p#1","target":"http://example.com/a","action":"play","assignee":"http://example.com/x"}]`,
			`"permission":[{"uid":"http://example.com/p#1","target":"http://example.com/a","action":"play","assignee":"http://example.com/y"}]`, `
			mixed http://example.com/p#1>http://example.com/p#1 Before, it was: The party "http://example.com/x" may play "http://example.com/a".`,
		},
		"removed target": {
			`"permission":[{"target":["http://example.com/a","http://example.com/b"],"action":["play","read"]}]`, `"permission":[{"target":"http://example.com/a","action":["play","read"]}]`, `
			worse /permission/0> This permission has been removed.
			worse /permission/0> This permission has been removed.`,
		},
		"removed limit of several targets": {
			`"permission":[{"target":["http://example.com/a","http://example.com/b"],"action":"execute","constraint":` + rateOf + `}]`,
			`"permission":[{"target":["http://example.com/a","http://example.com/b"],"action":"execute"}]`, `
			better /permission/0>/permission/0 This is no longer a condition: the action takes place at most 30 times per minute.`,
		},
		"offer to agreement": {
			`"type":"Offer",` + permission(`,"assigner":"http://example.com/x"`),
			`"type":"Agreement",` + permission(`,"assigner":"http://example.com/x","assignee":"http://example.com/y"`), `
			better > This is an agreement: the parties it names are bound by these rules. Before: This is an offer: it proposes these rules and grants nothing yet.
			worse /permission/0> This permission has been removed.
			better >/permission/0 This permission is new. Granted by the party "http://example.com/x".`,
		},
		"different conflict strategy": {
			`"conflict":"perm",` + permission(``) + `,"prohibition":[{"target":"http://example.com/a","action":"use"}]`, `"conflict":"prohibit",` + permission(``) + `,"prohibition":[{"target":"http://example.com/a","action":"use"}]`, `
			worse > If one rule permits what another forbids, it is forbidden. Before: If one rule permits what another forbids, it is permitted.`,
		},
		"removed assigner": {permission(`,"assigner":"http://example.com/x"`), permission(``), `
			same /permission/0>/permission/0 Its other roles: none. Before: Granted by the party "http://example.com/x".`},
		"different assigner": {permission(`,"assigner":"http://example.com/x"`), permission(`,"assigner":"http://example.com/y"`), `
			same /permission/0>/permission/0 Its other roles: Granted by the party "http://example.com/y". Before: Granted by the party "http://example.com/x".`},
	} {
		c := words.Compare(lenient(t, policy(test.old)), lenient(t, policy(test.new)))
		verdict := words.Same
		for _, change := range c.Changes {
			if change.Effect != words.Same && (verdict == words.Same || verdict == change.Effect) {
				verdict = change.Effect
			} else if change.Effect != words.Same {
				verdict = words.Mixed
			}
			if (change.Old != "" || change.New != "") != (change.About != "") {
				t.Errorf("%s: the change has no subject: %+v", name, change)
			}
		}
		if diff := cmp.Diff(string(verdict)+strings.ReplaceAll(test.want, "\t", "")+"\n", changed(c)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A policy in another notation with the same meaning has no changes.
func TestCompareIgnoresSpelling(t *testing.T) {
	const base = `"permission":[{"target":["http://example.com/a","http://example.com/b"],"action":"http://www.w3.org/ns/odrl/2/reproduce","constraint":[
		{"leftOperand":"dateTime","operator":"lteq","rightOperand":"2030-01-01T12:00:00+02:00"},{"leftOperand":"rateLimit","operator":"lteq","rightOperand":100,"unit":"hour"},
		{"or":[{"leftOperand":"purpose","operator":"isAnyOf","rightOperand":["x","y"]},{"leftOperand":"spatial","operator":"eq","rightOperand":"de"}]}],
		"duty":[{"action":"pay","amount":5,"unit":"EUR"}]}]`
	for _, same := range []string{
		`"permission":{"odrl:action":{"@id":"odrl:copy"},"target":[{"@id":"http://example.com/b"},"http://example.com/a"],"uid":"http://example.com/new#1","duty":{"action":"compensate","amount":{"@value":"5.00","@type":"xsd:decimal"},"unit":"http://dbpedia.org/resource/Euro"},
		 "constraint":[{"or":[{"operator":"eq","leftOperand":"odrl:spatial","rightOperand":"DE"},{"leftOperand":"purpose","operator":"odrl:isAnyOf","rightOperand":["y","x"]}]},
		 {"leftOperand":"http://example.com/vocab/rateLimit","operator":"lte","rightOperand":"100","unit":"http://example.com/vocab/hour"},
		 {"leftOperand":"dateTime","operator":"lteq","rightOperand":{"@value":"2030-01-01T10:00:00Z","@type":"xsd:dateTime"}}]}`,
		`"action":"reproduce","target":"http://example.com/b",` +
			strings.NewReplacer(`,"http://example.com/b"`, ``, `"action":"http://www.w3.org/ns/odrl/2/reproduce",`, ``).Replace(base),
	} {
		old, new := lenient(t, policy(base)), lenient(t, policy(same)) //nolint:revive // the words for it
		for _, c := range []words.Comparison{words.Compare(old, new), words.Compare(new, old)} {
			if len(c.Changes) > 0 || c.Verdict != words.Same {
				t.Errorf("%s\n%s", same, changed(c))
			}
		}
	}
}

// If two example policies differ in meaning, the comparison has a change.
func TestCompareExamples(t *testing.T) {
	names, err := filepath.Glob("../../examples/policies/*.json")
	if err != nil || len(names) < 10 {
		t.Fatalf("got %v, %v; want a length of at least 10, nil", names, err)
	}
	for _, a := range names {
		for _, b := range names {
			c := words.Compare(lenient(t, string(read(t, a))), lenient(t, string(read(t, b))))
			if (len(c.Changes) == 0) != (a == b) {
				t.Errorf("%s > %s: %d changes", a, b, len(c.Changes))
			}
		}
	}
}

// A policy equals itself in any order of members, and a change in one direction is also a change in the other.
func FuzzCompare(f *testing.F) {
	names, err := filepath.Glob("../../examples/policies/*.json")
	if err != nil || len(names) == 0 {
		f.Fatal(names, err)
	}
	for _, name := range names {
		f.Add(read(f, name), read(f, names[0]))
	}
	f.Fuzz(func(t *testing.T, one, other []byte) {
		a, _ := odrl.Load(t.Context(), one, odrl.LoadOptions{Lenient: true})
		b, _ := odrl.Load(t.Context(), other, odrl.LoadOptions{Lenient: true})
		if a == nil {
			return
		}
		if c := words.Compare(a, a); len(c.Changes) > 0 {
			t.Fatal(changed(c))
		}
		if reordered, ok := rewritten(one); ok {
			if r, _ := odrl.Load(t.Context(), reordered, odrl.LoadOptions{Lenient: true}); r != nil {
				if c := words.Compare(a, r); len(c.Changes) > 0 {
					t.Fatalf("%s\n%s", reordered, changed(c))
				}
			}
		}
		if b == nil {
			return
		}
		if there, back := words.Compare(a, b), words.Compare(b, a); len(there.Changes) == 0 != (len(back.Changes) == 0) {
			t.Fatalf("%s\n%s", changed(there), changed(back))
		}
	})
}

// rewritten returns a document with sorted members.
func rewritten(doc []byte) ([]byte, bool) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var tree any
	if d.Decode(&tree) != nil {
		return nil, false
	}
	out, err := json.Marshal(tree)
	return out, err == nil
}
