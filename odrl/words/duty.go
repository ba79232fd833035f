package words

import (
	"slices"
	"strings"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// owed describes a duty: who must do what, by when, and on what condition. who owes the duty if it names no party.
func (r phraser) owed(node *model.Rule, who string) string {
	if own := node.Parties["assignee"]; len(own) > 0 {
		who = r.who(own)
	}
	var when, conditions []*model.Constraint
	for _, c := range node.Constraints {
		if timely(c) {
			when = append(when, c)
		} else if !isPrice(c) && !isKey(c) {
			conditions = append(conditions, c)
		}
	}
	list := make([]string, 0, len(node.Actions))
	for _, a := range node.Actions {
		list = append(list, r.dutyAct(node, a))
	}
	s := who + " must " + strings.Join(list, ", and ")
	if len(list) == 0 {
		s = who + " owes a duty without an action"
	}
	s += r.deadline(when)
	if words := r.ifAll(conditions); words != "" {
		s += "," + words
	}
	if node.Notice != "" {
		s += ": " + model.Quote(node.Notice)
	}
	return s
}

// deadline describes the deadline of a duty.
func (r phraser) deadline(when []*model.Constraint) string {
	var parts []string
	var rest []*model.Constraint
	for _, c := range when {
		words, ok := r.time(c)
		spell := ""
		if c.Logic == "" && len(c.Right) == 1 {
			spell, _ = spellDuration(c.Right[0].Text)
		}
		switch {
		case ok:
		case c.Logic == "" && c.Left().Kind == model.Event:
			words = r.event(c)
		case spell != "" && (c.Operator == "lteq" || c.Operator == "lt"):
			words = "within " + spell
		case spell != "" && (c.Operator == "gteq" || c.Operator == "gt"):
			words = "no earlier than " + spell + " later"
		default:
			rest = append(rest, c)
			continue
		}
		parts = append(parts, " "+words)
	}
	return strings.Join(parts, " and") + r.soThat(rest)
}

// dutyAct describes one action of a duty, with the amount of a payment and the party that the action concerns.
func (r phraser) dutyAct(node *model.Rule, a model.Action) string {
	what := r.assets(node, "and")
	if len(node.Targets) == 1 && r.Names.AboutTheCall(node.Targets[0].IRI) { // the signed or paid call is not an asset
		what = ""
	}
	if a.Name == "signPayload" {
		return r.signing(node, a, what)
	}
	if a.Name != "compensate" {
		to, known := toward[a.Name]
		who := node.Parties[to.function]
		switch {
		case !known || len(who) == 0:
			return r.verb(a.Name, what) + r.soThat(a.Refinements)
		case what == "":
			return fill(to.about, "", r.who(who)) + r.soThat(a.Refinements)
		default:
			return fill(to.verb, what, r.who(who)) + r.soThat(a.Refinements)
		}
	}
	var prices []string
	for _, c := range slices.Concat(a.Refinements, node.Constraints, node.Amounts) {
		if isPrice(c) {
			prices = append(prices, r.price(c))
		}
	}
	s := "pay"
	if len(prices) > 0 {
		s += " " + strings.Join(prices, " and ")
	}
	if to := node.Parties["compensatedParty"]; len(to) > 0 {
		s += " to " + r.who(to)
	}
	if len(prices) > 0 && r.perCall(node) {
		s += " for each call"
		if what != "" {
			s += ","
		}
	}
	if what != "" {
		s += " for " + what
	}
	return s + r.soThat(slices.DeleteFunc(slices.Clone(a.Refinements), isPrice))
}

// perCall reports whether the price of a duty to pay is due for each call (UIM core 6.2). ODRL itself does not specify this.
func (r phraser) perCall(node *model.Rule) bool {
	return (r.UIM || len(node.Amounts) > 0) && (node.Kind == model.DutyOfPermission || node.Kind == model.Obligation)
}

func isPrice(c *model.Constraint) bool { return c.Logic == "" && c.Operand == "payAmount" }

// isKey reports whether a constraint names a key for a duty to sign (UIM core 6.2).
func isKey(c *model.Constraint) bool {
	return c.Logic == "" && c.Operand == "publicKey" && slices.Contains([]string{"use", "eq", "isAnyOf"}, c.Operator)
}

// signing describes a duty to sign, with its keys.
func (r phraser) signing(node *model.Rule, a model.Action, what string) string {
	s := "sign each call"
	if what != "" {
		s += " of " + what
	}
	var keys []string
	for _, c := range slices.Concat(a.Refinements, node.Constraints) {
		if isKey(c) {
			keys = append(keys, values(c)...)
		}
	}
	if len(keys) > 0 {
		s += " with the key " + r.listing(keys, "or")
	}
	return s + r.soThat(slices.DeleteFunc(slices.Clone(a.Refinements), isKey))
}

// price describes an amount to pay: 5.00 EUR, or at most 5.00 EUR.
func (s speech) price(c *model.Constraint) string {
	list := values(c)
	switch amount := s.listing(list, "or"); c.Operator {
	case "eq", "isAnyOf":
		return amount
	case "lt":
		return "less than " + amount
	case "lteq":
		return "at most " + amount
	case "gt":
		return "more than " + amount
	case "gteq":
		return "at least " + amount
	default:
		return "an amount that " + s.comparison(c.Operator, list)
	}
}
