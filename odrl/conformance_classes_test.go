package odrl_test

import "strings"

// The party functions of ODRL V 4.2 and of the core.
var partyFunctions = strings.Fields(`assigner assignee compensatedParty compensatingParty attributedParty attributingParty consentingParty consentedParty
	informedParty informingParty trackingParty trackedParty contractingParty contractedParty`)

func classRows() []row {
	const rule = `"permission":[{"uid":"ex:p","target":"ex:x","action":"use"}]`
	const both = `"permission":[{"uid":"ex:p","target":"ex:x","action":"use","assigner":"ex:org","assignee":"ex:ann"}]`
	list := []row{
		{
			name: "Policy uid", from: "IM 2.1", says: "A policy has a uid.", fault: "error uid",
			doc: `{` + inContext + `,"@type":"Set",` + rule + `}`,
		},
		{
			name: "Policy one uid", from: "IM 2.1", says: "A policy has one uid.", fault: "error cardinality /uid",
			doc: strings.Replace(doc("Set", rule), `"uid":"http://example.com/policy/1"`, `"uid":["ex:policy/1","ex:policy/2"]`, 1),
		},
		{
			name: "Policy permission", from: "IM 2.1", says: "A permission alone is enough for a policy.", doc: doc("Policy", rule),
			asks: []query{on("ann use x", ok+" p:Active by:p"), on("ann use y", none)},
		},
		{
			name: "Policy prohibition", from: "IM 2.1", says: "A prohibition alone is enough for a policy, which then permits nothing.",
			doc:  doc("Policy", `"prohibition":[{"uid":"ex:f","target":"ex:x","action":"print"}]`),
			asks: []query{on("ann print x", violates+" by:f"), on("ann read x", none)},
		},
		{
			name: "Policy obligation", from: "IM 2.1", says: "An obligation alone is enough for a policy.",
			doc:  doc("Policy", `"obligation":[{"uid":"ex:o","assignee":"ex:ann","action":"inform"}]`),
			asks: []query{on("ann use x", unmet+" by:o"), on("bob use x", none)},
		},
		{
			name: "Policy without rules", from: "IM 2.1", says: "A policy has at least one rule.", fault: "error no-rule",
			doc: doc("Policy", `"dc:title":"Empty"`),
		},
		{
			name: "Policy profile", from: "IM 2.1", says: "Several profiles may be named; each must be known.", profiles: known,
			doc:  doc("Policy", `"profile":["http://profiles.example/trade","http://www.w3.org/ns/odrl/2/core"]`, rule),
			asks: []query{on("ann use x", ok), on("ann sell x", none)},
		},
		{
			name: "Policy inheritFrom", from: "IM 2.1, 2.9", says: "A policy may have several parents.",
			doc: graphOf(`{"uid":"ex:a","permission":[{"target":"ex:x","action":"read"}]}`,
				`{"uid":"ex:b","permission":[{"target":"ex:x","action":"print"}]}`,
				`{"uid":"ex:c","@type":"Set","inheritFrom":["ex:a","ex:b"],"permission":[{"target":"ex:x","action":"play"}]}`),
			asks: []query{on("ann read x", ok), on("ann print x", ok), on("ann play x", ok), on("ann index x", none)},
		},
		{
			name: "Policy conflict", from: "IM 2.1, 2.10", says: "A policy has at most one conflict strategy.",
			fault: "error cardinality /conflict", doc: doc("Policy", `"conflict":["perm","prohibit"]`, rule),
		},
		{
			name: "Policy without a class", from: "IM 2.1.1", says: "A policy without a class is a Set.",
			doc: strings.Replace(doc("Set", rule), `"@type":"Set",`, "", 1), asks: []query{on("ann use x", ok), on("ann use y", none)},
		},
		{
			name: "Set and Policy", from: "IM 2.1.1", says: "Policy as a class means Set.", doc: doc("Policy", rule),
			asks: []query{on("ann use x", ok), on("ann sell x", none)},
		},
		{
			name: "Set with any rules", from: "IM 2.1.1", says: "A Set may contain rules of every kind, with one party or without parties.",
			doc: doc("Set", rule, `"prohibition":[{"target":"ex:y","action":"use","assignee":"ex:bob"}]`,
				`"obligation":[{"action":"inform","assignee":"ex:cleo"}]`),
			asks: []query{on("ann use x", ok), on("bob use y", violates), on("cleo use x", unmet)},
		},
		{
			name: "Offer assigner", from: "IM 2.1.2", says: "Each rule of an Offer has an assigner.", fault: "error assigner /permission/0",
			doc: doc("Offer", rule),
		},
		{
			name: "Offer one assigner", from: "IM 2.1.2", says: "Each rule of an Offer has one assigner.", fault: "error assigner /permission/0",
			doc: doc("Offer", `"assigner":["ex:org","ex:other"]`, rule),
		},
		{
			name: "Offer grants nothing", from: "IM 2.1.2, FS", says: "The rules of an Offer are evaluated, but nothing is permitted.",
			doc: doc("Offer", both), asks: []query{on("ann use x", none+" p:Active"), on("bob use x", none+" p:Inactive")},
		},
		{
			name: "Agreement parties", from: "IM 2.1.3", says: "Each rule of an Agreement has an assignee.",
			fault: "error assignee /permission/0", doc: doc("Agreement", `"assigner":"ex:org"`, rule),
		},
		{
			name: "Agreement assigner", from: "IM 2.1.3", says: "Each rule of an Agreement has an assigner.",
			fault: "error assigner /permission/0", doc: doc("Agreement", `"assignee":"ex:ann"`, rule),
		},
		{
			name: "Agreement grants", from: "IM 2.1.3, FS", says: "An Agreement grants as a Set does.", doc: doc("Agreement", both),
			asks: []query{on("ann use x", ok), on("bob use x", none)},
		},
		{
			name: "Privacy", from: "V 4.1.3", says: "A Privacy policy grants permissions, like an Agreement about personal data.", doc: doc("Privacy", both),
			asks: []query{on("ann use x", ok), on("bob use x", none)},
		},
		{
			name: "Request", from: "V 4.1.4", says: "A Request grants nothing.", doc: doc("Request", both),
			asks: []query{on("ann use x", none+" p:Active")},
		},
		{
			name: "Ticket", from: "V 4.1.5", says: "A Ticket grants permissions to its holder.", doc: doc("Ticket", both),
			asks: []query{on("ann use x", ok), on("bob use x", none)},
		},
		{
			name: "Assertion", from: "V 4.1.1", says: "An Assertion is a claim: it grants nothing.", doc: doc("Assertion", both),
			asks: []query{on("ann use x", none+" p:Active")},
		},
		{
			name: "disjoint classes", from: "V 3.1", says: "A policy cannot be both an Offer and an Agreement.", fault: "warning types /@type/0",
			doc: strings.Replace(doc("Set", both), `"Set"`, `["Offer","Agreement"]`, 1), asks: []query{on("ann use x", none)},
		},
		{
			name: "unknown class", from: "W", says: "A class in ODRL's namespace that ODRL does not have is an error.",
			fault: "error unknown-term /@type", doc: doc("odrl:Contract", rule),
		},
		{
			name: "Rule action", from: "IM 2.6", says: "A rule has an action.", fault: "error action /permission/0",
			doc: doc("Set", `"permission":[{"target":"ex:x"}]`),
		},
		{
			name: "Rule uid", from: "IM 2.6", says: "A report identifies a rule by its uid or, if it has none, by its position.",
			doc:  doc("Set", `"permission":[{"uid":"ex:p","target":"ex:x","action":"read"},{"target":"ex:x","action":"print"}]`),
			asks: []query{on("ann read x", ok+" by:p"), on("ann print x", ok+" by:/permission/1")},
		},
		{
			name: "Rule constraints", from: "IM 2.5, 2.6", says: "All constraints of a rule must be satisfied.",
			doc: doc("Set", `"permission":[{"uid":"ex:p","target":"ex:x","action":"read","constraint":[{"uid":"ex:a","leftOperand":"media","operator":"eq","rightOperand":"online"},{"uid":"ex:b","leftOperand":"industry","operator":"eq","rightOperand":"bank"}]}]`),
			asks: []query{
				on("ann read x", ok+" a:Satisfied b:Satisfied").with(`"media":"online","industry":"bank"`),
				on("ann read x", none+" p:Inactive a:Satisfied b:Unsatisfied").with(`"media":"online","industry":"farm"`),
			},
		},
		{
			name: "Permission target", from: "IM 2.6.1", says: "A permission has a target.", fault: "error target /permission/0",
			doc: doc("Set", `"permission":[{"action":"use"}]`),
		},
		{
			name: "Prohibition target", from: "IM 2.6.2", says: "A prohibition has a target.", fault: "error target /prohibition/0",
			doc: doc("Set", `"prohibition":[{"action":"use"}]`),
		},
		{
			name: "Permission for everyone", from: "FS", says: "A permission without an assignee is for every party.", doc: doc("Set", rule),
			asks: []query{on("ann use x", ok+" p.party:Absent"), on("- use x", ok), on("ann use y", none)},
		},
		{
			name: "Permission for one", from: "IM 2.6.1", says: "A permission with an assignee does not apply to a request without a party.", doc: doc("Set", both),
			asks: []query{on("ann use x", ok+" p.party:Satisfied"), on("- use x", none+" p.party:Unsatisfied")},
		},
		{
			name: "Duty needs no target", from: "IM 2.6.3", says: "A duty may have no target.",
			doc: doc("Set", `"permission":[{"uid":"ex:p","target":"ex:x","action":"use","duty":[{"uid":"ex:d","action":"inform"}]}]`),
			asks: []query{
				on("ann use x", ok+" d:Fulfilled").in(`"performed":[{"party":"http://example.com/ann","action":"inform"}]`),
				on("ann use x", none+" d:NonSet owes:inform"),
			},
		},
		{
			name: "Duty parties", from: "IM 2.6.5", says: "A duty without parties is that of the permission's assignee.",
			doc: doc("Set", strings.Replace(both, `"ex:ann"`, `"ex:ann","duty":[{"uid":"ex:d","action":"inform"}]`, 1)),
			asks: []query{
				on("ann use x", ok).in(`"performed":[{"party":"http://example.com/ann","action":"inform"}]`),
				on("ann use x", none).in(`"performed":[{"party":"http://example.com/bob","action":"inform"}]`),
			},
		},
		{
			name: "shared Duty", from: "IM 2.6.5", says: "A duty that several permissions share need only be fulfilled once.",
			doc: graphOf(`{"uid":"ex:d","@type":"Duty","action":"inform"}`,
				`{"uid":"ex:policy/1","@type":"Set","permission":[{"target":"ex:x","action":"read","duty":"ex:d"},{"target":"ex:x","action":"print","duty":"ex:d"}]}`),
			asks: []query{
				on("ann read x", ok).in(`"performed":[{"party":"http://example.com/ann","action":"inform"}]`),
				on("ann print x", ok).in(`"performed":[{"party":"http://example.com/ann","action":"inform"}]`), on("ann print x", none),
			},
		},
		{
			name: "consequence of a consequence", from: "IM 2.6.3", says: "A consequence has no consequence.",
			fault: "error consequence /obligation/0/consequence/consequence",
			doc:   doc("Set", `"obligation":[{"action":"inform","consequence":{"action":"delete","consequence":{"action":"inform"}}}]`),
		},
		{
			name: "remedy with a consequence", from: "IM 2.6.7", says: "A remedy has no consequence.",
			fault: "error consequence /prohibition/0/remedy/consequence",
			doc:   doc("Set", `"prohibition":[{"target":"ex:x","action":"use","remedy":{"action":"delete","consequence":{"action":"inform"}}}]`),
		},
		{
			name: "Asset without uid", from: "IM 2.2", says: "An asset should have a uid. Without a uid, no requested asset matches it.",
			doc: doc("Set", `"permission":[{"target":{"@type":"Asset","dc:title":"A report"},"action":"use"}]`), asks: []query{on("ann use x", none)},
		},
		{
			name: "AssetCollection", from: "IM 2.2", says: "The members of a collection are targets, through any number of nested collections.",
			doc: doc("Set", `"permission":[{"target":{"@type":"AssetCollection","uid":"ex:all"},"action":"use"}]`),
			asks: []query{on("ann use x",
				ok).in(`"partOf":[{"member":"http://example.com/x","collection":"http://example.com/some"},{"member":"http://example.com/some","collection":"http://example.com/all"}]`), on("ann use x", none).in(`"partOf":[{"member":"http://example.com/some","collection":"http://example.com/all"}]`)},
		},
		{
			name: "AssetCollection refinement", from: "IM 2.5.5", says: "A refined collection has a source.",
			fault: "error collection /permission/0/target", doc: doc("Set",
				`"permission":[{"target":{"@type":"AssetCollection","refinement":[`+one("media", "eq", `"online"`)+`]},"action":"use"}]`),
		},
		{
			name: "AssetCollection source", from: "IM 2.5.5", says: "A refined collection is named by source and not by uid.",
			fault: "error collection /permission/0/target", doc: doc("Set",
				`"permission":[{"target":{"@type":"AssetCollection","source":"ex:c","uid":"ex:d","refinement":[`+one("media", "eq",
					`"online"`)+`]},"action":"use"}]`),
		},
		{
			name: "PartyCollection", from: "IM 2.3", says: "The members of a collection have its function.",
			doc: doc("Set", `"permission":[{"target":"ex:x","action":"use","assignee":{"@type":"PartyCollection","uid":"ex:team"}}]`),
			asks: []query{
				on("ann use x", ok).in(`"partOf":[{"member":"http://example.com/ann","collection":"http://example.com/team"}]`),
				on("ann use x", none),
			},
		},
		{
			name: "PartyCollection refinement", from: "IM 2.5.6", says: "A refined collection has a source.",
			fault: "error collection /permission/0/assignee", doc: doc("Set",
				`"permission":[{"target":"ex:x","action":"use","assignee":{"@type":"PartyCollection","refinement":[`+one("media", "eq",
					`"online"`)+`]}}]`),
		},
		{
			name: "assignerOf", from: "IM 2.3.3", says: "The assigner of a policy is the assigner of every rule of the policy.",
			doc: graphOf(`{"@id":"ex:org","@type":"Party","assignerOf":"ex:policy/1"}`,
				`{"uid":"ex:policy/1","@type":"Offer","permission":[{"target":"ex:x","action":"use"}]}`),
			asks: []query{on("ann use x", ok).taken(), on("ann use y", none).taken()},
		},
		{
			name: "hasPolicy of several rules", from: "IM 2.2.3", says: "The asset is the target of every rule.",
			doc: graphOf(`{"@id":"ex:x","hasPolicy":"ex:policy/1"}`,
				`{"uid":"ex:policy/1","@type":"Set","permission":[{"action":"read"},{"action":"print","target":"ex:y"}]}`),
			asks: []query{on("ann read x", ok), on("ann print x", ok), on("ann print y", ok), on("ann read y", none)},
		},
		{
			name: "Constraint", from: "IM 2.5.1", says: "A constraint has a left operand, an operator and a right operand.",
			fault: "error constraint /permission/0/constraint", doc: doc("Set",
				`"permission":[{"target":"ex:x","action":"use","constraint":{"leftOperand":"media","operator":"eq"}}]`),
		},
		{
			name: "Constraint dataType", from: "IM 2.5.1", says: "dataType names the type of the right operand.",
			doc:  doc("Set", `"permission":[{"target":"ex:x","action":"use","constraint":{"leftOperand":"dateTime","operator":"lt","rightOperand":"2026-07-01","dataType":"xsd:date"}}]`),
			asks: []query{on("ann use x", ok), on("ann use x", none).at("2026-07-01T00:00:00Z")},
		},
		{
			name: "Constraint unit", from: "IM 2.5.1", says: "A value in another unit is converted. A value in a unit of another kind is unknown.",
			doc: doc("Set", `"permission":[{"target":"ex:x","action":"use","constraint":{"leftOperand":"absoluteSize","operator":"lteq","rightOperand":1,"unit":"MB"}}]`),
			asks: []query{
				on("ann use x", ok).with(`"absoluteSize":{"@value":"900","unit":"kB"}`),
				on("ann use x", none).with(`"absoluteSize":{"@value":"1","unit":"inch"}`),
			},
		},
		{
			name: "Constraint status", from: "IM 2.5.1", says: "With a status of five, five of ten uses remain.",
			doc: doc("Set", `"permission":[{"target":"ex:x","action":"use","constraint":{"leftOperand":"count","operator":"lteq","rightOperand":10,"status":5}}]`), asks: []query{on("ann use x", ok+" limit:5/lifetime")},
		},
		{
			name: "LogicalConstraint", from: "IM 2.5.2", says: "A logical constraint has one operand property.",
			fault: "error logic /permission/0/constraint", doc: doc("Set",
				`"permission":[{"target":"ex:x","action":"use","constraint":{"and":[`+one("media", "eq", `"a"`)+`,`+one("industry", "eq",
					`"b"`)+`],"or":[]}}]`),
		},
	}
	for _, f := range partyFunctions {
		if f == "assignee" {
			continue // rows above
		}
		list = append(list, row{
			name: f, from: "IM 2.3.1, V 4.2", says: "The " + f + " is a party of a rule; it does not restrict the assignees.",
			doc:  doc("Set", `"permission":[{"uid":"ex:p","target":"ex:x","action":"use","`+f+`":"ex:org"}]`),
			asks: []query{on("ann use x", ok), on("ann sell x", none)},
		})
	}
	return list
}
