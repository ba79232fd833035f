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
		list = append(list, "Its calls are counted together with those of the rule "+model.Quote(other)+".")
	}
	return list
}

// counted describes which calls a limit counts together. Each target as written has its own count.
func (g *group) counted() []string {
	collections := slices.ContainsFunc(g.targets, collection)
	switch {
	case len(g.targets) == 1 && !collections:
		return nil
	case len(g.targets) == 1:
		return []string{"Calls to all these intents are counted together."}
	case collections:
		return []string{"Each name in this rule is counted separately; the intents that one name refers to are counted together."}
	default:
		return []string{"Calls to each of these intents are counted separately."}
	}
}

// sharing returns the name of another permission whose limits count the same calls, or "" if there is none.
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
		return "in total"
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
			rest = append(rest, ofCalls.binding(d.Conditions, "this is still owed")...)
			continue
		}
		switch {
		case d.Charge.IsZero():
		case d.Unconditional():
			price, _ = rules.Sum(price, d.Charge) // Publish has checked that the charges can be added
		default:
			rest = append(rest, "A call costs "+d.Charge.String()+ofCalls.ifAll(d.Conditions)+", in addition to any other price.")
			rest = append(rest, ofCalls.binding(d.Conditions, "this is still owed")...)
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

// wordDuty describes one duty without its conditions. subject describes the calls that it concerns.
func wordDuty(d *rules.Duty, subject string) string {
	s := subject
	switch d.Action {
	case "compensate":
		if d.Charge.IsZero() {
			return s + " costs nothing in addition to the price of its permission, if there is one"
		}
		return s + " costs " + d.Charge.String() + ", in addition to any price of its permission"
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

// signerOf describes the key that must sign.
func signerOf(d *rules.Duty) string {
	if d.Elided || len(d.Keys) == 0 {
		return "the key of the agent's agreement"
	}
	list := make([]string, 0, len(d.Keys))
	for _, k := range d.Keys {
		der, err := base64.StdEncoding.DecodeString(k)
		if err != nil {
			continue // Publish has encoded the keys
		}
		sum := sha256.Sum256(der)
		list = append(list, "SHA256:"+base64.RawStdEncoding.EncodeToString(sum[:]))
	}
	if len(list) == 1 {
		return "the key " + list[0]
	}
	return "one of the keys " + ofCalls.listing(list, "and")
}

// general describes how the rules work together, and adds remarks.
func (w *explainer) general() []Sentence {
	var texts []string
	if w.several() {
		texts = append(texts, "If several permissions cover a call, the cheapest whose limits are not used up applies.")
		if len(w.program.Currencies) > 1 {
			texts[0] = "If several permissions cover a call, a free one applies first, " +
				"then those with a price in the order in which they are written, as far as their limits are not used up."
		}
	}
	if w.forbids() {
		texts = append(texts, map[model.Strategy]string{
			model.VoidOnConflict:  "If one rule permits a call and another forbids it, the call is refused as a conflict of the policy.",
			model.PermissionWins:  "If one rule permits a call and another forbids it, the call is permitted.",
			model.ProhibitionWins: "If one rule permits a call and another forbids it, the call is forbidden.",
		}[w.program.Strategy])
	}
	texts = append(texts, "Calls that no permission covers are refused.")
	out := make([]Sentence, 0, len(texts))
	for _, t := range texts {
		out = append(out, Sentence{Topic: Generally, Text: t})
	}
	return append(out, remarks(w.warnings)...)
}

// remarks describes the warnings of Publish that affect the meaning of the document: rules that bind the parties but that the gateway does
// not enforce, and assignees that mean everyone.
func remarks(warnings problem.List) []Sentence {
	var out []Sentence
	for _, p := range warnings {
		s := Sentence{Topic: Generally, Rule: p.Pointer}
		switch p.Code {
		case "unseen":
			_, found, _ := strings.Cut(p.Message, ": ")
			s.Text = capital(found) + " by the gateway."
		case "assignee":
			s.Text = capital(p.Message) + "."
		case "too-many":
			s.Text = "There are more warnings about this policy than are listed here."
		default:
			continue
		}
		out = append(out, s)
	}
	return out
}

// forbids reports whether the policy permits calls and also prohibits calls, other than by limiting them.
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
