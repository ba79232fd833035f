package odrl

import (
	"slices"
	"strings"
)

// owed words a duty: who must do what, by when, and under which condition. Who is who owes it where it
// names nobody.
func (r telling) owed(node *ruleNode, who string) string {
	if own := node.parties["assignee"]; len(own) > 0 {
		who = r.who(own)
	}
	var when, conditions []*constraintNode
	for _, c := range node.constraints {
		if timely(c) {
			when = append(when, c)
		} else if !isPrice(c) && !isKey(c) {
			conditions = append(conditions, c)
		}
	}
	list := make([]string, 0, len(node.actions))
	for _, a := range node.actions {
		list = append(list, r.dutyAct(node, a))
	}
	s := who + " must " + strings.Join(list, ", and ")
	if len(list) == 0 {
		s = who + " owes a duty that is not named"
	}
	s += r.deadline(when)
	if words := r.ifAll(conditions); words != "" {
		s += "," + words
	}
	if node.notice != "" {
		s += ": " + quote(node.notice)
	}
	return s
}

// deadline words when a duty is to be done.
func (r telling) deadline(when []*constraintNode) string {
	var parts []string
	var rest []*constraintNode
	for _, c := range when {
		words, ok := r.time(c)
		spell := ""
		if c.logic == "" && len(c.right) == 1 {
			spell, _ = spellDuration(c.right[0].text)
		}
		switch {
		case ok:
		case c.logic == "" && c.operand == "event":
			words = r.event(c)
		case spell != "" && (c.operator == "lteq" || c.operator == "lt"):
			words = "within " + spell
		case spell != "" && (c.operator == "gteq" || c.operator == "gt"):
			words = "no earlier than " + spell + " later"
		default:
			rest = append(rest, c)
			continue
		}
		parts = append(parts, " "+words)
	}
	return strings.Join(parts, " and") + r.soThat(rest)
}

// dutyAct words one action of a duty; a payment with its amount, and what is done to a party with it.
func (r telling) dutyAct(node *ruleNode, a actionNode) string {
	what := r.assets(node, "and")
	if len(node.targets) == 1 && strings.HasSuffix(node.targets[0].iri, uimNS+"payload") { // what is signed, no asset
		what = ""
	}
	if a.name == "signPayload" {
		return r.signing(node, a, what)
	}
	if a.name != "compensate" {
		to, known := toward[a.name]
		who := node.parties[to.function]
		switch {
		case !known || len(who) == 0:
			return verb(a.name, what) + r.soThat(a.refinements)
		case what == "":
			return fill(to.about, "", r.who(who)) + r.soThat(a.refinements)
		default:
			return fill(to.verb, what, r.who(who)) + r.soThat(a.refinements)
		}
	}
	var prices []string
	for _, c := range slices.Concat(a.refinements, node.constraints, node.amounts) {
		if isPrice(c) {
			prices = append(prices, r.price(c))
		}
	}
	s := "pay"
	if len(prices) > 0 {
		s += " " + strings.Join(prices, " and ")
	}
	if to := node.parties["compensatedParty"]; len(to) > 0 {
		s += " to " + r.who(to)
	}
	if what != "" {
		s += " for " + what
	}
	return s + r.soThat(slices.DeleteFunc(slices.Clone(a.refinements), isPrice))
}

func isPrice(c *constraintNode) bool { return c.logic == "" && c.operand == "payAmount" }

// isKey recognises the key that a duty to sign names. UIM core 6.2.
func isKey(c *constraintNode) bool {
	return c.logic == "" && c.operand == "publicKey" && slices.Contains([]string{"use", "eq", "isAnyOf"}, c.operator)
}

// signing words a duty to sign, and by which key.
func (r telling) signing(node *ruleNode, a actionNode, what string) string {
	s := "sign each call"
	if what != "" {
		s += " of " + what
	}
	var keys []string
	for _, c := range slices.Concat(a.refinements, node.constraints) {
		if isKey(c) {
			keys = append(keys, values(c)...)
		}
	}
	if len(keys) > 0 {
		s += " with the key " + r.listing(keys, "or")
	}
	return s + r.soThat(slices.DeleteFunc(slices.Clone(a.refinements), isKey))
}

// price words an amount to pay: 5.00 EUR, or at most 5.00 EUR.
func (s speech) price(c *constraintNode) string {
	list := values(c)
	switch amount := s.listing(list, "or"); c.operator {
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
		return "an amount that " + s.comparison(c.operator, list)
	}
}
