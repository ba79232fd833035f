package odrl

import "github.com/uimgate/uimgate/odrl/internal/rules"

// A World is what the names in a policy refer to.
type World struct {
	// Hosts are the base hosts (host or host:port, lower case) under which targets may name intents.
	Hosts []string
	// Intents are the assets.
	Intents []Asset
	// Parties maps an IRI of the policy to the agent it names.
	Parties map[string]Party
	// AnyAssignee reads an assignee that Parties does not name as "every agent".
	AnyAssignee bool
}

// An Asset is one intent as a policy may name it.
type Asset struct {
	UID       string // namespace:name:version
	Namespace string
	Name      string // the middle of the UID
	Title     string // intent_name
}

// A Party is an agent that a policy may name.
type Party struct {
	AgentID string
	KeyID   string // RFC 7638 thumbprint; empty: any key of the agent
}

// given is the World as the compiler of rules takes it.
func (w World) given() rules.World {
	out := rules.World{
		Hosts: w.Hosts, Intents: make([]rules.Asset, len(w.Intents)), Parties: make(map[string]rules.Party, len(w.Parties)), AnyAssignee: w.AnyAssignee,
	}
	for i, a := range w.Intents {
		out.Intents[i] = rules.Asset(a)
	}
	for iri, p := range w.Parties {
		out.Parties[iri] = rules.Party(p)
	}
	return out
}
