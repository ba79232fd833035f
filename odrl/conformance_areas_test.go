package odrl_test

// The answers in the table, by their codes.
const (
	ok       = "permit"
	none     = "POLICY_NOT_APPLICABLE"
	violates = "POLICY_VIOLATION"
	clashes  = "POLICY_CONFLICT"
	unmet    = "POLICY_REQUIRES_VERIFICATION"
	unpaid   = "POLICY_REQUIRES_PAYMENT"
)

// An area is one section of the table.
type area struct {
	name, title, about string
	rows               []row
}

func areas() []area {
	return []area{
		{
			"examples", "The examples of the Information Model",
			"Each use case of ODRL IM 2.2, with our own facts. The examples name profiles that no document defines; the tests treat these as known. The tests read and validate each example, write it as canonical JSON-LD with the same meaning, and decide questions under it. An Offer itself grants nothing: *once taken* means that a question is decided by the Set that the Offer becomes when it is accepted.", exampleRows(),
		},
		{"classes", "Classes and properties", "ODRL IM 2.1 to 2.6: the properties of each class, how many it may have, and their meaning.", classRows()},
		{"actions", "Actions", "ODRL IM 2.4 and ODRL V 3.9, 4.3: each action, the action that includes it, and its replacement if it is deprecated.", actionRows()},
		{
			"operators", "Operators and logic",
			"ODRL IM 2.5 and ODRL V 4.4. A fact that is missing or cannot be compared makes a constraint unknown: unsatisfied in a permission, satisfied in a prohibition or obligation.", operatorRows(),
		},
		{"operands", "Left operands", "ODRL V 4.5. The values are in the context of the question.", operandRows()},
		{
			"reading", "Reading JSON-LD", "Every form of the serialization that is read, and the forms that are refused. Nothing is ever fetched.",
			readingRows(),
		},
		{
			"expansion", "Expansion and inheritance",
			"From a compact document to atomic rules: ODRL IM 2.7 to 2.9, in the order of the working group's validator.", expansionRows(),
		},
		{
			"conflicts", "Conflicts", "ODRL IM 2.10. A conflict that every matching request meets is found when a document is validated.",
			conflictRows(),
		},
		{
			"validation", "Validation",
			"Each check, with the code and the JSON pointer of its message. Errors make a document invalid, warnings do not.", validationRows(),
		},
		{"evaluation", "Evaluation", "The contents of a decision and of its report.", evaluationRows()},
		{
			"profile", "The UIM profile",
			"The forms that UIM's documents have, as the gateway publishes them. Names are those of the intents and agents of the service, and every term must be enforceable.", profileRows(),
		},
		{"attack", "Bad input", "Bad input is refused quickly, and never permits a request.", attackRows()},
		{
			"suite", "The public test suite",
			"SolidLab's ODRL-Test-Suite, case by case: the activation of each rule, its premises and constraints. Duties must only not be violated, and policies are read leniently, because the suite has rules without action, target or assignee. The suite contains no decisions; the column *shown by* has those of this engine.", suiteRows(),
		},
	}
}

const conformanceHead = `# ODRL conformance

For auditors, and for people who write policies. This page lists the behaviour of the policy engine for each class,
property, operator and rule of ODRL 2.2, and for the UIM profile. Every row is a test. The tests generate this page, and
fail if it is not up to date:

    go test ./odrl -run Conformance -v

The column *from* names the source: **IM** is the W3C Recommendation ODRL Information Model 2.2, **V** is ODRL Vocabulary &
Expression 2.2, **FS** is the community group's draft of the Formal Semantics, **W** are the checks of the POE working
group's validator, **TS** is the public ODRL test suite of SolidLab, and **UIM** is the core components page of UIM.
*uimgate* marks rows for which no source decides.

The column *shown by* has the result of the validation. For each question ` + "`party action target`" + ` (with facts and the
state of the world), it has the decision: ` + "`permit`" + `, or the code of the denial. Then it lists what the report must
contain: ` + "`p:Active`" + ` for a rule, ` + "`d:Fulfilled`" + ` for a duty, ` + "`p.target:Satisfied`" + ` for a premise, and
` + "`owes:`" + `, ` + "`charge:`" + ` and ` + "`limit:`" + ` for duties, charges and limits. By default, the time is noon (UTC) of 2026-06-15, and duties must be
fulfilled. ` + "`ex:`" + ` means http://example.com/, as do names without a prefix.
`
