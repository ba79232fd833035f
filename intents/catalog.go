package intents

import (
	"slices"
	"time"
)

// A Catalog holds the intents that one service offers, and the other members of its agents.json. It is read-only and safe for concurrent
// use; callers must not modify the results of its methods.
type Catalog struct {
	Dialect    Dialect // the dialect of the document
	Service    Service
	PublicKey  string // uim-public-key, or security.public_key
	PolicyFile string // uim-policy-file, or security.policy_url
	Discovery  string // uim-api-discovery
	Execute    string // uim-api-execute
	Keys       string // uim-jwks
	Evidence   Evidence
	// Doors holds the members that locate the service in other protocols, such as uim-mcp, by name. These are all strings of 1 to 2,048
	// characters whose name begins with uim- and for which this struct has no field. A value that contains "://" is an http or https URL.
	Doors      map[string]string
	Successor  *PolicySuccessor // policy_successor; nil if there is none
	Plans      []Plan           // uim-plans
	Issuer     string           // uim-issuer
	License    string           // uim-license
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
	spans    []edit // the position of each intent in document, and the text that is published in its place
}

// Evidence locates the records with which a service proves its charges. A member that the document does not have is empty.
type Evidence struct {
	Receipts string // uim-receipts, a URL with {execution_id}
	Usage    string // uim-usage
	Balance  string // uim-balance
	Log      string // uim-log
	LogKey   string // uim-log-key, in the form of C2SP signed-note
}

// A PolicySuccessor names the policy that takes effect after the one at PolicyFile.
type PolicySuccessor struct {
	UID, Digest, URL string
	From             time.Time // when it takes effect
}

// Intents returns all intents in the order of the document.
func (c *Catalog) Intents() []*Intent { return c.intents }

// A family identifies all versions of an intent: they have the same namespace and name.
type family struct{ namespace, name string }

func (u UID) family() family { return family{u.Namespace, u.Name} }

// Lookup returns the intent with this UID, which may be retired. ok is false if there is none.
func (c *Catalog) Lookup(uid UID) (*Intent, bool) {
	i, ok := c.byUID[uid]
	return i, ok
}

// Versions returns the UIDs with the namespace and name of uid, lowest version first.
func (c *Catalog) Versions(uid UID) []UID { return slices.Clone(c.versions[uid.family()]) }

// ByTitle returns the intents with exactly this intent_name: normally the versions of one intent.
func (c *Catalog) ByTitle(title string) []*Intent { return slices.Clone(c.byTitle[title]) }

// Namespaces returns the namespaces of the intents, in order of first use.
func (c *Catalog) Namespaces() []string { return slices.Clone(c.namespaces) }
