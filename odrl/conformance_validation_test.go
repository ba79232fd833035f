package odrl_test

// validationRows has each check of a document, with its number in the working group's validator if it has one.
func validationRows() []row {
	const rule, parties = `"permission":[{"target":"ex:x","action":"use"}]`, `"assigner":"ex:org","assignee":"ex:ann"`
	set := func(members ...string) string { return doc("Set", members...) }
	under := func(constraint string) string {
		return set(`"permission":[{"target":"ex:x","action":"use","constraint":` + constraint + `}]`)
	}
	at := "/permission/0/constraint"
	list := []row{
		{name: "V1 a policy", says: "A document contains a policy.", fault: "error no-policy", doc: `{` + inContext + `,"@graph":[]}`},
		{name: "V2 a rule", says: "A policy contains a rule.", fault: "error no-rule", doc: set(`"dc:title":"none"`)},
		{
			name: "V3 a uid", says: "A policy has a uid that is an IRI.", fault: "error iri /uid",
			doc: `{` + inContext + `,"uid":"_:b",` + `"permission":[{"target":"http://example.com/x","action":"use"}]}`,
		},
		{
			name: "V3 twice", says: "Two policies must not have the same uid.", fault: "error duplicate /@graph/1/permission",
			doc: graphOf(`{"uid":"ex:a",`+rule+`}`, `{"uid":"ex:a","permission":[{"target":"ex:x","action":"sell"}]}`),
		},
		{name: "V4 Offer", says: "An Offer has one assigner per rule.", fault: "error assigner /permission/0", doc: doc("Offer", rule)},
		{
			name: "V4 Offer with assignerOf", says: "The assigner may be given by assignerOf.",
			doc: graphOf(`{"@id":"ex:org","assignerOf":"ex:a"}`, `{"uid":"ex:a","@type":"Offer",`+rule+`}`),
		},
		{
			name: "V5 Agreement", says: "An Agreement has one assigner per rule.", fault: "error assigner /permission/0",
			doc: doc("Agreement", `"assignee":"ex:ann"`, rule),
		},
		{name: "V6 Agreement", says: "An Agreement has one assignee per rule, after expansion.", doc: doc("Agreement", parties, rule)},
		{
			name: "V6 without an assignee", says: "An Agreement without an assignee is invalid.", fault: "error assignee /permission/0",
			doc: doc("Agreement", `"assigner":"ex:org"`, rule),
		},
		{
			name: "V7 permission", says: "A permission has one target, after expansion.",
			doc: set(`"target":"ex:x"`, `"permission":[{"action":"use"}]`),
		},
		{
			name: "V7 without a target", says: "A permission without a target is invalid.", fault: "error target /permission/0",
			doc: set(`"permission":[{"action":"use"}]`),
		},
		{name: "V7 duty", says: "A duty may have no target.", doc: set(`"obligation":[{"action":"inform"}]`)},
		{name: "one action", says: "A rule has one action, after expansion.", doc: set(`"action":"use"`, `"permission":[{"target":"ex:x"}]`)},
		{
			name: "no action", says: "A rule without an action is invalid.", fault: "error action /permission/0",
			doc: set(`"permission":[{"target":"ex:x"}]`),
		},
		{
			name: "V8 consequence", says: "A consequence has no consequence.", fault: "error consequence /obligation/0/consequence/consequence",
			doc: set(`"obligation":[{"action":"inform","consequence":{"action":"delete","consequence":{"action":"inform"}}}]`),
		},
		{
			name: "V8 remedy", says: "A remedy has no consequence.", fault: "error consequence /prohibition/0/remedy/consequence",
			doc: set(`"prohibition":[{"target":"ex:x","action":"use","remedy":{"action":"delete","consequence":{"action":"inform"}}}]`),
		},
		{
			name: "V9 AssetCollection", says: "A refined collection of assets has a source.", fault: "error collection /permission/0/target",
			doc: set(`"permission":[{"target":{"@type":"AssetCollection","uid":"ex:c","refinement":` + one("media", "eq",
				`"a"`) + `},"action":"use"}]`),
		},
		{
			name: "V10 PartyCollection", says: "A refined collection of parties has a source.", fault: "error collection /permission/0/assignee",
			doc: set(`"permission":[{"target":"ex:x","assignee":{"@type":"PartyCollection","uid":"ex:c","refinement":` + one("media", "eq",
				`"a"`) + `},"action":"use"}]`),
		},
		{
			name: "V11 conflict", says: "The strategy is perm, prohibit or invalid.", fault: "error unknown-term /conflict",
			doc: set(`"conflict":"allow"`, rule),
		},
		{
			name: "V12 action", says: "Without a profile, an unknown action is an error.", fault: "error unknown-term /permission/0/action",
			doc: set(`"permission":[{"target":"ex:x","action":"ex:fly"}]`),
		},
		{
			name: "V13 left operand", says: "An unknown left operand is an error.", fault: "error unknown-term " + at + "/leftOperand",
			doc: under(one("ex:mood", "eq", `"a"`)),
		},
		{
			name: "V14 operator", says: "An unknown operator is an error.", fault: "error unknown-term " + at + "/operator",
			doc: under(one("media", "ex:near", `"a"`)),
		},
		{
			name: "V15 logical operand", says: "An unknown logical operand is an error.", fault: "error unknown-key " + at + "/nand",
			doc: under(`{"nand":[` + one("media", "eq", `"a"`) + `,` + one("media", "eq", `"b"`) + `]}`),
		},
		{
			name: "party function", says: "An unknown party function is an error.", fault: "error unknown-key /permission/0/ex:payer",
			doc: set(`"permission":[{"target":"ex:x","action":"use","ex:payer":"ex:ann"}]`),
		},
		{
			name: "relation", says: "An unknown relation is an error.", fault: "error unknown-key /permission/0/ex:summary",
			doc: set(`"permission":[{"target":"ex:x","action":"use","ex:summary":"ex:y"}]`),
		},
		{
			name: "relation of a profile", says: "If the profile is known, another relation belongs to the profile.", profiles: known,
			fault: "warning profile-term /permission/0/ex:summary", doc: set(trade,
				`"permission":[{"target":"ex:x","action":"use","ex:summary":"ex:y"}]`),
		},
		{
			name: "no relation of a profile", says: "A member without the name of an asset or party is not a relation, so no condition is lost.",
			profiles: known, fault: "error unknown-key /permission/0/ex:only",
			doc: set(trade, `"permission":[{"target":"ex:x","action":"use","ex:only":{"leftOperand":"media","operator":"eq","rightOperand":"a"}}]`),
		},
		{
			name: "misspelt with a profile", says: "A name that resembles a property of ODRL is not a relation.", profiles: known,
			fault: "error unknown-key /permission/0/asignee", doc: set(trade, `"permission":[{"target":"ex:x","action":"use","asignee":"ex:ann"}]`),
		},
		{
			name: "no assignee in the list", says: "An empty list of assignees is an error, because it would mean every party.",
			fault: "error empty /permission/0/assignee", doc: set(`"permission":[{"target":"ex:x","action":"use","assignee":[]}]`),
		},
		{
			name: "empty lists", says: "Other empty lists have no meaning, as in JSON-LD.",
			doc: set(`"permission":[{"target":"ex:x","action":"use","constraint":[],"duty":[]}]`, `"prohibition":[]`, `"obligation":[]`),
		},
		{name: "policy class", says: "An unknown class in ODRL's namespace is an error.", fault: "error unknown-term /@type", doc: doc("odrl:Contract", rule)},
		{
			name: "profile", says: "An unknown profile makes the document invalid.", fault: "error unknown-profile /profile",
			doc: set(`"profile":"http://other.example/profile"`, rule),
		},
		{
			name: "V17 left operand", says: "A constraint has a left operand.", fault: "error constraint " + at,
			doc: under(`{"operator":"eq","rightOperand":"a"}`),
		},
		{
			name: "V18 operator", says: "A constraint has an operator.", fault: "error constraint " + at,
			doc: under(`{"leftOperand":"media","rightOperand":"a"}`),
		},
		{
			name: "V16 right operand", says: "A constraint has a right operand.", fault: "error constraint " + at,
			doc: under(`{"leftOperand":"media","operator":"eq"}`),
		},
		{
			name: "V16 right operand and reference", says: "A constraint must not have both a right operand and a reference.", fault: "error constraint " + at,
			doc: under(`{"leftOperand":"media","operator":"eq","rightOperand":"a","rightOperandReference":"ex:r"}`),
		},
		{
			name: "V20 reference", says: "A reference is an IRI.", fault: "error iri " + at + "/rightOperandReference",
			doc: under(`{"leftOperand":"media","operator":"eq","rightOperandReference":"five"}`),
		},
		{
			name: "V19 operands are constraints", says: "An operand of a logical constraint is a constraint.",
			fault: "error reference " + at + "/or/0", doc: under(`{"or":[{"@id":"ex:c"},` + one("media", "eq", `"a"`) + `]}`),
		},
		{
			name: "V21 datatype", says: "A dataType is a datatype.", fault: "error datatype " + at + "/dataType",
			doc: under(`{"leftOperand":"media","operator":"eq","rightOperand":"a","dataType":"odrl:play"}`),
		},
		{
			name: "V22 one kind of rule", says: "A prohibition must not also be a permission or an obligation.",
			fault: "error duplicate /@graph/0/prohibition",
			doc:   graphOf(`{"uid":"ex:a","permission":{"@id":"ex:r"},"prohibition":{"@id":"ex:r"}}`, `{"@id":"ex:r","action":"use","target":"ex:x"}`),
		},
		{
			name: "V23 one strategy", says: "A policy has at most one conflict strategy.", fault: "error cardinality /conflict",
			doc: set(`"conflict":["perm","prohibit"]`, rule),
		},
		{
			name: "V24 own ancestor", says: "A policy must not inherit from itself, at any distance.", fault: "error inherit-cycle /@graph/0",
			doc: graphOf(`{"uid":"ex:a","inheritFrom":"ex:b",`+rule+`}`, `{"uid":"ex:b","inheritFrom":"ex:c",`+rule+`}`,
				`{"uid":"ex:c","inheritFrom":"ex:a",`+rule+`}`),
		},
		{
			name: "blank right operand", says: "A right operand is not a blank node.", fault: "error value " + at + "/rightOperand",
			doc: under(one("purpose", "eq", `{"@id":"_:b"}`)),
		},
		{
			name: "several right operands", says: "Several right operands are valid only if the operator takes a set.", fault: "error cardinality " + at,
			doc: under(one("purpose", "eq", `["a","b"]`)),
		},
		{name: "right operands of a set", says: "An operator that takes a set may have several right operands.", doc: under(one("purpose", "isAnyOf", `["a","b"]`))},
		{
			name: "one logical operand", says: "A logical constraint has one operand property.", fault: "error logic " + at,
			doc: under(`{"and":[` + one("media", "eq", `"a"`) + `,` + one("industry", "eq", `"b"`) + `],"xone":[]}`),
		},
		{
			name: "two operands", says: "`xone` needs at least two operands.", fault: "error logic " + at + "/xone",
			doc: under(`{"xone":[` + one("media", "eq", `"a"`) + `]}`),
		},
		{
			name: "one operand", says: "`and` and `or` with one operand mean that operand.", fault: "warning logic " + at + "/and",
			doc: under(`{"and":[` + one("media", "eq", `"a"`) + `]}`),
		},
		{
			name: "distinct operands", says: "Equal operands of a logical constraint are reported.", fault: "warning same-operands " + at + "/and/1",
			doc: under(`{"and":[` + one("media", "eq", `"a"`) + `,` + one("media", "eq", `"a"`) + `]}`),
		},
		{name: "inheritFrom", says: "A parent is an IRI.", fault: "error iri /inheritFrom", doc: set(`"inheritFrom":"parent"`, rule)},
		{name: "parent", says: "A parent must be in the document.", fault: "error inherit /inheritFrom", doc: set(`"inheritFrom":"ex:parent"`, rule)},
		{
			name: "datatype", says: "A value must have the type of its left operand.", fault: "warning datatype " + at + "/rightOperand",
			doc: under(one("count", "lteq", `"many"`)),
		},
		{
			name: "no such day", says: "A date must exist.", fault: "warning datatype " + at + "/rightOperand",
			doc: under(one("dateTime", "lt", `"2026-02-30T00:00:00Z"`)),
		},
		{
			name: "operator of an operand", says: "An operator must be valid for its left operand.", fault: "warning operator " + at,
			doc: under(one("timeInterval", "gt", `"P7D"`)),
		},
		{
			name: "unit of an operand", says: "A unit must be valid for its left operand.", fault: "warning unit " + at + "/unit",
			doc: under(`{"leftOperand":"purpose","operator":"eq","rightOperand":"a","unit":"http://dbpedia.org/resource/Euro"}`),
		},
		{
			name: "target as a string", says: "A target is an IRI.", fault: "warning literal /permission/0/target",
			doc: set(`"permission":[{"target":"movie","action":"use"}]`),
		},
		{
			name: "assignee as a string", says: "An assignee is an IRI.", fault: "warning literal /permission/0/assignee",
			doc: set(`"permission":[{"target":"ex:x","action":"use","assignee":"ann"}]`),
		},
		{
			name: "time without a zone", says: "A time without a zone is read as UTC.", fault: "warning zone " + at + "/rightOperand",
			doc: under(one("dateTime", "lt", `"2026-07-01T00:00:00"`)),
		},
		{
			name: "deprecated term", says: "A deprecated term is read as its replacement.", fault: "warning deprecated /permission/0/action",
			doc: set(`"permission":[{"target":"ex:x","action":"odrl:copy"}]`),
		},
		{
			name: "unused key", says: "An unknown key is reported.", fault: "error unknown-key /permission/0/price",
			doc: set(`"permission":[{"target":"ex:x","action":"use","price":5}]`),
		},
		{
			name: "two classes", says: "A policy must not have two classes.", fault: "warning types /@type/0",
			doc: `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"ex":"http://example.com/"}],"@type":["Offer","Agreement"],"uid":"ex:a",` + parties + `,` + rule + `}`,
		},
		{
			name: "certain conflict", says: "Under the strategy invalid, a certain conflict makes the policy void.", fault: "error conflict /prohibition/0",
			doc: set(rule, `"prohibition":[{"target":"ex:x","action":"use"}]`),
		},
		{
			name: "empty window", says: "A rule that can never be active is reported.", fault: "warning never /permission/0",
			doc: under(`[` + one("dateTime", "gt", `"2026-07-01T00:00:00Z"`) + `,` + one("dateTime", "lt", `"2026-06-01T00:00:00Z"`) + `]`),
		},
		{
			name: "eq and neq of one value", says: "A rule that contradicts itself is reported.", fault: "warning never /permission/0",
			doc: under(`[` + one("media", "eq", `"a"`) + `,` + one("media", "neq", `"a"`) + `]`),
		},
	}
	for i := range list {
		list[i].from = "W, IM 2.1 to 2.10"
	}
	return list
}
