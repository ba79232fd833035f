package odrl

import "slices"

// who words parties that a rule is about, each by itself.
func (r telling) who(list []reference) string {
	names := make([]string, 0, len(list))
	plainly := len(list) > 1
	for i := range list {
		names = append(names, r.party(&list[i]))
		plainly = plainly && !list[i].collection && len(list[i].refinements) == 0 && list[i].name() != ""
	}
	switch {
	case plainly:
		for i := range list {
			names[i] = quote(list[i].name())
		}
		return "each of the parties " + r.listing(names, "and")
	case len(names) == 1:
		return names[0]
	default:
		return "each of these: " + r.listing(names, "and")
	}
}

func (r telling) party(p *reference) string {
	switch {
	case p.name() == "" && len(p.refinements) > 0:
		return "each party for which " + r.all(p.refinements)
	case p.name() == "":
		return "a party that is not named"
	case len(p.refinements) > 0:
		return "each member of " + quote(p.name()) + " for which " + r.all(p.refinements)
	case p.collection:
		return "each member of " + quote(p.name())
	default:
		return "the party " + quote(p.name())
	}
}

// assets words what a rule is about.
func (r telling) assets(node *ruleNode, conjunction string) string {
	list := node.targets
	names := make([]string, 0, len(list))
	for i := range list {
		names = append(names, r.oneAsset(&list[i]))
	}
	switch {
	case len(names) > 0:
		return r.listing(names, conjunction)
	case node.kind.duty():
		return ""
	default:
		return "any asset"
	}
}

func (r telling) oneAsset(a *reference) string {
	switch {
	case a.name() == "" && len(a.refinements) > 0:
		return "each asset for which " + r.all(a.refinements)
	case a.name() == "":
		return "an asset that is not named"
	case len(a.refinements) > 0:
		return "each member of " + quote(a.name()) + " for which " + r.all(a.refinements)
	case a.collection:
		return "each member of " + quote(a.name())
	default:
		return quote(a.name())
	}
}

// all words conditions that hold together.
func (s speech) all(list []*constraintNode) string {
	if len(list) == 1 {
		return s.clause(list[0])
	}
	return s.logic(&constraintNode{logic: "and", operands: list}, "")
}

// roleWords word the party functions of ODRL V 2.2 beyond the assignee.
var roleWords = []struct{ function, words string }{
	{"attributedParty", "is named as the source"},
	{"attributingParty", "names the source"},
	{"compensatedParty", "is paid"},
	{"compensatingParty", "pays"},
	{"consentedParty", "obtains the consent"},
	{"consentingParty", "gives the consent"},
	{"contractedParty", "is contracted"},
	{"contractingParty", "offers the contract"},
	{"informedParty", "is informed"},
	{"informingParty", "informs"},
	{"trackedParty", "is tracked"},
	{"trackingParty", "tracks"},
}

// roles words the parties of a rule beyond its assignees, and what comes of the act.
func (r telling) roles(node *ruleNode) []string {
	var list []string
	if by := node.parties["assigner"]; len(by) > 0 {
		verb := map[ruleKind]string{permission: "granted", prohibition: "forbidden", obligation: "imposed"}[node.kind]
		if node.kind == permission && slices.Contains(r.types, "Offer") {
			verb = "offered"
		}
		list = append(list, capital(verb+" by "+r.who(by)+"."))
	}
	for _, role := range roleWords {
		if node.kind == obligation && spoken(node, role.function) {
			continue
		}
		if who := node.parties[role.function]; len(who) > 0 {
			list = append(list, capital(r.who(who)+" "+role.words+"."))
		}
	}
	if out := node.relations["output"]; len(out) > 0 {
		names := make([]string, 0, len(out))
		for i := range out {
			names = append(names, r.oneAsset(&out[i]))
		}
		list = append(list, "What comes of it is "+r.listing(names, "and")+".")
	}
	return list
}

// spoken reports whether the words of an obligation name the party of a function already.
func spoken(node *ruleNode, function string) bool {
	return slices.ContainsFunc(node.actions, func(a actionNode) bool {
		return a.name == "compensate" && function == "compensatedParty" || toward[a.name].function == function
	})
}
