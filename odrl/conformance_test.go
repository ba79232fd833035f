package odrl_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
)

var update = flag.Bool("update", false, "write what the tests get as what they want")

// A row is a line of the conformance table: a document, the result of its validation, and questions with the expected answers.
type row struct {
	name, from, says string
	doc              string
	fault            string // "error|warning code pointer"; empty: the document is valid
	lenient          bool
	profiles         []string
	asks             []query
	try              func(t *testing.T) string // replaces the document; its result is part of the table
}

// A query is a question and its answer: permit or the reason of the denial, followed by parts of the report in the form name:State,
// p.target:State, owes:action, charge:amount or limit:limit.
type query struct {
	question, want string // "party action target", each a term, an IRI, or a name under http://example.com/
	facts, world   string // members of the context and of the state of the world
	now            string
	mode           odrl.DutyMode
	agreed         bool // ask the Offer as a Set, as after an agreement
}

func on(question, want string) query {
	return query{question: question, want: want, now: "2026-06-15T12:00:00Z"}
}
func (a query) with(facts string) query { a.facts = facts; return a }
func (a query) in(world string) query   { a.world = world; return a }
func (a query) at(now string) query     { a.now = now; return a }
func (a query) open() query             { a.mode = odrl.DutiesNotViolated; return a }
func (a query) taken() query            { a.agreed = true; return a }

// doc returns a policy of a class with the prefix ex: for http://example.com/.
func doc(class string, members ...string) string {
	return `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"ex":"http://example.com/"}],"@type":"` + class + `","uid":"http://example.com/policy/1",` + strings.Join(members, ",") + `}`
}

func TestConformance(t *testing.T) {
	var page strings.Builder
	page.WriteString(conformanceHead)
	ran, rows := 0, 0
	for _, a := range areas() {
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n| row | from | what holds | shown by |\n| --- | --- | --- | --- |\n", a.title, a.about)
		t.Run(a.name, func(t *testing.T) {
			for _, r := range a.rows {
				rows++
				t.Run(r.name, func(t *testing.T) {
					shown := r.check(t, rows%odrl.RewrittenRows == 0)
					t.Logf("%s. %s %s", r.from, r.says, shown)
					fmt.Fprintf(&page, "| %s | %s | %s | %s |\n", r.name, cell(r.from), cell(r.says), cell(shown))
					ran++
				})
			}
		})
	}
	if t.Failed() || rows != ran || rows == 0 {
		return // only some rows ran, or one failed
	}
	const file = "../docs/reference/odrl-conformance.md"
	if *update {
		if err := os.WriteFile(file, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if old, err := os.ReadFile(file); err != nil || string(old) != page.String() {
		t.Errorf("%s is not up to date: go test ./odrl -run TestConformance$ -update (%v)", file, err)
	}
}

func cell(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "|", `\|`), "\n", " ")
}

// check returns the text of the row in the table. With again, its canonical form must give the same answers.
func (r row) check(t *testing.T, again bool) string {
	t.Helper()
	if r.try != nil {
		return r.try(t)
	}
	_, problems := validations.once(fmt.Sprintln(r.lenient, r.profiles, r.doc), func() (*odrl.Policy, problem.List) {
		return nil, odrl.Validate(context.Background(), []byte(r.doc), odrl.ValidateOptions{Lenient: r.lenient, Profiles: r.profiles})
	})
	var shown []string
	if r.fault != "" {
		words := append(strings.Fields(r.fault), "")
		if !has(problems, problem.Level(words[0]), words[1], words[2]) {
			t.Errorf("%s\nwant %s, got %v", r.doc, r.fault, problems)
		}
		got := words[0] + " `" + words[1] + "`"
		if words[2] != "" {
			got += " at `" + words[2] + "`"
		}
		shown = append(shown, got)
	}
	if problems.Failed() != strings.HasPrefix(r.fault, "error") {
		t.Errorf("%s\nvalid %v, %v", r.doc, !problems.Failed(), problems)
	}
	if r.fault == "" {
		shown = append(shown, "valid")
	}
	var canonical string
	if !problems.Failed() {
		canonical = r.rewrite(t)
	}
	for i := range r.asks {
		shown = append(shown, r.ask(t, r.asks[i]))
		if again {
			r.askAgain(t, r.asks[i], canonical)
		}
	}
	return strings.Join(shown, "; ")
}

// rewrite returns the canonical form of the document, and checks that it does not change when it is written again.
func (r row) rewrite(t *testing.T) string {
	t.Helper()
	out, problems := odrl.Canonical([]byte(r.doc), odrl.LoadOptions{Lenient: r.lenient, Profiles: r.profiles})
	if out == nil {
		t.Errorf("%s\ncannot be written: %v", r.doc, problems)
		return r.doc
	}
	if again, problems := odrl.Canonical(out, odrl.LoadOptions{Lenient: r.lenient, Profiles: r.profiles}); !bytes.Equal(out, again) {
		t.Errorf("written %s\n  again %s\n%v", out, again, problems)
	}
	return string(out)
}

// load reads a document. If taken is set, it reads an Offer as a Set.
func (r row) load(t *testing.T, text string, taken bool) *odrl.Policy {
	t.Helper()
	if taken {
		text = strings.Replace(text, `"@type":"Offer"`, `"@type":"Set"`, 1)
	}
	p, problems := loads.once(fmt.Sprintln(r.lenient, r.profiles, text), func() (*odrl.Policy, problem.List) {
		return odrl.Load(context.Background(), []byte(text), odrl.LoadOptions{Lenient: r.lenient, Profiles: r.profiles})
	})
	if p == nil {
		t.Fatalf("%s\n%v", text, problems)
	}
	return p
}

// askAgain compares the answers of the document and of its canonical form.
func (r row) askAgain(t *testing.T, a query, canonical string) {
	t.Helper()
	e, c := a.of(t, r.load(t, r.doc, a.agreed), r.lenient), a.of(t, r.load(t, canonical, a.agreed), r.lenient)
	if c.Permit != e.Permit || c.Reason != e.Reason {
		t.Errorf("%s\nhas the canonical form %s\n%s: %s, then %s", r.doc, canonical, a.question, outcome(e), outcome(c))
	}
}

func (r row) ask(t *testing.T, a query) string {
	t.Helper()
	text := r.doc
	e := a.of(t, r.load(t, text, a.agreed), r.lenient)
	want := strings.Fields(a.want)
	if e.Permit != (want[0] == "permit") || !e.Permit && string(e.Reason) != want[0] {
		t.Errorf("%s\n%s %s: %s (%s), want %s", text, a.question, a.facts, outcome(e), e.Detail, a.want)
	}
	for _, w := range want[1:] {
		if !stated(e, w) {
			t.Errorf("%s\n%s %s: the report does not contain %s: %+v", text, a.question, a.facts, w, e)
		}
	}
	return a.shown()
}

// of evaluates the question under a policy.
func (a query) of(t *testing.T, p *odrl.Policy, lenient bool) odrl.Evaluation {
	t.Helper()
	words := strings.Fields(a.question)
	for i, w := range words {
		if i != 1 && !strings.Contains(w, ":") && w != "-" {
			words[i] = "http://example.com/" + w
		}
	}
	question := `{"action":"` + strings.Replace(words[1], "ex:", "http://example.com/", 1) + `"`
	for i, k := range []string{"party", "", "target"} {
		if k != "" && words[i] != "-" {
			question += `,"` + k + `":"` + words[i] + `"`
		}
	}
	q, err := odrl.ParseQuestion([]byte(question+`,"context":{`+strings.ReplaceAll(a.facts, `"ex:`, `"http://example.com/`)+`}}`), lenient)
	if err != nil {
		t.Fatal(err)
	}
	world := `{`
	if a.now != "" {
		world += `"currentTime":"` + a.now + `"`
		if a.world != "" {
			world += ","
		}
	}
	w, err := odrl.ParseWorldState([]byte(world + a.world + `}`))
	if err != nil {
		t.Fatal(err)
	}
	e, err := p.Evaluate(t.Context(), q, w, odrl.EvaluateOptions{DutyMode: a.mode})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// shown formats the question and its answer for the table.
func (a query) shown() string {
	s := a.question
	if a.agreed {
		s += " once taken"
	}
	if a.facts != "" {
		s += ", " + a.facts
	}
	if a.world != "" {
		s += ", " + a.world
	}
	if a.now != "" && !strings.HasPrefix(a.now, "2026-06-15T12") {
		s += ", at " + a.now
	}
	if a.mode == odrl.DutiesNotViolated {
		s += ", notViolated"
	}
	return "`" + strings.ReplaceAll(s, "http://example.com/", "ex:") + "` → " + a.want
}

// stated reports whether the evaluation contains the part of the report that word names.
func stated(e odrl.Evaluation, word string) bool {
	i := strings.LastIndex(word, ":")
	name, state := word[:i], odrl.State(word[i+1:])
	switch name {
	case "owes":
		for _, d := range e.Duties {
			if d.Action == string(state) {
				return true
			}
		}
		return false
	case "charge":
		for _, c := range e.Charges {
			if c.Amount+c.Currency == string(state) {
				return true
			}
		}
		return false
	case "limit":
		for _, l := range e.Limits {
			if l.String() == string(state) {
				return true
			}
		}
		return false
	case "by":
		return strings.TrimPrefix(e.Rule, "http://example.com/") == string(state)
	}
	for _, r := range e.Rules {
		rule := strings.TrimPrefix(r.Rule, "http://example.com/")
		switch {
		case name == rule && (r.Activation == state || r.Deontic == state),
			name == rule+".target" && stateOr(r.Premise.Target) == state,
			name == rule+".party" && stateOr(r.Premise.Party) == state,
			name == rule+".action" && stateOr(r.Premise.Action) == state:
			return true
		}
		for c, s := range r.Constraints {
			if strings.TrimPrefix(c, "http://example.com/") == name && s == state {
				return true
			}
		}
	}
	return false
}

// stateOr returns Absent if the rule does not have the part.
func stateOr(s odrl.State) odrl.State {
	if s == "" {
		return "Absent"
	}
	return s
}
