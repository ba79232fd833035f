package odrl

import "github.com/uimgate/uimgate/odrl/internal/rules"

// A World describes the things that the names in a policy refer to. Hosts are the hosts (host or host:port, lowercase) of the URLs with
// which targets may name intents. Intents are the intents, and Retired are former intents, which a policy may still name without effect.
// Parties maps an IRI in the policy to the agent that it names; if AnyAssignee is set, an assignee that is not in Parties means every
// agent. Vocabularies are those of the known profiles.
type World = rules.World

// An Asset is an intent with the names that a policy may use for it: its UID (namespace:name:version), the Namespace and the Name in the
// UID, and its Title, the intent_name.
type Asset = rules.Asset

// A Party is an agent that a policy may name. KeyID is the RFC 7638 thumbprint of one of the agent's keys; if it is empty, the agent may
// use any of its keys.
type Party = rules.Party
