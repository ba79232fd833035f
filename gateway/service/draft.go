package service

import (
	"context"
	"slices"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/words"
)

// Draft makes a Policy from a document that the gateway does not serve, for the present catalogue, parties and profiles. The list contains
// the errors and warnings of odrl.Publish. If it contains an error, the Policy is nil. Draft does not check anything that depends on the
// configuration, such as the sources of facts and the currency of the credit.
func (d *Definition) Draft(ctx context.Context, document []byte) (*odrl.Policy, problem.List) {
	world := d.world
	world.Hosts = hostsWith(world.Hosts, policyUID(document))
	return odrl.Publish(ctx, document, world)
}

// ChangedBy returns the uids of the intents whose terms in another policy differ from those in force, sorted. An agreement to the policy in
// force would not hold for calls to these intents.
func (d *Definition) ChangedBy(other *odrl.Policy) []string {
	clauses := words.Clauses(other)
	var list []string
	for _, in := range d.Catalog.Intents() {
		uid := in.UID.String()
		is, inForce := d.clauses[uid]
		will, inOther := clauses[uid]
		if inForce && (!inOther || is != will) {
			list = append(list, uid)
		}
	}
	slices.Sort(list)
	return list
}

// NamesKeys reports whether the policy names an agent with a certain key as a party. Decisions then depend on the key of the agent.
func (d *Definition) NamesKeys() bool {
	for _, p := range d.world.Parties {
		if p.KeyID != "" {
			return true
		}
	}
	return false
}
