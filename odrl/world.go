package odrl

import "github.com/uimgate/uimgate/odrl/internal/rules"

// A World is what the names in a policy refer to: the Hosts (host or host:port, lowercase) that targets may name intents with, the
// Intents themselves, and Parties, which maps an IRI of the policy to the agent that it names. With AnyAssignee an assignee that Parties
// does not name means "every agent".
type World = rules.World

// An Asset is one intent as a policy may name it: its UID (namespace:name:version), the Namespace and the Name in it, and
// its Title, the intent_name.
type Asset = rules.Asset

// A Party is an agent that a policy may name: its AgentID, and as KeyID the RFC 7638 thumbprint of one of its keys; empty: any key of the
// agent.
type Party = rules.Party
