package words

import (
	"slices"

	"github.com/uimgate/uimgate/odrl/internal/model"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// eachAgent describes a limit that is counted separately for each agent.
const eachAgent = ", for each agent"

// apart describes whose calls a limit of a permission counts together. UIM counts each agent separately; ODRL does not specify this.
func (r phraser) apart(node *model.Rule, c *model.Constraint) string {
	if !r.byAgent(node, c) || alone(node.Parties["assignee"]) {
		return ""
	}
	return eachAgent
}

// counted describes which calls the limits of a permission count together. Each action and target has a separate count.
func (r phraser) counted(node *model.Rule) []string {
	limits := slices.Clone(node.Constraints)
	for _, a := range node.Actions {
		limits = append(limits, a.Refinements...)
	}
	if !slices.ContainsFunc(limits, func(c *model.Constraint) bool { return r.byAgent(node, c) }) {
		return nil
	}
	if len(node.Actions) < 2 && alone(node.Targets) {
		return nil
	}
	return []string{"Each action and each target is counted separately; everything that one name refers to is counted together."}
}

// byAgent reports whether the constraint is a limit of a permission that the gateway counts.
func (r phraser) byAgent(node *model.Rule, c *model.Constraint) bool {
	return node != nil && node.Kind == model.Permission && (r.UIM || c.Left().UIM) && r.limits(c)
}

// limits reports whether the constraint is a limit of a permission that can be counted.
func (r phraser) limits(c *model.Constraint) bool {
	return counts(c) && len(rules.Uncounted(r.Names, []*model.Constraint{c}, model.Permission)) == 0
}

// alone reports whether the list is a single reference that is not a group.
func alone(list []model.Reference) bool {
	return len(list) == 1 && !list[0].Collection && len(list[0].Refinements) == 0
}
