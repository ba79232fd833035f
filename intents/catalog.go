package intents

import "slices"

// A Catalog is what one service offers, as read from its agents.json. It is read-only and safe for concurrent use; what
// its methods return must not be changed.
type Catalog struct {
	Dialect    Dialect // the document was written in
	Service    Service
	PublicKey  string // uim-public-key, or security.public_key
	PolicyFile string // uim-policy-file, or security.policy_url
	Discovery  string // uim-api-discovery
	Execute    string // uim-api-execute
	MCP        string // uim-mcp
	A2A        string // uim-a2a
	UAgents    UAgents
	AEA        string // uim-aea: fetch1…
	MRP        MRP
	Issuer     string // uim-issuer
	License    string // uim-license
	Compliance Compliance
	// AuthMethods are the draft's security.supported_auth_methods.
	AuthMethods []string

	intents    []*Intent
	byUID      map[UID]*Intent
	versions   map[family][]UID
	byTitle    map[string][]*Intent
	namespaces []string
	index      *index

	document []byte
	members  []member
	spans    []edit // the place of each intent in document, and its published text
}

// UAgents is the service among agents of the uAgents protocol. Both members may be empty.
type UAgents struct {
	Address  string // uim-uagents: agent1…
	Endpoint string // uim-uagents-endpoint: URL to which envelopes are sent
}

// MRP is the service among agents of the Machine Relay Protocol. Both members may be empty.
type MRP struct {
	Key   string // uim-mrp: its public key, 43 characters of base64url
	Relay string // uim-mrp-relay: URL of the relay that it uses
}

// Intents returns all intents in the order of the document.
func (c *Catalog) Intents() []*Intent { return c.intents }

// A family is the intents of one namespace and name, in all versions.
type family struct{ namespace, name string }

func (u UID) family() family { return family{u.Namespace, u.Name} }

// Lookup returns the intent with this UID.
func (c *Catalog) Lookup(uid UID) (*Intent, bool) {
	i, ok := c.byUID[uid]
	return i, ok
}

// Versions returns the UIDs that have namespace and name of uid, oldest version first.
func (c *Catalog) Versions(uid UID) []UID { return slices.Clone(c.versions[uid.family()]) }

// ByTitle returns the intents with exactly this intent_name: normally the versions of one intent.
func (c *Catalog) ByTitle(title string) []*Intent { return slices.Clone(c.byTitle[title]) }

// Namespaces returns the namespaces of the intents, in order of first use.
func (c *Catalog) Namespaces() []string { return slices.Clone(c.namespaces) }
