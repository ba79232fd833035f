package words

import (
	"slices"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// who describes the parties of a rule as individuals, not as a group.
func (r phraser) who(list []model.Reference) string {
	names := make([]string, 0, len(list))
	plainly := len(list) > 1
	for i := range list {
		names = append(names, r.party(&list[i]))
		plainly = plainly && !list[i].Collection && len(list[i].Refinements) == 0 && list[i].Name() != ""
	}
	switch {
	case plainly:
		for i := range list {
			names[i] = model.Quote(list[i].Name())
		}
		return "each of the parties " + r.listing(names, "and")
	case len(names) == 1:
		return names[0]
	default:
		return "each of these: " + r.listing(names, "and")
	}
}

func (r phraser) party(p *model.Reference) string {
	switch {
	case p.Name() == "" && len(p.Refinements) > 0:
		return "each party for which " + r.all(p.Refinements)
	case p.Name() == "":
		return "an unnamed party"
	case len(p.Refinements) > 0:
		return "each member of " + model.Quote(p.Name()) + " for which " + r.all(p.Refinements)
	case p.Collection:
		return "each member of " + model.Quote(p.Name())
	default:
		return "the party " + model.Quote(p.Name())
	}
}

// assets describes the assets of a rule.
func (r phraser) assets(node *model.Rule, conjunction string) string {
	list := node.Targets
	names := make([]string, 0, len(list))
	for i := range list {
		names = append(names, r.oneAsset(&list[i]))
	}
	switch {
	case len(names) > 0:
		return r.listing(names, conjunction)
	case node.Kind.Duty():
		return ""
	default:
		return "any asset"
	}
}

func (r phraser) oneAsset(a *model.Reference) string {
	switch {
	case a.Name() == "" && len(a.Refinements) > 0:
		return "each asset for which " + r.all(a.Refinements)
	case a.Name() == "":
		return "an unnamed asset"
	case len(a.Refinements) > 0:
		return "each member of " + model.Quote(a.Name()) + " for which " + r.all(a.Refinements)
	case a.Collection:
		return "each member of " + model.Quote(a.Name())
	default:
		return model.Quote(a.Name())
	}
}

// all describes conditions that must all be met.
func (s speech) all(list []*model.Constraint) string {
	if len(list) == 1 {
		return s.clause(list[0])
	}
	return s.logic(&model.Constraint{Logic: "and", Operands: list}, "")
}

// roleWords describe the party functions of ODRL V 2.2 other than the assignee.
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

// roles describes the parties of a rule other than its assignees, and the output of the action.
func (r phraser) roles(node *model.Rule) []string {
	var list []string
	if by := node.Parties["assigner"]; len(by) > 0 {
		verb := map[model.RuleKind]string{model.Permission: "granted", model.Prohibition: "forbidden", model.Obligation: "imposed"}[node.Kind]
		if node.Kind == model.Permission && slices.Contains(r.Types, "Offer") {
			verb = "offered"
		}
		list = append(list, capital(verb+" by "+r.who(by)+"."))
	}
	for _, role := range roleWords {
		if node.Kind == model.Obligation && namesParty(node, role.function) {
			continue
		}
		if who := node.Parties[role.function]; len(who) > 0 {
			list = append(list, capital(r.who(who)+" "+role.words+"."))
		}
	}
	if out := node.Relations["output"]; len(out) > 0 {
		names := make([]string, 0, len(out))
		for i := range out {
			names = append(names, r.oneAsset(&out[i]))
		}
		list = append(list, "Its output is "+r.listing(names, "and")+".")
	}
	return list
}

// namesParty reports whether the text of an obligation already names the party with the given function.
func namesParty(node *model.Rule, function string) bool {
	return slices.ContainsFunc(node.Actions, func(a model.Action) bool {
		return a.Name == "compensate" && function == "compensatedParty" || toward[a.Name].function == function
	})
}
