package odrl

// A document is a policy as read: every term resolved to its canonical name, every node with the JSON
// pointer at which it stands, nothing expanded yet. ODRL IM 2.1.
type document struct {
	uid        string // an IRI; empty where the policy is a blank node, which only lenient reading takes
	pointer    string
	types      []string
	typesAt    string   // pointer
	classes    []string // of other vocabularies
	profiles   []reference
	inherits   []reference
	replacedBy []reference
	strategies []strategy // as said; none means void on conflict, several come of a merge
	rules      []*ruleNode
	// Shared by every rule, ODRL IM 2.7.1.
	actions   []actionNode
	targets   []reference
	relations map[string][]reference
	asset     []reference // UIM core 6.2: a target for rules that name none
	parties   map[string][]reference
	notes     notes
	keys      map[string]bool // the properties it has, readable or not
	facts     *facts
}

// notes are what a node says that describes and never decides, by property.
type notes map[string]any

// A strategy settles conflicts between permissions and prohibitions. ODRL IM 2.10; unset means invalid.
type strategy int

const (
	voidOnConflict strategy = iota // the strategy "invalid"
	permissionWins
	prohibitionWins
)

func (s strategy) String() string { return [...]string{"invalid", "perm", "prohibit"}[s] }

// A ruleKind is the role of a rule: the property that points at it. ODRL IM 2.6.
type ruleKind int

const (
	permission ruleKind = iota
	prohibition
	obligation
	dutyOfPermission
	remedy
	consequence
)

func (k ruleKind) String() string {
	return [...]string{"permission", "prohibition", "obligation", "duty", "remedy", "consequence"}[k]
}

// A ruleNode is a rule or duty as written.
type ruleNode struct {
	kind         ruleKind
	pointer      string
	uid          string
	actions      []actionNode
	targets      []reference
	relations    map[string][]reference // output and other relations than target
	parties      map[string][]reference // by function
	constraints  []*constraintNode
	duties       []*ruleNode       // of a permission
	remedies     []*ruleNode       // of a prohibition
	consequences []*ruleNode       // of a duty or obligation
	amounts      []*constraintNode // UIM core 6.2: amount and unit of a pay duty, read as payAmount eq
	settled      any               // UIM core 6.2: timeInterval of a pay duty, as written
	notice       string
	notes        notes
	keys         map[string]bool // the properties it has, readable or not
	weight       int             // rules in it, itself included
}

// name is how decisions call the rule: its uid, else its JSON pointer.
func (r *ruleNode) name() string {
	if r.uid != "" {
		return r.uid
	}
	return r.pointer
}

// children are the duties of every role that the rule points at.
func (r *ruleNode) children() []*ruleNode {
	list := make([]*ruleNode, 0, len(r.duties)+len(r.remedies)+len(r.consequences))
	return append(append(append(list, r.duties...), r.remedies...), r.consequences...)
}

// A reference is an asset or a party as a rule names it (or another IRI, or a bare intent UID), and
// where it stands. ODRL IM 2.2, 2.3.
type reference struct {
	pointer     string
	iri         string
	collection  bool              // an AssetCollection or a PartyCollection
	source      string            // of a collection: the IRI that its members are part of
	refinements []*constraintNode // of a collection: which members are meant
	types       []string          // as written, beyond what collection says
	notes       notes
	literal     bool // a text that is no IRI
}

// name is the IRI of the asset or party; that of its source for a collection without one of its own.
func (r *reference) name() string {
	if r.iri != "" {
		return r.iri
	}
	return r.source
}

// An actionNode is an action with its refinements. ODRL IM 2.4.
type actionNode struct {
	pointer     string
	name        string // the local name of a term of ODRL or UIM, else an IRI
	written     string
	refinements []*constraintNode
	notes       notes
}

// A constraintNode is a constraint, or a logical constraint where logic is set. ODRL IM 2.5.
type constraintNode struct {
	pointer  string
	uid      string
	logic    string
	operands []*constraintNode
	depth    int // 0 for a plain constraint
	weight   int // constraints in it, itself included
	notes    notes

	operand  string // the local name of a term of ODRL or UIM, else an IRI
	operator string
	right    []literal
	rightRef []reference // rightOperandReference: IRIs whose contents are the right operand
	unit     reference
	dataType string
	status   string
	state    literal // status as written
}

// A literal is one right operand.
type literal struct {
	pointer    string
	text       string
	start, end string // of a window
	window     bool
	// For writing it back, and for those who compare by type:
	iri      bool   // an IRI rather than a text
	dataType string // IRI of an explicit type, expanded
	language string // of a text in a language, BCP 47
	json     any    // json.Number or bool where the document has one, else nil
}

// duty reports whether the rule is a Duty by ODRL IM 2.6.3, in any of its roles.
func (k ruleKind) duty() bool { return k >= obligation }
