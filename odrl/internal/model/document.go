package model

import "slices"

// A Document is a policy as read: every term resolved to its canonical name, every node with its JSON pointer, nothing expanded yet. ODRL
// IM 2.1.
type Document struct {
	uid        string // an IRI; empty if the policy is a blank node, which only lenient reading accepts
	Pointer    string
	Types      []string
	TypesAt    string   // pointer
	classes    []string // of other vocabularies
	profiles   []Reference
	inherits   []Reference
	ReplacedBy []Reference
	strategies []Strategy // as written; none means void on conflict, several result from a merge
	Rules      []*Rule
	// Shared by every rule, ODRL IM 2.7.1.
	actions   []Action
	targets   []Reference
	relations map[string][]Reference
	Asset     []Reference // UIM core 6.2: a target for rules that name none
	parties   map[string][]Reference
	notes     notes
	keys      map[string]bool // the properties it has, readable or not
	facts     *Facts
}

// notes are properties that describe a node and never decide, by property.
type notes map[string]any

// A Strategy settles conflicts between permissions and prohibitions. ODRL IM 2.10; unset means invalid.
type Strategy int

// The strategies.
const (
	VoidOnConflict Strategy = iota // the strategy "invalid"
	PermissionWins
	ProhibitionWins
)

func (s Strategy) String() string { return [...]string{"invalid", "perm", "prohibit"}[s] }

// A RuleKind is the role of a rule: the property that points at it. ODRL IM 2.6.
type RuleKind int

// The roles of rules.
const (
	Permission RuleKind = iota
	Prohibition
	Obligation
	DutyOfPermission
	Remedy
	Consequence
)

func (k RuleKind) String() string {
	return [...]string{"permission", "prohibition", "obligation", "duty", "remedy", "consequence"}[k]
}

// A Rule is a rule or duty as written.
type Rule struct {
	Kind         RuleKind
	Pointer      string
	UID          string
	Actions      []Action
	Targets      []Reference
	Relations    map[string][]Reference // output and other relations than target
	Parties      map[string][]Reference // by function
	Constraints  []*Constraint
	Duties       []*Rule       // of a permission
	Remedies     []*Rule       // of a prohibition
	Consequences []*Rule       // of a duty or obligation
	Amounts      []*Constraint // UIM core 6.2: amount and unit of a pay duty, read as payAmount eq
	settled      any           // UIM core 6.2: timeInterval of a pay duty, as written
	Notice       string
	notes        notes
	keys         map[string]bool // the properties it has, readable or not
	weight       int             // rules in it, itself included
}

// Name returns the name of the rule in decisions: its uid, or its JSON pointer.
func (r *Rule) Name() string {
	if r.UID != "" {
		return r.UID
	}
	return r.Pointer
}

// Does reports whether the rule concerns the action.
func (r *Rule) Does(action string) bool {
	return slices.ContainsFunc(r.Actions, func(a Action) bool { return a.Name == action })
}

// children are the duties of every role that the rule refers to.
func (r *Rule) children() []*Rule {
	list := make([]*Rule, 0, len(r.Duties)+len(r.Remedies)+len(r.Consequences))
	return append(append(append(list, r.Duties...), r.Remedies...), r.Consequences...)
}

// A Reference is an asset or a party as a rule names it (or another IRI, or a bare intent UID), and its position. ODRL IM 2.2, 2.3.
type Reference struct {
	Pointer     string
	IRI         string
	Collection  bool          // an AssetCollection or a PartyCollection
	Source      string        // of a collection: the IRI that its members are part of
	Refinements []*Constraint // of a collection: which members are meant
	types       []string      // as written, beyond what Collection means
	notes       notes
	Literal     bool // a text that is not an IRI
}

// Name returns the IRI of the asset or party; for a collection without its own, that of its source.
func (r *Reference) Name() string {
	if r.IRI != "" {
		return r.IRI
	}
	return r.Source
}

// An Action is an action with its refinements. ODRL IM 2.4.
type Action struct {
	Pointer     string
	Name        string // the local name of a term of ODRL or UIM, or an IRI
	written     string
	Refinements []*Constraint
	notes       notes
}

// A Constraint is a constraint, or a logical constraint if logic is set. ODRL IM 2.5.
type Constraint struct {
	Pointer  string
	UID      string
	Logic    string
	Operands []*Constraint
	Depth    int // 0 for a plain constraint
	weight   int // constraints in it, itself included
	notes    notes

	Operand  string // the local name of a term of ODRL or UIM, or an IRI
	Operator string
	Right    []Literal
	RightRef []Reference // rightOperandReference: IRIs whose contents are the right operand
	Unit     Reference
	DataType string
	Status   string
	state    Literal  // status as written
	row      *Operand // of the left operand, where a vocabulary has it
}

// A Literal is one right operand.
type Literal struct {
	Pointer    string
	Text       string
	Start, End string // of a window
	Window     bool
	// For writing it again, and for comparisons by type:
	iri      bool   // an IRI rather than a text
	dataType string // IRI of an explicit type, expanded
	language string // of a text in a language, BCP 47
	json     any    // json.Number or bool if the document has one; nil otherwise
}

// Duty reports whether the rule is a Duty by ODRL IM 2.6.3, in any of its roles.
func (k RuleKind) Duty() bool { return k >= Obligation }
