package words

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/internal/model"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// A Topic is the topic of a Sentence.
type Topic string

// The topics, in the order of Explain.
const (
	Nature    Topic = "nature"    // what kind of policy it is
	Permitted Topic = "permitted" // who may do what
	Forbidden Topic = "forbidden" // who may not do what
	Owed      Topic = "owed"      // who must do what
	Generally Topic = "generally" // how the rules work together, and what the gateway does not enforce
	Noted     Topic = "noted"     // problems of the document
)

// A Sentence describes a rule of a policy, or a property of the whole policy, in plain words.
type Sentence struct {
	Topic Topic  `json:"topic"`
	Rule  string `json:"rule,omitempty"` // uid or JSON pointer of the rule; empty if the sentence concerns no single rule
	Text  string `json:"text"`
	// Terms qualify Text, a sentence or two each: limits, conditions, price, duties. All of them apply.
	Terms []string `json:"terms,omitempty"`
}

// Explain describes the meaning of a policy in plain words. It returns one Sentence for each rule as written, with all its targets and
// parties. It describes a policy from Publish as the gateway enforces it, and a policy from Load as it is written. The sentences are in the
// order of the topics, then of the document. The wording is for people and may change between versions; programs should use Decide,
// Evaluate and Terms.
func Explain(p *odrl.Policy) []Sentence {
	form, compiled := p.Model()
	if compiled == nil {
		return sentencesOf(form)
	}
	w := newWording(compiled, p.Warnings())
	out := make([]Sentence, 0, len(w.groups)+4)
	for _, kind := range []model.RuleKind{model.Permission, model.Prohibition, model.Obligation} {
		for _, g := range w.groups {
			if g.Kind == kind {
				out = append(out, w.sentence(g))
			}
		}
	}
	return append(out, w.general()...)
}

// A group is a rule as written. Normalization split it into parts that differ only in target and assignee.
type group struct {
	*rules.Rule
	targets   []*rules.Target
	assignees []string
	counters  []string // ids of its limits
}

// An explainer describes one policy.
type explainer struct {
	program  *rules.Program
	warnings problem.List
	groups   []*group
	counting map[string][]*group // permissions by the ids of their limits
	asks     bool                // some obligation charges calls
}

func newWording(p *rules.Program, warnings problem.List) *explainer {
	w := &explainer{program: p, warnings: warnings, counting: map[string][]*group{}}
	byKey := map[string]*group{}
	for _, n := range slices.Sorted(maps.Keys(p.Rules)) {
		r := p.Rules[n]
		key := strings.Join(append([]string{r.Node.Pointer, r.Action, rates(r)}, r.Canonical...), "\n")
		g := byKey[key]
		if g == nil {
			g = &group{Rule: r}
			byKey[key] = g
			w.groups = append(w.groups, g)
		}
		g.add(r)
		w.asks = w.asks || r.Kind == model.Obligation && !r.Duties[0].Charge.IsZero()
	}
	for _, g := range w.groups {
		for _, id := range g.counters {
			if g.Kind == model.Permission {
				w.counting[id] = append(w.counting[id], g)
			}
		}
	}
	return w
}

// add adds one part of the rule. Parts are ordered by target, and within a target by assignee.
func (g *group) add(r *rules.Rule) {
	if n := len(g.targets); n == 0 || g.targets[n-1].Name != r.Target.Name {
		g.targets = append(g.targets, r.Target)
	}
	if !slices.Contains(g.assignees, r.Assignee) {
		g.assignees = append(g.assignees, r.Assignee)
	}
	for _, l := range r.Limits {
		if n := len(g.counters); n == 0 || g.counters[n-1] != l.ID {
			g.counters = append(g.counters, l.ID)
		}
	}
}

func rates(r *rules.Rule) string {
	list := make([]string, 0, len(r.Limits))
	for _, l := range r.Limits {
		list = append(list, l.String())
	}
	return strings.Join(list, " ")
}

func (w *explainer) sentence(g *group) Sentence {
	s := Sentence{Topic: Forbidden, Rule: g.Node.Name()}
	conditions := ofCalls.ifAll(g.Conditions)
	switch {
	case g.Kind == model.Permission:
		s.Topic = Permitted
		s.Text = capital(g.who("every agent")) + " may call " + g.what("every", "and") + "."
		s.Terms = slices.Concat(w.limits(g), g.only(), w.duties(g))
		return s
	case g.Kind == model.Obligation:
		s.Topic = Owed
		s.Text = wordDuty(g.Duties[0], g.calls()) + "."
		if conditions != "" { // first, or it would seem to belong only to the last part
			s.Text = conditions[1:] + ", " + s.Text
		}
		s.Text = capital(s.Text)
	case g.Exceeding():
		s.Text = capital(g.whoNot()) + " exceed the limits on calls to " + g.what("any", "or") + conditions + "."
		s.Terms = []string{"An agent that keeps trying may be blocked."}
	case g.Bounds():
		s.Text = capital(g.whoNot()) + " call " + g.what("any",
			"or") + " more than " + often(g.Limits[0].Max) + " " + inPeriod(g.Limits[0].Period) + conditions + "."
		s.Terms = g.counted()
	default:
		s.Text = capital(g.whoNot()) + " call " + g.what("any", "or") + conditions + "."
	}
	s.Terms = append(s.Terms, ofCalls.binding(g.Conditions, "the rule still applies")...)
	return s
}

// who describes the parties of a rule. If the rule names no parties, who returns its argument.
func (g *group) who(everyone string) string {
	if slices.Contains(g.assignees, "") {
		return everyone
	}
	parties := make([]string, 0, len(g.assignees))
	for _, iri := range g.assignees {
		parties = append(parties, model.Quote(iri))
	}
	if len(parties) == 1 {
		return "the party " + parties[0]
	}
	return "each of the parties " + ofCalls.listing(parties, "and")
}

func (g *group) whoNot() string {
	if slices.Contains(g.assignees, "") {
		return "no agent may"
	}
	return g.who("") + " may not"
}

// what describes the targets of a rule.
func (g *group) what(quantifier, conjunction string) string {
	names := make([]string, 0, len(g.targets))
	for _, t := range g.targets {
		names = append(names, targetWords(t, quantifier))
	}
	return ofCalls.listing(names, conjunction)
}

// calls describes the calls to which an obligation applies.
func (g *group) calls() string {
	s := "each call"
	if len(g.targets) > 1 || g.targets[0].Name != rules.EveryIntent {
		s += " to " + g.what("any", "or")
	}
	if !slices.Contains(g.assignees, "") {
		s += " by " + g.who("")
	}
	return s
}

// targetWords describes a target.
func targetWords(t *rules.Target, quantifier string) string {
	name, several := strings.CutSuffix(t.Name, ":*")
	title, titled := strings.CutPrefix(t.Name, "execute/")
	switch {
	case t.Name == rules.EveryIntent:
		return quantifier + " intent of this service"
	case titled:
		return quantifier + " intent named " + model.Quote(title)
	case several && strings.Contains(name, ":"):
		return quantifier + " version of " + name
	case several:
		return quantifier + " intent of " + name
	default:
		return t.Name
	}
}

// collection reports whether the target can contain several intents, which then share one counter.
func collection(t *rules.Target) bool {
	return strings.HasSuffix(t.Name, rules.EveryIntent) || strings.HasPrefix(t.Name, "execute/")
}

// capital capitalizes the first letter of a sentence, which must be ASCII.
func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// listing joins names. If the list has more than s.most names, listing replaces the others with their number.
func (s speech) listing(names []string, conjunction string) string {
	last := len(names) - 1
	switch {
	case len(names) > s.most:
		return strings.Join(names[:s.most], ", ") + fmt.Sprintf(" %s %d more", conjunction, len(names)-s.most)
	case last < 0:
		return "nothing"
	case last == 0:
		return names[0]
	default:
		return strings.Join(names[:last], ", ") + " " + conjunction + " " + names[last]
	}
}

// only describes the conditions of a permission.
func (g *group) only() []string {
	list := make([]string, 0, len(g.Conditions)+1)
	for _, c := range g.Conditions {
		list = append(list, "Only if "+ofCalls.clause(c)+".")
	}
	return append(list, ofCalls.doubt(g.Conditions, "the permission does not apply")...)
}
