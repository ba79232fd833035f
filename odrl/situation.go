package odrl

import (
	"slices"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/odrl/internal/model"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// A situation is a question in a state of the world, converted to the input of report.rego.
type situation struct {
	names map[string][]string // the names of the question's action, target and party, by part
	facts map[string]any      // the facts of the question, by slot
	given []string            // slots with facts, including facts that cannot be converted
	input map[string]any
}

// counted reports whether the question itself gives the count that a limit compares.
func (s *situation) counted(e *rules.Evaluable, c *model.Constraint) bool {
	l := e.LeafOf(c)
	return l != nil && slices.Contains(s.given, l.Key)
}

// situate builds the situation of a question: it adds the broader actions, the collections and the targets that contain the names in the
// question, and converts the facts. It omits a fact that cannot be converted, which makes the fact unknown.
func (p *Policy) situate(q Question, w WorldState, o EvaluateOptions) *situation {
	e := p.evaluation.rules()
	x := &situationBuilder{e: e, partOf: map[string][]string{}}
	if p.program != nil {
		x.intents, x.agents = p.program.Targets, p.program.Agents
	}
	for member, wholes := range e.Form.Facts.PartOf {
		for _, whole := range wholes {
			model.Relate(x.partOf, member, whole)
		}
	}
	for member, types := range e.Form.Facts.Instances {
		for _, t := range types {
			model.Relate(x.partOf, member, t)
		}
	}
	for _, m := range w.PartOf {
		model.Relate(x.partOf, e.Expand(m.Member), e.Expand(m.Collection))
	}
	s := &situation{names: x.close(q.Party, q.Action, q.Target)}
	context := x.context(q.Context)
	now := w.Now
	switch values, ok := rules.FactList(context["dateTime"]); {
	case !e.Literal:
		delete(context, "dateTime")
		context["version"] = model.VersionOf(x.intent(q.Target))
	case ok && now.IsZero() && len(values) == 1:
		if at, err := readTime(model.Unwrap(values[0])); err == nil {
			now = at
		}
	}
	s.facts, s.given = x.facts(context, now)
	mode := o.DutyMode
	if mode != DutiesNotViolated {
		mode = DutiesFulfilled
	}
	s.input = map[string]any{
		"is": x.is(s.names), "implied": model.Anys(x.implied(q.Action)), "facts": s.facts, "given": model.Anys(s.given), "mode": string(mode),
		"within": x.within(s.facts),
	}
	if q.Party != "" {
		s.input["party"] = x.party(q.Party)
	}
	if !now.IsZero() {
		s.input["now"] = model.Integer(model.Nanos(now))
	}
	acts := x.acts(w.Done, context)
	if key, signed := x.proof(context, q, w); signed {
		s.input["proof"], s.input["agent"] = key, key
		acts = append(acts, map[string]any{
			"is": x.is(x.close(q.Party, "signPayload", "")), "facts": s.facts, "given": model.Anys(s.given),
			"at": s.input["now"],
		})
	}
	s.input["performed"] = acts
	s.input["reports"] = x.reports(w.Reports)
	return s
}

type situationBuilder struct {
	e       *rules.Evaluable
	intents map[string][]string          // UID → targets; nil for a policy from Load
	agents  map[string][]rules.AgentName // by agent id
	partOf  map[string][]string
}

// close returns, for each part of a question, its name and the names of everything that contains it.
func (x *situationBuilder) close(party, action, target string) map[string][]string {
	return map[string][]string{"party": x.parties(party), "action": x.actions(action), "target": x.targets(target)}
}

func (x *situationBuilder) is(names map[string][]string) map[string]any {
	m := map[string]any{}
	for part, list := range names {
		m[part] = model.Anys(list)
	}
	return m
}

func (x *situationBuilder) party(s string) string { return x.e.Expand(s) }

func (x *situationBuilder) parties(s string) []string {
	if s == "" {
		return nil
	}
	list := model.Reach(x.partOf, x.party(s))
	for _, agent := range x.agents[s] {
		if agent.KeyID == "" {
			list = append(list, agent.IRI)
		}
	}
	return list
}

// actionName returns the canonical name of an action. For a deprecated name it returns the name that replaces it.
func (x *situationBuilder) actionName(s string) string {
	name, ok := x.e.Local(s, x.e.Namespaces)
	if !ok {
		return x.e.Expand(s)
	}
	if alias, deprecated := model.ActionAliases[name]; deprecated {
		return alias
	}
	return name
}

func (x *situationBuilder) actions(s string) []string {
	if s == "" {
		return nil
	}
	return x.e.Form.Facts.Broader(x.actionName(s))
}

// implied returns the actions that a permission for s implies, and the actions that include them.
func (x *situationBuilder) implied(s string) []string {
	var list []string
	for _, a := range x.e.Form.Facts.Implied(x.actionName(s)) {
		list = append(list, x.e.Form.Facts.Broader(a)...)
	}
	return list
}

func (x *situationBuilder) targets(s string) []string {
	if s == "" {
		return nil
	}
	name := x.e.Expand(s)
	list := model.Reach(x.partOf, name)
	if x.e.Literal {
		return list
	}
	for _, whole := range x.intents[x.intent(s)] {
		if !slices.Contains(list, whole) {
			list = append(list, whole)
		}
	}
	return list
}

// intent returns the UID of the intent that a target names, or the target itself if it does not name exactly one intent.
func (x *situationBuilder) intent(s string) string {
	if _, ok := x.intents[s]; ok {
		return s
	}
	if t, ok := x.e.IntentOf(s); ok {
		return t
	}
	return s
}

// context returns the facts under the canonical names of their operands, without null values.
func (x *situationBuilder) context(c map[string]any) map[string]any {
	m := make(map[string]any, len(c))
	for _, k := range model.SortedKeys(c) {
		name, ok := x.e.Local(k, x.e.Namespaces)
		if !ok {
			name = x.e.Expand(k)
		}
		if alias, deprecated := model.OperandAliases[name]; deprecated {
			name = alias
		}
		if c[k] != nil {
			m[name] = c[k]
		}
	}
	return m
}

// facts converts the values of a context for the policy's slots, and lists the slots for which a value was given.
func (x *situationBuilder) facts(context map[string]any, now time.Time) (facts map[string]any, slots []string) {
	m := map[string]any{}
	for _, key := range model.SortedKeys(x.e.Slots) {
		l := x.e.Slots[key]
		v, given := context[l.Slot.Operand]
		if l.Slot.Operand == "dateTime" && !now.IsZero() {
			v, given = any(now), true
		}
		if !given && l.Source.Status != "" && l.Source.Left().Kind != model.Count {
			v, given = any(l.Source.Status), true
		}
		if !given {
			continue
		}
		slots = append(slots, key)
		if list := l.FactOf(v); list != nil {
			m[key] = list
		}
	}
	return m, slots
}

// within returns the places that contain the values in the facts and in the policy.
func (x *situationBuilder) within(facts map[string]any) map[string]any {
	m := map[string]any{}
	for _, list := range facts {
		values, _ := list.([]any)
		for _, v := range values {
			x.place(m, v)
		}
	}
	for _, l := range x.e.Leaves { // for hasPart, the policy contains the parts
		values, _ := l.Value.([]any)
		for _, v := range values {
			x.place(m, v)
		}
	}
	return m
}

// place records the places that contain a value according to the world, the document and the vocabularies. It records nothing if the value
// is part of nothing.
func (x *situationBuilder) place(m map[string]any, v any) {
	s, ok := v.(string)
	if !ok || m[s] != nil {
		return
	}
	all := model.Reach(x.partOf, s)
	for i := 0; i < len(all); i++ {
		for _, whole := range slices.Concat(x.partOf[all[i]], x.e.Form.Facts.Placed(all[i])) {
			if !slices.Contains(all, whole) {
				all = append(all, whole)
			}
		}
	}
	if len(all) > 1 {
		m[s] = model.Anys(all)
	}
}

func (x *situationBuilder) acts(done []Act, question map[string]any) []any {
	list := make([]any, 0, len(done))
	for _, d := range done {
		facts, given := x.facts(x.context(d.Context), d.At)
		act := map[string]any{"is": x.is(x.close(d.Party, d.Action, d.Target)), "facts": facts, "given": model.Anys(given)}
		if d.Context == nil {
			act["presumed"], _ = x.facts(question, d.At)
		}
		if !d.At.IsZero() {
			act["at"] = model.Integer(model.Nanos(d.At))
		}
		list = append(list, act)
	}
	return list
}

// proof returns the key that signed the call: the key in the fact publicKey or, if w reports that the party has signed, a placeholder for
// the party's key (UIM core 4.3). It returns false if nothing signed the call.
func (x *situationBuilder) proof(context map[string]any, q Question, w WorldState) (string, bool) {
	if values, ok := rules.FactList(context["publicKey"]); ok && len(values) == 1 {
		if s, isText := model.Unwrap(values[0]).(string); isText {
			if der, good := rules.ParseKey(s); good {
				return rules.KeyText(der), true
			}
		}
	}
	for _, d := range w.Done {
		if x.actionName(d.Action) == "signPayload" && d.Party == q.Party && !d.At.After(w.Now) {
			return "agreed", true
		}
	}
	return "", false
}

// reports returns the reported state of each duty, by the number of its entry. If a duty was reported more than once, the worst state
// counts.
func (x *situationBuilder) reports(lines []DutyReport) map[string]any {
	state := map[string]State{}
	order := map[State]int{"": -1, Fulfilled: 0, NonSet: 1, Violated: 2}
	for _, r := range lines {
		s := State(r.Deontic)
		if s == "" {
			s = NonSet
			if r.Performance == "Performed" {
				s = Fulfilled
			}
		}
		name := r.Rule
		if _, ok := x.e.ByName[name]; !ok {
			name = x.e.Expand(name)
		}
		if old, ok := state[name]; !ok || order[s] > order[old] {
			state[name] = s
		}
	}
	m := map[string]any{}
	for name, is := range state {
		if entry, ok := x.e.ByName[name]; ok {
			m[strconv.Itoa(entry.N)] = string(is)
		}
	}
	return m
}
