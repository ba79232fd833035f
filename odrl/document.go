package odrl

// A document is a policy as read: every term resolved to its canonical name, every node with the JSON
// pointer at which it stands, nothing expanded yet. ODRL IM 2.1.
type document struct {
	uid      string
	types    []string
	strategy strategy
	rules    []*ruleNode
	// Shared by every rule, ODRL IM 2.7.1.
	actions []actionNode
	targets []reference
	asset   []reference // UIM core 6.2: a target for rules that name none
	parties map[string][]reference
}

// A strategy settles conflicts between permissions and prohibitions. ODRL IM 2.10; unset means invalid.
type strategy int

const (
	voidOnConflict strategy = iota // the strategy "invalid"
	permissionWins
	prohibitionWins
)

// A ruleKind is the role of a rule in the policy.
type ruleKind int

const (
	permission ruleKind = iota
	prohibition
	obligation
	dutyOfPermission
)

func (k ruleKind) String() string {
	return [...]string{"permission", "prohibition", "obligation", "duty"}[k]
}

// A ruleNode is a rule or duty as written.
type ruleNode struct {
	kind        ruleKind
	pointer     string
	uid         string
	actions     []actionNode
	targets     []reference
	parties     map[string][]reference
	constraints []*constraintNode
	duties      []*ruleNode
	amounts     []*constraintNode // UIM core 6.2: amount and unit of a pay duty, read as payAmount eq
	notice      string
}

// name is how decisions call the rule: its uid, else its JSON pointer.
func (r *ruleNode) name() string {
	if r.uid != "" {
		return r.uid
	}
	return r.pointer
}

// A reference is an IRI (or a bare intent UID) and where it stands.
type reference struct {
	pointer string
	iri     string
}

// An actionNode is an action with its refinements.
type actionNode struct {
	pointer     string
	name        string
	refinements []*constraintNode
}

// A constraintNode is a constraint, or a logical constraint where logic is set. ODRL IM 2.5.
type constraintNode struct {
	pointer  string
	uid      string
	logic    string
	operands []*constraintNode
	depth    int // 0 for a plain constraint

	operand  string
	operator string
	right    []literal
	unit     reference
	dataType string
	status   string
}

// A literal is one right operand.
type literal struct {
	pointer    string
	text       string
	start, end string // of a window
	window     bool
}
