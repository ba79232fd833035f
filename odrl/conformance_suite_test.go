package odrl_test

import (
	"fmt"
	"strings"
	"time"
)

// suiteRows has the cases of the public ODRL test suite (SolidLab), with our own names. Policies that the model calls invalid are read
// leniently, and a permission only requires that its duties are not violated.
func suiteRows() []row {
	const (
		moment = "2024-02-12T11:20:10.999Z"
		past   = "2023-02-12T11:20:10.999Z"
		future = "2025-02-12T11:20:10.999Z"
		alice  = `"assignee":"ex:alice","action":"read","target":"ex:x"`
	)
	member := func(who, of string) string {
		return `{"member":"http://example.com/` + who + `","collection":"http://example.com/` + of + `"}`
	}
	var list []row
	add := func(n int, says, rules, question, want string, change func(query) query) {
		a := on(question, want).at(moment).open()
		if change != nil {
			a = change(a)
		}
		list = append(list, row{name: fmt.Sprintf("%03d", n), from: "TS", says: says, lenient: true, doc: doc("Set", rules), asks: []query{a}})
	}
	at := func(now string) func(query) query { return func(a query) query { return a.at(now) } }
	with := func(facts string) func(query) query { return func(a query) query { return a.with(facts) } }
	in := func(world string) func(query) query { return func(a query) query { return a.in(world) } }
	permission := func(members string) string { return `"permission":[{"uid":"ex:p",` + members + `}]` }
	prohibition := func(members string) string { return `"prohibition":[{"uid":"ex:p",` + members + `}]` }
	const (
		active   = ok + " p:Active"
		inactive = none + " p:Inactive"
		forbids  = violates + " p:Active"
	)

	open, closed := `"permission":[{"uid":"ex:p"}]`, `"prohibition":[{"uid":"ex:p"}]`
	add(1, "A permission without party, action and asset applies to every request.", open, "alice read x",
		active+" p.action:Absent p.party:Absent p.target:Absent", nil)
	add(2, "A permission without party, action and asset applies to every request.", open, "bob read x", active, nil)
	add(3, "A permission without party, action and asset applies to every request.", open, "bob write y", active, nil)
	add(4, "A prohibition without party, action and asset applies to every request.", closed, "alice read x", forbids, nil)
	add(5, "A prohibition without party, action and asset applies to every request.", closed, "bob read x", forbids, nil)
	add(6, "A prohibition without party, action and asset applies to every request.", closed, "bob write y", forbids, nil)
	add(7, "A permission to use includes read.", permission(`"action":"use"`), "alice read x", active+" p.action:Satisfied p.party:Absent", nil)
	add(8, "A permission to use includes read.", permission(`"action":"use"`), "bob read x", active, nil)
	add(9, "A permission to use includes write, which means modify.", permission(`"action":"use"`), "bob write y", active, nil)
	add(10, "A permission to use does not include sell.", permission(`"action":"use"`), "alice sell x", inactive+" p.action:Unsatisfied", nil)
	add(11, "A prohibition of use includes read.", prohibition(`"action":"use"`), "alice read x", forbids, nil)
	add(12, "A prohibition of use includes read.", prohibition(`"action":"use"`), "bob read x", forbids, nil)
	add(13, "A prohibition of use includes write.", prohibition(`"action":"use"`), "bob write y", forbids, nil)
	add(14, "A prohibition of use does not include sell, but nothing permits sell.", prohibition(`"action":"use"`), "alice sell x",
		inactive+" p.action:Unsatisfied", nil)
	toUse, bobs := permission(`"assignee":"ex:alice","action":"use"`), prohibition(`"assignee":"ex:bob","action":"use"`)
	add(15, "A permission for one party.", toUse, "alice read x", active, nil)
	add(16, "Another party has no permission.", toUse, "bob read x", inactive+" p.party:Unsatisfied p.action:Satisfied", nil)
	add(17, "The party, another action.", toUse, "alice sell x", inactive+" p.party:Satisfied p.action:Unsatisfied", nil)
	add(18, "A prohibition of another party.", bobs, "alice read x", inactive+" p.party:Unsatisfied", nil)
	add(19, "A prohibition of this party.", bobs, "bob read x", forbids, nil)
	add(20, "This party, another action.", bobs, "bob sell x", inactive+" p.action:Unsatisfied", nil)
	toRead := permission(`"assignee":"ex:alice","action":"read"`)
	add(21, "Reading, of any asset.", toRead, "alice read x", active+" p.target:Absent", nil)
	add(22, "Not selling.", toRead, "alice sell x", inactive, nil)
	add(23, "Reading another asset.", toRead, "alice read y", active, nil)
	add(24, "Not writing.", toRead, "alice write x", inactive, nil)
	add(25, "Not for another.", toRead, "bob read x", inactive, nil)
	add(26, "One party, one action, one asset.", permission(alice), "alice read x",
		active+" p.party:Satisfied p.action:Satisfied p.target:Satisfied", nil)
	add(27, "Another action.", permission(alice), "alice write x", inactive+" p.action:Unsatisfied", nil)
	add(28, "Another asset.", permission(alice), "alice read y", inactive+" p.target:Unsatisfied", nil)
	add(29, "Nothing matches.", permission(alice), "bob write y", inactive+" p.party:Unsatisfied p.action:Unsatisfied p.target:Unsatisfied", nil)

	n := 30
	for _, op := range []struct{ name, now, before, after string }{
		{"eq", "yes", "no", "no"},
		{"neq", "no", "yes", "yes"},
		{"lt", "no", "yes", "no"},
		{"lteq", "yes", "yes", "no"},
		{"gt", "no", "no", "yes"},
		{"gteq", "yes", "no", "yes"},
	} {
		rules := permission(alice + `,"constraint":{"uid":"ex:c","leftOperand":"dateTime","operator":"` + op.name + `","rightOperand":{"@value":"` + moment + `","@type":"xsd:dateTime"}}`)
		for i, want := range []string{op.now, op.before, op.after} {
			outcome := map[string]string{"yes": active + " c:Satisfied", "no": inactive + " c:Unsatisfied"}[want]
			add(n, "The operator "+op.name+" with a fixed time: "+[]string{"at this time", "before it", "after it"}[i]+".",
				rules, "alice read x", outcome,
				at([]string{moment, past, future}[i]))
			n++
		}
	}
	year := `"constraint":{"uid":"ex:c","and":[{"uid":"ex:from","leftOperand":"dateTime","operator":"gt","rightOperand":{"@value":"2024-01-01T00:00:00.000Z","@type":"xsd:dateTime"}},
		{"uid":"ex:to","leftOperand":"dateTime","operator":"lt","rightOperand":{"@value":"2024-12-31T23:59:59.000Z","@type":"xsd:dateTime"}}]}`
	add(48, "Within a year.", permission(alice+`,`+year), "alice read x", active+" c:Satisfied from:Satisfied to:Satisfied", nil)
	add(49, "Before the year.", permission(alice+`,`+year), "alice read x", inactive+" c:Unsatisfied from:Unsatisfied to:Satisfied", at(past))
	add(50, "After the year.", permission(alice+`,`+year), "alice read x", inactive+" c:Unsatisfied from:Satisfied to:Unsatisfied", at(future))

	team := `"assignee":{"@type":"PartyCollection","uid":"ex:team","source":"ex:people"},"action":"read"`
	shelf := `"target":{"@type":"AssetCollection","uid":"ex:shelf","source":"ex:books"}`
	people, books := member("alice", "people"), member("x", "books")
	add(51, "A member of the source of a party collection.", permission(team+`,"target":"ex:x"`), "alice read x", active,
		in(`"partOf":[`+people+`]`))
	add(52, "Not a member of the collection.", permission(team+`,"target":"ex:x"`), "bob read x", inactive+" p.party:Unsatisfied",
		in(`"partOf":[`+people+`]`))
	add(53, "A member of the source of an asset collection.", permission(`"assignee":"ex:alice","action":"read",`+shelf), "alice read x",
		active, in(`"partOf":[`+books+`]`))
	add(54, "Not a member of the collection.", permission(`"assignee":"ex:alice","action":"read",`+shelf), "alice read y",
		inactive+" p.target:Unsatisfied", in(`"partOf":[`+books+`]`))
	both := in(`"partOf":[` + people + `,` + books + `]`)
	add(55, "Members of both collections.", permission(team+`,`+shelf), "alice read x", active, both)
	add(56, "Only the party is a member.", permission(team+`,`+shelf), "alice read y", inactive+" p.party:Satisfied p.target:Unsatisfied", both)
	add(57, "Only the asset is a member.", permission(team+`,`+shelf), "bob read x", inactive+" p.party:Unsatisfied p.target:Satisfied", both)
	add(58, "Neither is a member.", permission(team+`,`+shelf), "bob write y",
		inactive+" p.party:Unsatisfied p.target:Unsatisfied p.action:Unsatisfied", both)

	duty := permission(alice + `,"duty":{"uid":"ex:d","action":"compensate"}`)
	report := func(rule, performance, state string) string {
		return `"dutyReports":[{"rule":"http://example.com/` + rule + `","performanceState":"` + performance +
			`","deonticState":"` + state + `"}]`
	}
	add(59, "An open duty leaves the permission active.", duty, "alice read x", active+" d:NonSet",
		in(report("d", "Unknown", "NonSet")))
	add(60, "A fulfilled duty leaves the permission active.",
		duty, "alice read x", active+" d:Fulfilled", in(report("d", "Performed", "Fulfilled")))
	add(61, "A violated duty makes the permission inactive.", duty, "alice read x",
		unpaid+" p:Inactive d:Violated p.party:Satisfied p.action:Satisfied p.target:Satisfied", in(report("d", "Unperformed", "Violated")))

	var windows []string
	for day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() == 2024; day = day.AddDate(0, 0, 1) {
		if day.Weekday() != time.Saturday && day.Weekday() != time.Sunday {
			d := day.Format(time.DateOnly)
			windows = append(windows,
				`{"and":[{"leftOperand":"dateTime","operator":"gt","rightOperand":"`+d+`T09:00:00.000Z"},{"leftOperand":"dateTime","operator":"lt","rightOperand":"`+d+`T17:00:00.000Z"}]}`)
		}
	}
	office := permission(alice + `,"constraint":{"uid":"ex:c","or":[` + strings.Join(windows, ",") + `]}`)
	add(62, "One of 262 windows, on a Monday morning.", office, "alice read x", active+" c:Satisfied", nil)
	add(63, "None of the windows, at night.", office, "alice read x", inactive+" c:Unsatisfied", at("2024-02-12T20:20:10.999Z"))
	add(64, "None of the windows, a year before.", office, "alice read x", inactive+" c:Unsatisfied", at(past))
	all := permission(team + `,"target":"ex:x",` + year + `,"duty":{"uid":"ex:d","action":"compensate"}`)
	world := in(report("another", "Performed", "Fulfilled") + `,"partOf":[` + people + `]`)
	add(65, "A member, in the year, with a duty without a report.", all, "alice read x",
		active+" c:Satisfied p.party:Satisfied d:NonSet", world)
	add(66, "Not a member, another action.", all, "bob sell x",
		inactive+" c:Satisfied p.party:Unsatisfied p.action:Unsatisfied p.target:Satisfied", world)
	add(67, "A member, before the year.", all, "alice read x", inactive+" c:Unsatisfied from:Unsatisfied to:Satisfied",
		func(a query) query { return world(a).at(past) })
	add(68, "Nothing matches.", all, "bob write y", inactive+" c:Unsatisfied p.party:Unsatisfied p.action:Unsatisfied p.target:Unsatisfied",
		func(a query) query { return world(a).at(past) })
	add(69, "A time on a day.",
		permission(alice+`,"constraint":{"uid":"ex:c","leftOperand":"dateTime","operator":"eq","rightOperand":{"@value":"2024-02-12","@type":"xsd:date"}}`), "alice read x", active+" c:Satisfied",
		func(a query) query { return a.with(`"dateTime":"2024-02-12T00:00:00Z"`).at("") })

	purpose := func(op, right string) string {
		return permission(alice + `,"constraint":{"uid":"ex:c","leftOperand":"purpose","operator":"` + op + `","rightOperand":` + right + `}`)
	}
	accounts, quality := `{"@id":"https://w3id.org/dpv#AccountManagement"}`, `{"@id":"https://w3id.org/dpv#DataQualityManagement"}`
	is := with(`"purpose":` + accounts)
	add(70, "The purpose is this one.", purpose("eq", accounts), "alice read x", active+" c:Satisfied", is)
	add(71, "The purpose is another.", purpose("eq", accounts), "alice read x", inactive+" c:Unsatisfied", with(`"purpose":`+quality))
	add(72, "The purpose is one of two.", purpose("isAnyOf", `[`+accounts+`,`+quality+`]`), "alice read x", active+" c:Satisfied", is)
	add(73, "The purpose is neither.", purpose("isAnyOf", `[`+accounts+`,`+quality+`]`), "alice read x", inactive+" c:Unsatisfied",
		with(`"purpose":"https://w3id.org/dpv#Marketing"`))
	add(74, "The purpose is an instance of this class.", purpose("isA", accounts), "alice read x", active+" c:Satisfied",
		func(a query) query {
			return a.with(`"purpose":"ex:ours"`).in(`"partOf":[{"member":"http://example.com/ours","collection":"https://w3id.org/dpv#AccountManagement"}]`)
		})
	add(75, "The purpose is not an instance of a known class.", purpose("isA", accounts), "alice read x", inactive+" c:Unsatisfied",
		with(`"purpose":"ex:ours"`))
	add(76, "Without a purpose, the suite treats isNoneOf as satisfied and the permission as active. *This engine differs on purpose*: a missing fact never makes a permission active.",
		purpose("isNoneOf", `[`+accounts+`,`+quality+`]`), "alice read x", inactive+" c:Unsatisfied", nil)
	add(77, "The purpose is one of those excluded.", purpose("isNoneOf", `[`+accounts+`,`+quality+`]`), "alice read x",
		inactive+" c:Unsatisfied", is)
	channel := permission(alice + `,"constraint":{"uid":"ex:c","leftOperand":"deliveryChannel","operator":"eq","rightOperand":{"@id":"https://app.example/id"}}`)
	add(78, "By this channel.", channel, "alice read x", active+" c:Satisfied", with(`"deliveryChannel":"https://app.example/id"`))
	add(79, "Without a stated channel.", channel, "alice read x", inactive+" c:Unsatisfied", nil)
	two := permission(`"assignee":"ex:alice","action":["modify","read"],"target":"ex:x"`)
	add(80, "One of two actions.", two, "alice read x", active, nil)
	add(81, "Neither action.", two, "alice sell x", inactive+" p.party:Satisfied p.target:Satisfied p.action:Unsatisfied", nil)
	compact := `"action":"read",` + permission(`"target":"ex:x","assignee":"ex:alice"`)
	add(82, "The action is a property of the policy.", compact, "alice read x", active+" p.action:Satisfied", nil)
	add(83, "Another action.", compact, "alice sell x", inactive+" p.action:Unsatisfied", nil)
	return list
}
