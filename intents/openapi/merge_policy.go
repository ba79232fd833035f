package openapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents/openapi/terms"
)

// writePolicies writes the policies of the service, or adds the permissions that they lack; see Options.Policies, Merge and KeepPolicy.
// data is the text of the generated policy, and agents is the text of the new agents.json.
func (u *update) writePolicies(generated *odrlPolicy, prices charges, data, agents []byte, replaced lineage) {
	name := u.inForce()
	have := u.existing[name]
	edited := have != nil && digest(have) != u.last.Files[PolicyFile] && digest(have) != digest(data)
	var later []string
	if len(u.options.Policies) > 1 {
		later = u.options.Policies[1:]
	}
	m := &merger{update: u, generated: generated, prices: prices, replaced: replaced}
	if u.options.Merge != nil && (edited || len(later) > 0) {
		m.live = u.options.Merge(agents)
	}
	switch {
	case u.options.KeepPolicy:
		u.fresh.Files[PolicyFile] = u.last.Files[PolicyFile]
	case edited && u.options.Merge != nil && m.write(name, true):
		u.fresh.Files[PolicyFile] = digest(data)
	default:
		u.replace(PolicyFile, name, data)
	}
	u.fresh.Terms = u.last.Terms
	if u.fresh.Terms == nil || u.result.Write[name] != nil {
		u.fresh.Terms = u.curatedTerms()
	}
	if u.options.Merge == nil || u.options.KeepPolicy {
		return
	}
	for _, name := range later {
		if u.existing[name] != nil {
			m.write(name, false)
		}
	}
}

// A merger merges the generated policy into policies that people have edited.
type merger struct {
	*update
	generated *odrlPolicy
	prices    charges
	replaced  lineage
	live      map[string]map[string]Terms // by policy and UID
}

// write adds permissions to a policy. If inForce is true, it also gives the policy the prices and limits of the curation. It returns false,
// with a message, if it cannot write the policy.
func (m *merger) write(name string, inForce bool) bool {
	note := func(format string, args ...any) {
		m.result.Messages = append(m.result.Messages, name+": "+fmt.Sprintf(format, args...))
	}
	if m.live == nil {
		note("not merged, because the configuration has errors")
		return false
	}
	policy, err := terms.Read(m.existing[name])
	if err != nil {
		note("not merged: %v", err)
		return false
	}
	if inForce { // before versions are added, because they copy these terms
		for _, text := range m.set(policy, m.live[name]) {
			note("%s", text)
		}
	}
	if err := m.permit(name, policy); err != nil {
		note("not merged: %v", err)
		return false
	}
	merged, err := policy.Bytes()
	if err != nil {
		note("not merged: %v", err)
		return false
	}
	m.result.Write[name] = merged
	return true
}

// set changes prices and limits to those of the curation. It returns lines for people.
func (m *merger) set(policy *terms.Policy, live map[string]Terms) (out []string) {
	for _, rule := range m.generated.Permission {
		var differ []string
		for _, uid := range rule.Target {
			if now := live[uid]; now.Permitted && now.Certain && len(now.Changes(m.curated(uid, now))) > 0 {
				differ = append(differ, uid)
			}
		}
		if len(differ) == 0 {
			continue
		}
		kept := policy.Set(differ, m.prices.of[differ[0]], m.prices.limits[differ[0]]) // a generated rule has one price and one limit
		out = append(out, Lines(differ, func(uid string) string {
			if slices.Contains(kept, uid) {
				return "keeps its terms: " + terms.ErrForm.Error()
			}
			return strings.Join(live[uid].Changes(m.curated(uid, live[uid])), ", ") + ", as in " + CurationFile
		})...)
	}
	return out
}

// curated returns the terms of an intent under the curation. An intent without a limit in the curation keeps its present limit.
func (m *merger) curated(uid string, now Terms) Terms {
	now.Price = m.prices.of[uid]
	if rate, own := m.prices.limits[uid]; own {
		now.Limit = rate
	}
	return now
}

// permit adds a permission for each intent that the policy does not cover. The next version of an intent gets the terms of the version
// before it. permit omits an intent if another policy covers the intent or its previous version: such an intent begins or ends with
// that policy.
func (m *merger) permit(name string, policy *terms.Policy) error {
	earlier := map[string][]string{} // the versions that an intent replaces
	for uid, next := range m.replaced {
		earlier[next] = append(earlier[next], uid)
	}
	for _, versions := range earlier {
		slices.SortFunc(versions, func(a, b string) int { return compareVersions(b, a) }) // the latest first
	}
	for _, rule := range m.generated.Permission {
		var fresh []string
		for _, uid := range rule.Target {
			now, known := m.live[name][uid]
			if !known || now.Permitted || now.Covered {
				continue
			}
			if at := slices.IndexFunc(earlier[uid], policy.Names); at >= 0 {
				before := earlier[uid][at]
				policy.Extend(uid, before)
				m.extended(name, uid, before)
				continue
			}
			if !m.elsewhere(name, append([]string{uid}, earlier[uid]...)) {
				fresh = append(fresh, uid)
			}
		}
		if len(fresh) == 0 {
			continue
		}
		tree, err := ruleTree(rule)
		if err != nil {
			return err
		}
		policy.Permit(tree, fresh)
	}
	return nil
}

// elsewhere reports whether a policy other than this one covers one of the intents.
func (m *merger) elsewhere(name string, uids []string) bool {
	for other, live := range m.live {
		if other != name && slices.ContainsFunc(uids, func(uid string) bool { return live[uid].Covered }) {
			return true
		}
	}
	return false
}

func (m *merger) extended(name, uid, before string) {
	if m.result.Like == nil {
		m.result.Like = map[string]map[string]string{}
	}
	if m.result.Like[name] == nil {
		m.result.Like[name] = map[string]string{}
	}
	m.result.Like[name][uid] = before
}

// ruleTree returns a rule as a tree.
func ruleTree(rule odrlPermission) (tree map[string]any, err error) {
	data, err := json.Marshal(rule)
	if err != nil {
		return nil, err
	}
	return tree, json.Unmarshal(data, &tree)
}
