package words

import (
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl/internal/model"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// limits describes how often a permission may be used.
func (w *explainer) limits(g *group) []string {
	var list []string
	for _, l := range g.Limits {
		s := "At most " + problem.Counted(l.Max, "call") + " " + inPeriod(l.Period)
		if len(g.assignees) > 1 || g.assignees[0] == "" {
			s += eachAgent
		}
		list = append(list, s+".")
	}
	if list != nil {
		list = append(list, g.counted()...)
	}
	if other := w.sharing(g); other != "" {
		list = append(list, "The same calls are counted as under the rule "+model.Quote(other)+".")
	}
	return list
}

// counted describes which calls a limit counts together. A limit belongs to each written target.
func (g *group) counted() []string {
	collections := slices.ContainsFunc(g.targets, collection)
	switch {
	case len(g.targets) == 1 && !collections:
		return nil
	case len(g.targets) == 1:
		return []string{"Calls of all these intents are counted together."}
	case collections:
		return []string{"Each name in this rule is counted by itself; the intents that one name means are counted together."}
	default:
		return []string{"Calls of each of these intents are counted by themselves."}
	}
}

// sharing names another permission whose limits count the same calls; empty if there is none.
func (w *explainer) sharing(g *group) string {
	for _, id := range g.counters {
		for _, o := range w.counting[id] {
			if o != g {
				return o.Node.Name()
			}
		}
	}
	return ""
}

func often(n int64) string {
	if n == 1 {
		return "once"
	}
	return strconv.FormatInt(n, 10) + " times"
}

func inPeriod(p limit.Period) string {
	switch {
	case p == limit.Lifetime:
		return "in all, ever"
	case p.Calendar():
		return "in a calendar " + string(p) + " (UTC)"
	default:
		return "in any " + string(p)
	}
}

// duties describes the price and the duties of a permission.
func (w *explainer) duties(g *group) []string {
	var price money.Amount
	var rest []string
	for _, d := range g.Duties {
		if d.Action != "compensate" {
			rest = append(rest, capital(wordDuty(d, "each call"))+ofCalls.ifAll(d.Conditions)+".")
			rest = append(rest, ofCalls.binding(d.Conditions, "this is owed all the same")...)
			continue
		}
		switch {
		case d.Charge.IsZero():
		case d.Unconditional():
			price, _ = rules.Sum(price, d.Charge) // Publish has checked that they add up
		default:
			rest = append(rest, "A call costs "+d.Charge.String()+ofCalls.ifAll(d.Conditions)+", beside any other price.")
			rest = append(rest, ofCalls.binding(d.Conditions, "this is owed all the same")...)
		}
	}
	switch {
	case !price.IsZero():
		return append([]string{"Each call costs " + price.String() + "."}, rest...)
	case len(w.program.Currencies) > 0 && !w.asks && !slices.ContainsFunc(g.Duties, func(d *rules.Duty) bool { return !d.Charge.IsZero() }):
		return append([]string{"Free of charge."}, rest...)
	default:
		return rest
	}
}

// wordDuty describes one duty of the calls that subject names, without its conditions.
func wordDuty(d *rules.Duty, subject string) string {
	s := subject
	switch d.Action {
	case "compensate":
		if d.Charge.IsZero() {
			return s + " costs nothing beside any price of its permission"
		}
		return s + " costs " + d.Charge.String() + ", beside any price of its permission"
	case "signPayload":
		return s + " must be signed with " + signerOf(d)
	case "attribute":
		s = "everyone who shows the results of " + s + " must name their source"
	case "inform":
		s = "the service is informed of " + s
	case "logUsage":
		s += " is logged"
	case "acceptTracking":
		s = "the agent accepts that " + s + " is tracked"
	}
	if d.Node.Notice != "" {
		s += ": " + model.Quote(d.Node.Notice)
	}
	return s
}

// signerOf describes whose key signs.
func signerOf(d *rules.Duty) string {
	if d.Elided || len(d.Keys) == 0 {
		return "the key of the agent's agreement"
	}
	list := make([]string, 0, len(d.Keys))
	for _, k := range d.Keys {
		der, err := base64.StdEncoding.DecodeString(k)
		if err != nil {
			continue // keys are in our own encoding
		}
		sum := sha256.Sum256(der)
		list = append(list, "SHA256:"+base64.RawStdEncoding.EncodeToString(sum[:]))
	}
	if len(list) == 1 {
		return "the key " + list[0]
	}
	return "one of the keys " + ofCalls.listing(list, "and")
}

// general describes how the rules work together and what else was agreed.
func (w *explainer) general() []Sentence {
	var texts []string
	if w.several() {
		texts = append(texts, "Where several permissions cover a call, the cheapest whose limits are not used up applies.")
		if len(w.program.Currencies) > 1 {
			texts[0] = "Where several permissions cover a call, a free one applies first, " +
				"then those with a price in the order in which they are written, as far as their limits are not used up."
		}
	}
	if w.forbids() {
		texts = append(texts, map[model.Strategy]string{
			model.VoidOnConflict:  "Where one rule permits a call and another forbids it, the call is refused as a conflict of the policy.",
			model.PermissionWins:  "Where one rule permits a call and another forbids it, the call is permitted.",
			model.ProhibitionWins: "Where one rule permits a call and another forbids it, the call is forbidden.",
		}[w.program.Strategy])
	}
	texts = append(texts, "What no permission covers is refused.")
	out := make([]Sentence, 0, len(texts))
	for _, t := range texts {
		out = append(out, Sentence{Topic: Generally, Text: t})
	}
	return append(out, remarks(w.warnings)...)
}

// remarks are what Publish found that changes how the document reads: rules that bind the parties and
// that the gateway does not see to, and parties that are read as anyone.
func remarks(warnings problem.List) []Sentence {
	var out []Sentence
	for _, p := range warnings {
		s := Sentence{Topic: Generally, Rule: p.Pointer}
		switch p.Code {
		case "unseen":
			_, found, _ := strings.Cut(p.Message, ": ")
			s.Text = capital(found) + " by the gateway; the policy itself has more."
		case "assignee":
			s.Text = capital(p.Message) + "."
		case "too-many":
			s.Text = "There is more to note about this policy than is listed here."
		default:
			continue
		}
		out = append(out, s)
	}
	return out
}

// forbids reports whether the policy prohibits calls beyond limiting them, and permits any.
func (w *explainer) forbids() bool {
	permits, forbids := false, false
	for _, g := range w.groups {
		permits = permits || g.Kind == model.Permission
		forbids = forbids || g.Kind == model.Prohibition && !g.Bounds() && !g.Exceeding()
	}
	return permits && forbids
}

// several reports whether two permissions can cover one call.
func (w *explainer) several() bool {
	permissions := map[string]int{} // by target
	for _, g := range w.groups {
		for _, t := range g.targets {
			if g.Kind == model.Permission {
				permissions[t.Name]++
			}
		}
	}
	for _, targets := range w.program.Targets {
		n := 0
		for _, name := range targets {
			n += permissions[name]
		}
		if n > 1 {
			return true
		}
	}
	return false
}
