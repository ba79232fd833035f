package model

import (
	"cmp"
	"slices"
)

// A Document is a policy as read: each term is resolved to its canonical name, and each node has its JSON pointer. See ODRL IM, section
// 2.1.
type Document struct {
	uid        string // an IRI; empty if the policy is a blank node, which only lenient mode accepts
	Pointer    string
	Types      []string
	TypesAt    string   // pointer
	classes    []string // types from other vocabularies
	profiles   []Reference
	inherits   []Reference
	ReplacedBy []Reference
	strategies []Strategy // as written, without duplicates; if there is not exactly one, a conflict voids the policy
	Rules      []*Rule
	// Shared by every rule, ODRL IM 2.7.1.
	actions   []Action
	targets   []Reference
	relations map[string][]Reference
	Asset     []Reference // UIM core 6.2: the target of rules that name no target
	parties   map[string][]Reference
	notes     notes
	keys      map[string]bool // the properties that have a value, even one that could not be read
	facts     *Facts
}

// notes are the properties of a node that only describe it and never affect a decision, by name.
type notes map[string]any

// A Strategy resolves conflicts between permissions and prohibitions. The default is VoidOnConflict. See ODRL IM, section 2.10.
type Strategy int

// The strategies.
const (
	VoidOnConflict Strategy = iota // the strategy "invalid"
	PermissionWins
	ProhibitionWins
)

func (s Strategy) String() string { return [...]string{"invalid", "perm", "prohibit"}[s] }

// A RuleKind is the role of a rule, which follows from the property that refers to the rule. See ODRL IM, section 2.6.
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
	Relations    map[string][]Reference // output and relations other than target
	Parties      map[string][]Reference // by function
	Constraints  []*Constraint
	Duties       []*Rule       // for a permission
	Remedies     []*Rule       // for a prohibition
	Consequences []*Rule       // for a duty or obligation
	Amounts      []*Constraint // UIM core 6.2: amount and unit of a pay duty, as payAmount constraints
	settled      any           // UIM core 6.2: timeInterval of a pay duty, as written
	Notice       string
	notes        notes
	keys         map[string]bool // the properties that have a value, even one that could not be read
	weight       int             // the number of rules in it, including itself
}

// Name returns the name of the rule in decisions: its uid or, if it has none, its JSON pointer.
func (r *Rule) Name() string { return cmp.Or(r.UID, r.Pointer) }

// Does reports whether the rule has the given action.
func (r *Rule) Does(action string) bool {
	return slices.ContainsFunc(r.Actions, func(a Action) bool { return a.Name == action })
}

// children returns the duties, remedies and consequences of the rule.
func (r *Rule) children() []*Rule {
	list := make([]*Rule, 0, len(r.Duties)+len(r.Remedies)+len(r.Consequences))
	return append(append(append(list, r.Duties...), r.Remedies...), r.Consequences...)
}

// A Reference is an asset or a party as a rule names it: by an IRI or by the bare UID of an intent. See ODRL IM, sections 2.2 and 2.3.
type Reference struct {
	Pointer     string
	IRI         string
	Collection  bool          // an AssetCollection or a PartyCollection
	Source      string        // for a collection: the IRI that identifies the whole collection
	Refinements []*Constraint // for a collection: the conditions that its members must meet
	types       []string      // types from other vocabularies
	notes       notes
	Literal     bool // the name is a plain string, not an IRI
}

// Name returns the IRI of the asset or party. For a collection without an IRI, it returns the source.
func (r *Reference) Name() string { return cmp.Or(r.IRI, r.Source) }

// An Action is an action with its refinements. See ODRL IM, section 2.4.
type Action struct {
	Pointer     string
	Name        string // the local name of a term of ODRL or UIM, or an IRI
	written     string
	Refinements []*Constraint
	notes       notes
}

// A Constraint is a constraint, or a logical constraint if Logic is set. See ODRL IM, section 2.5.
type Constraint struct {
	Pointer  string
	UID      string
	Logic    string
	Operands []*Constraint
	Depth    int // how deep logical constraints are nested in it; 0 for a plain constraint
	weight   int // the number of constraints in it, including itself
	notes    notes

	Operand  string // the local name of a term of ODRL or UIM, or an IRI
	Operator string
	Right    []Literal
	RightRef []Reference // rightOperandReference: IRIs whose contents are the right operand
	Unit     Reference
	DataType string
	Status   string
	state    Literal  // status as written
	row      *Operand // the row of the left operand, if a loaded vocabulary defines it
}

// A Literal is one right operand.
type Literal struct {
	Pointer    string
	Text       string
	Start, End string // for a window
	Window     bool
	// The following are needed to write the literal and to compare it by type.
	iri      bool   // the value is an IRI, not a string
	dataType string // IRI of an explicit type, expanded
	language string // BCP 47 tag of a string
	json     any    // the json.Number or bool in the document; nil for other values
}

// Duty reports whether a rule of this kind is a Duty as defined in ODRL IM 2.6.3.
func (k RuleKind) Duty() bool { return k >= Obligation }
