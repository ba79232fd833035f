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
		{name: "V1 a policy", says: "A document holds a policy.", fault: "error no-policy", doc: `{` + inContext + `,"@graph":[]}`},
		{name: "V2 a rule", says: "A policy holds a rule.", fault: "error no-rule", doc: set(`"dc:title":"none"`)},
		{
			name: "V3 a uid", says: "A policy has a uid that is an IRI.", fault: "error iri /uid",
			doc: `{` + inContext + `,"uid":"_:b",` + `"permission":[{"target":"http://example.com/x","action":"use"}]}`,
		},
		{
			name: "V3 twice", says: "Two policies do not share a uid.", fault: "error duplicate /@graph/1/permission",
			doc: graphOf(`{"uid":"ex:a",`+rule+`}`, `{"uid":"ex:a","permission":[{"target":"ex:x","action":"sell"}]}`),
		},
		{name: "V4 Offer", says: "An Offer has one assigner per rule.", fault: "error assigner /permission/0", doc: doc("Offer", rule)},
		{
			name: "V4 Offer with assignerOf", says: "It may be given from outside.",
			doc: graphOf(`{"@id":"ex:org","assignerOf":"ex:a"}`, `{"uid":"ex:a","@type":"Offer",`+rule+`}`),
		},
		{
			name: "V5 Agreement", says: "An Agreement has one assigner per rule.", fault: "error assigner /permission/0",
			doc: doc("Agreement", `"assignee":"ex:ann"`, rule),
		},
		{name: "V6 Agreement", says: "And one assignee per rule, after its expansion.", doc: doc("Agreement", parties, rule)},
		{
			name: "V6 without an assignee", says: "Without one it is invalid.", fault: "error assignee /permission/0",
			doc: doc("Agreement", `"assigner":"ex:org"`, rule),
		},
		{
			name: "V7 permission", says: "A permission has one target, after its expansion.",
			doc: set(`"target":"ex:x"`, `"permission":[{"action":"use"}]`),
		},
		{
			name: "V7 without a target", says: "Without one it is invalid.", fault: "error target /permission/0",
			doc: set(`"permission":[{"action":"use"}]`),
		},
		{name: "V7 duty", says: "A duty may have none.", doc: set(`"obligation":[{"action":"inform"}]`)},
		{name: "one action", says: "A rule has one action, after its expansion.", doc: set(`"action":"use"`, `"permission":[{"target":"ex:x"}]`)},
		{
			name: "no action", says: "Without one it is invalid.", fault: "error action /permission/0",
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
			name: "V12 action", says: "Without a profile there is no other action.", fault: "error unknown-term /permission/0/action",
			doc: set(`"permission":[{"target":"ex:x","action":"ex:fly"}]`),
		},
		{
			name: "V13 left operand", says: "No other left operand.", fault: "error unknown-term " + at + "/leftOperand",
			doc: under(one("ex:mood", "eq", `"a"`)),
		},
		{
			name: "V14 operator", says: "No other operator.", fault: "error unknown-term " + at + "/operator",
			doc: under(one("media", "ex:near", `"a"`)),
		},
		{
			name: "V15 logical operand", says: "No other logical operand.", fault: "error unknown-key " + at + "/nand",
			doc: under(`{"nand":[` + one("media", "eq", `"a"`) + `,` + one("media", "eq", `"b"`) + `]}`),
		},
		{
			name: "party function", says: "No other party function.", fault: "error unknown-key /permission/0/ex:payer",
			doc: set(`"permission":[{"target":"ex:x","action":"use","ex:payer":"ex:ann"}]`),
		},
		{
			name: "relation", says: "No other relation.", fault: "error unknown-key /permission/0/ex:summary",
			doc: set(`"permission":[{"target":"ex:x","action":"use","ex:summary":"ex:y"}]`),
		},
		{
			name: "relation of a profile", says: "With a profile known, another relation is one of its own.", profiles: known,
			fault: "warning profile-term /permission/0/ex:summary", doc: set(trade,
				`"permission":[{"target":"ex:x","action":"use","ex:summary":"ex:y"}]`),
		},
		{
			name: "no relation of a profile", says: "What holds no name of an asset or party is none: no condition is lost that way.",
			profiles: known, fault: "error unknown-key /permission/0/ex:only",
			doc: set(trade, `"permission":[{"target":"ex:x","action":"use","ex:only":{"leftOperand":"media","operator":"eq","rightOperand":"a"}}]`),
		},
		{
			name: "misspelt with a profile", says: "Nor is what is nearly a property of ODRL.", profiles: known,
			fault: "error unknown-key /permission/0/asignee", doc: set(trade, `"permission":[{"target":"ex:x","action":"use","asignee":"ex:ann"}]`),
		},
		{
			name: "nobody", says: "An empty list of assignees would mean everyone, which is hardly meant.",
			fault: "error empty /permission/0/assignee", doc: set(`"permission":[{"target":"ex:x","action":"use","assignee":[]}]`),
		},
		{
			name: "empty lists", says: "Other empty lists say nothing, as in JSON-LD.",
			doc: set(`"permission":[{"target":"ex:x","action":"use","constraint":[],"duty":[]}]`, `"prohibition":[]`, `"obligation":[]`),
		},
		{name: "policy class", says: "No other class of ODRL's.", fault: "error unknown-term /@type", doc: doc("odrl:Contract", rule)},
		{
			name: "profile", says: "Processing stops at a profile that is not known.", fault: "error unknown-profile /profile",
			doc: set(`"profile":"http://other.example/profile"`, rule),
		},
		{
			name: "V17 left operand", says: "A constraint has one.", fault: "error constraint " + at,
			doc: under(`{"operator":"eq","rightOperand":"a"}`),
		},
		{
			name: "V18 operator", says: "A constraint has one.", fault: "error constraint " + at,
			doc: under(`{"leftOperand":"media","rightOperand":"a"}`),
		},
		{
			name: "V16 right operand", says: "A constraint has one.", fault: "error constraint " + at,
			doc: under(`{"leftOperand":"media","operator":"eq"}`),
		},
		{
			name: "V16 right operand and reference", says: "And not both kinds.", fault: "error constraint " + at,
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
			name: "V22 one kind of rule", says: "A prohibition is not a permission or obligation as well.",
			fault: "error duplicate /@graph/0/prohibition",
			doc:   graphOf(`{"uid":"ex:a","permission":{"@id":"ex:r"},"prohibition":{"@id":"ex:r"}}`, `{"@id":"ex:r","action":"use","target":"ex:x"}`),
		},
		{
			name: "V23 one strategy", says: "A policy has at most one conflict strategy.", fault: "error cardinality /conflict",
			doc: set(`"conflict":["perm","prohibit"]`, rule),
		},
		{
			name: "V24 own ancestor", says: "No policy inherits from itself, at any distance.", fault: "error inherit-cycle /@graph/0",
			doc: graphOf(`{"uid":"ex:a","inheritFrom":"ex:b",`+rule+`}`, `{"uid":"ex:b","inheritFrom":"ex:c",`+rule+`}`,
				`{"uid":"ex:c","inheritFrom":"ex:a",`+rule+`}`),
		},
		{
			name: "blank right operand", says: "A right operand is not a blank node.", fault: "error value " + at + "/rightOperand",
			doc: under(one("purpose", "eq", `{"@id":"_:b"}`)),
		},
		{
			name: "several right operands", says: "Several only where the operator takes a set.", fault: "error cardinality " + at,
			doc: under(one("purpose", "eq", `["a","b"]`)),
		},
		{name: "right operands of a set", says: "There they may be several.", doc: under(one("purpose", "isAnyOf", `["a","b"]`))},
		{
			name: "one logical operand", says: "A logical constraint has one operand property.", fault: "error logic " + at,
			doc: under(`{"and":[` + one("media", "eq", `"a"`) + `,` + one("industry", "eq", `"b"`) + `],"xone":[]}`),
		},
		{
			name: "two operands", says: "Exactly one needs at least two constraints.", fault: "error logic " + at + "/xone",
			doc: under(`{"xone":[` + one("media", "eq", `"a"`) + `]}`),
		},
		{
			name: "one operand", says: "All or any of one constraint is that constraint.", fault: "warning logic " + at + "/and",
			doc: under(`{"and":[` + one("media", "eq", `"a"`) + `]}`),
		},
		{
			name: "distinct operands", says: "That differ.", fault: "warning same-operands " + at + "/and/1",
			doc: under(`{"and":[` + one("media", "eq", `"a"`) + `,` + one("media", "eq", `"a"`) + `]}`),
		},
		{name: "inheritFrom", says: "A parent is an IRI.", fault: "error iri /inheritFrom", doc: set(`"inheritFrom":"parent"`, rule)},
		{name: "parent", says: "That the document has.", fault: "error inherit /inheritFrom", doc: set(`"inheritFrom":"ex:parent"`, rule)},
		{
			name: "datatype", says: "A value fits its left operand.", fault: "warning datatype " + at + "/rightOperand",
			doc: under(one("count", "lteq", `"many"`)),
		},
		{
			name: "no such day", says: "A day exists.", fault: "warning datatype " + at + "/rightOperand",
			doc: under(one("dateTime", "lt", `"2026-02-30T00:00:00Z"`)),
		},
		{
			name: "operator of an operand", says: "An operator fits its left operand.", fault: "warning operator " + at,
			doc: under(one("timeInterval", "gt", `"P7D"`)),
		},
		{
			name: "unit of an operand", says: "A unit fits its left operand.", fault: "warning unit " + at + "/unit",
			doc: under(`{"leftOperand":"purpose","operator":"eq","rightOperand":"a","unit":"http://dbpedia.org/resource/Euro"}`),
		},
		{
			name: "target as a text", says: "A target is an IRI.", fault: "warning literal /permission/0/target",
			doc: set(`"permission":[{"target":"movie","action":"use"}]`),
		},
		{
			name: "assignee as a text", says: "An assignee is an IRI.", fault: "warning literal /permission/0/assignee",
			doc: set(`"permission":[{"target":"ex:x","action":"use","assignee":"ann"}]`),
		},
		{
			name: "time without a zone", says: "It is read as UTC.", fault: "warning zone " + at + "/rightOperand",
			doc: under(one("dateTime", "lt", `"2026-07-01T00:00:00"`)),
		},
		{
			name: "deprecated term", says: "It is read as what replaces it.", fault: "warning deprecated /permission/0/action",
			doc: set(`"permission":[{"target":"ex:x","action":"odrl:copy"}]`),
		},
		{
			name: "unused key", says: "No key is dropped in silence.", fault: "error unknown-key /permission/0/price",
			doc: set(`"permission":[{"target":"ex:x","action":"use","price":5}]`),
		},
		{
			name: "two classes", says: "Classes are disjoint.", fault: "warning types /@type/0",
			doc: `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"ex":"http://example.com/"}],"@type":["Offer","Agreement"],"uid":"ex:a",` + parties + `,` + rule + `}`,
		},
		{
			name: "certain conflict", says: "Under invalid it voids the policy.", fault: "error conflict /prohibition/0",
			doc: set(rule, `"prohibition":[{"target":"ex:x","action":"use"}]`),
		},
		{
			name: "empty window", says: "A rule that can never be active is told.", fault: "warning never /permission/0",
			doc: under(`[` + one("dateTime", "gt", `"2026-07-01T00:00:00Z"`) + `,` + one("dateTime", "lt", `"2026-06-01T00:00:00Z"`) + `]`),
		},
		{
			name: "eq and neq of one value", says: "So is one that contradicts itself.", fault: "warning never /permission/0",
			doc: under(`[` + one("media", "eq", `"a"`) + `,` + one("media", "neq", `"a"`) + `]`),
		},
	}
	for i := range list {
		list[i].from = "W, IM 2.1 to 2.10"
	}
	return list
}
