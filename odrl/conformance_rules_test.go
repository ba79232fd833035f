package odrl_test

// expansionRows has the steps from a compact document to atomic rules.
func expansionRows() []row {
	const child = `"@type":"Set","inheritFrom":"ex:parent","permission":[{"target":"ex:y","action":"print"}]`
	return []row{
		{
			name: "nodes by IRI", from: "W 1", says: "A referenced node is read at its position in the document.",
			doc: graphOf(`{"uid":"ex:c","@type":"Constraint","leftOperand":"media","operator":"eq","rightOperand":"online"}`,
				`{"uid":"ex:policy/1","@type":"Set","permission":{"target":"ex:x","action":"use","constraint":{"@id":"ex:c"}}}`),
			asks: []query{on("ann use x", ok).with(`"media":"online"`), on("ann use x", none)},
		},
		{
			name: "a node that is nowhere", from: "W 1", says: "A reference to a missing node is an error, so no constraint is lost.",
			fault: "error reference /permission/0/constraint", doc: doc("Set",
				`"permission":[{"target":"ex:x","action":"use","constraint":{"@id":"ex:c"}}]`),
		},
		{
			name: "links from outside", from: "W 1, IM 2.2.3, 2.3.3", says: "hasPolicy, assignerOf and assigneeOf add assets and parties to every rule.",
			doc: graphOf(`{"@id":"ex:x","hasPolicy":"ex:policy/1"}`, `{"@id":"ex:org","assignerOf":"ex:policy/1"}`,
				`{"@id":"ex:ann","assigneeOf":"ex:policy/1"}`, `{"uid":"ex:policy/1","@type":"Agreement","permission":{"action":"use"}}`),
			asks: []query{on("ann use x", ok), on("bob use x", none), on("ann use y", none)},
		},
		{
			name: "inheritance adds rules", from: "W 3, IM 2.9", says: "A child policy has the permissions of its parents.",
			doc:  graphOf(`{"uid":"ex:parent","permission":{"target":"ex:x","action":"read"}}`, `{"uid":"ex:child",`+child+`}`),
			asks: []query{on("ann read x", ok), on("ann print y", ok), on("ann read y", none)},
		},
		{
			name: "inheritance adds what is shared", from: "W 3, IM 2.9", says: "The shared properties of the parent also apply to the rules of the child.",
			doc:  graphOf(`{"uid":"ex:parent","target":"ex:x","permission":{"action":"read"}}`, `{"uid":"ex:child",`+child+`}`),
			asks: []query{on("ann print x", ok), on("ann print y", ok), on("ann read y", none)},
		},
		{
			name: "inheritance nulls status", from: "IM 2.9", says: "The counts of a parent do not apply to its child.",
			doc: graphOf(`{"uid":"ex:parent","permission":{"target":"ex:x","action":"read","constraint":{"leftOperand":"count","operator":"lteq","rightOperand":10,"status":4}}}`, `{"uid":"ex:child",`+child+`}`), asks: []query{on("ann read x", ok+" limit:10/lifetime"), on("bob use x", none)},
		},
		{
			name: "inheritance in a circle", from: "IM 2.9", says: "A policy must not be its own ancestor.", fault: "error inherit-cycle /@graph/0",
			doc: graphOf(`{"uid":"ex:a","inheritFrom":"ex:b","permission":{"target":"ex:x","action":"read"}}`,
				`{"uid":"ex:b","inheritFrom":"ex:a","permission":{"target":"ex:x","action":"read"}}`),
		},
		{
			name: "a parent that is nowhere", from: "IM 2.9", says: "A missing parent is an error, so none of its prohibitions is lost.",
			fault: "error inherit /inheritFrom", doc: doc("Set", `"inheritFrom":"ex:parent"`, `"permission":[{"target":"ex:x","action":"read"}]`),
		},
		{
			name: "shared properties", from: "W 4, IM 2.7.1", says: "The action, target and parties of the policy apply to each rule.",
			doc:  doc("Set", `"action":"read"`, `"target":"ex:x"`, `"permission":[{"assignee":"ex:ann"}]`),
			asks: []query{on("ann read x", ok), on("bob read x", none)},
		},
		{
			name: "shared properties add", from: "W 4 (samples 038 to 040)", says: "A rule with its own properties has both.",
			doc:  doc("Set", `"target":"ex:x"`, `"permission":[{"target":"ex:y","action":"read"}]`),
			asks: []query{on("ann read x", ok), on("ann read y", ok), on("ann read z", none)},
		},
		{
			name: "atomic rules", from: "W 5, IM 2.7", says: "Expansion makes one rule for each action, target and party.",
			doc:  doc("Set", `"permission":[{"uid":"ex:p","action":["read","print"],"target":["ex:x","ex:y"],"assignee":["ex:ann","ex:bob"]}]`),
			asks: []query{on("ann read x", ok+" by:p"), on("bob print y", ok), on("bob play y", none), on("cleo read x", none)},
		},
		{
			name: "partOf is closed over", from: "W 6", says: "Membership in the document is transitive.",
			doc: graphOf(`{"@id":"ex:x","partOf":"ex:box"}`, `{"@id":"ex:box","partOf":"ex:room"}`,
				`{"uid":"ex:policy/1","@type":"Set","permission":{"action":"read","target":"ex:room"}}`),
			asks: []query{on("ann read x", ok), on("ann read y", none)},
		},
		{
			name: "partOf in a circle", from: "uimgate", says: "A collection must not be part of itself.", fault: "error cycle",
			doc: graphOf(`{"@id":"ex:x","partOf":"ex:y"}`, `{"@id":"ex:y","partOf":"ex:x"}`,
				`{"uid":"ex:policy/1","permission":{"action":"read","target":"ex:x"}}`),
		},
		{
			name: "isReplacedBy", from: "IM 2.8", says: "A replaced policy is void; its replacement is used.",
			fault: "warning replaced /@graph/0/dct:isReplacedBy",
			doc: graphOf(`{"uid":"ex:old","dct:isReplacedBy":{"@id":"ex:new"},"permission":{"action":"read","target":"ex:x"}}`,
				`{"uid":"ex:new","permission":{"action":"print","target":"ex:x"}}`), asks: []query{on("ann print x", ok), on("ann read x", none)},
		},
		{
			name: "isReplacedBy nowhere", from: "IM 2.8", says: "A policy whose replacement is missing permits nothing.",
			fault: "warning replaced /dct:isReplacedBy", doc: doc("Set", `"dct:isReplacedBy":{"@id":"ex:new"}`,
				`"permission":[{"action":"read","target":"ex:x"}]`), asks: []query{on("ann read x", none)},
		},
	}
}

func conflictRows() []row {
	pair := func(strategy, permission, prohibition string) string {
		return doc("Set", strategy+`"permission":[{"uid":"ex:p","target":"ex:x",`+permission+`}]`,
			`"prohibition":[{"uid":"ex:f","target":"ex:x",`+prohibition+`}]`)
	}
	const use, study = `"action":"use"`, `"action":"use","constraint":{"leftOperand":"purpose","operator":"eq","rightOperand":"study"}`
	return []row{
		{
			name: "perm", from: "IM 2.10", says: "Permissions win.", doc: pair(`"conflict":"perm",`, use, `"action":"print"`),
			fault: "warning conflict /prohibition/0", asks: []query{on("ann print x", ok+" p:Active f:Active by:p"), on("ann sell x", none)},
		},
		{
			name: "prohibit", from: "IM 2.10", says: "Prohibitions win.", doc: pair(`"conflict":"prohibit",`, use, `"action":"print"`),
			asks: []query{on("ann print x", violates+" p:Active f:Active by:f"), on("ann read x", ok)},
		},
		{
			name: "invalid", from: "IM 2.10", says: "A certain conflict makes the policy void.",
			doc: pair(`"conflict":"invalid",`, use, `"action":"print"`), fault: "error conflict /prohibition/0",
		},
		{
			name: "unset", from: "IM 2.10", says: "The default strategy is invalid.", doc: pair("", use, `"action":"print"`),
			fault: "error conflict /prohibition/0",
		},
		{
			name: "possible conflict", from: "uimgate", says: "A conflict that only some requests meet is a warning, and only these requests are denied.",
			doc: pair("", use, study), fault: "warning conflict /prohibition/0",
			asks: []query{
				on("ann use x", clashes+" by:f").with(`"purpose":"study"`), on("ann use x", ok).with(`"purpose":"sale"`),
				on("ann use x", clashes),
			},
		},
		{
			name: "certain under one condition", from: "uimgate", says: "A permission and a prohibition with the same condition are a certain conflict.",
			doc: pair("", study, study), fault: "error conflict /prohibition/0",
		},
		{
			name: "no conflict of conditions", from: "uimgate", says: "Rules whose conditions exclude one another do not conflict.",
			doc:  pair("", study, `"action":"use","constraint":{"leftOperand":"purpose","operator":"eq","rightOperand":"sale"}`),
			asks: []query{on("ann use x", ok).with(`"purpose":"study"`), on("ann use x", violates).with(`"purpose":"sale"`)},
		},
		{
			name: "narrow permission", from: "IM 2.4, 2.10", says: "A permission to play and a prohibition of use are a conflict.",
			doc: pair("", `"action":"play"`, use), fault: "error conflict /prohibition/0",
		},
		{
			name: "another action", from: "IM 2.10", says: "Rules about actions that do not include one another do not conflict.",
			doc: pair("", `"action":"play"`, `"action":"print"`), asks: []query{on("ann play x", ok), on("ann print x", violates)},
		},
		{
			name: "another party", from: "IM 2.10", says: "Rules for different parties do not conflict.",
			doc:  pair("", `"action":"play","assignee":"ex:ann"`, `"action":"play","assignee":"ex:bob"`),
			asks: []query{on("ann play x", ok), on("bob play x", violates)},
		},
		{
			name: "part of a target", from: "IM 2.2.2, 2.10", says: "A permission for a collection and a prohibition for a member of it are a conflict.",
			fault: "error conflict /@graph/1/prohibition", doc: graphOf(`{"@id":"ex:x","partOf":"ex:all"}`,
				`{"uid":"ex:policy/1","permission":{"action":"read","target":"ex:all"},"prohibition":{"action":"read","target":"ex:x"}}`),
		},
		{
			name: "several strategies", from: "IM 2.10", says: "After a merge of policies with several strategies, a conflict makes the policy void.",
			fault: "error conflict /@graph/1/prohibition",
			doc: graphOf(`{"uid":"ex:a","conflict":"perm","permission":{"action":"read","target":"ex:x"}}`,
				`{"uid":"ex:b","conflict":"prohibit","inheritFrom":"ex:a","prohibition":{"action":"read","target":"ex:x"}}`),
		},
		{
			name: "unknown strategy", from: "IM 2.10, W", says: "Without a profile, an unknown strategy is an error.",
			fault: "error unknown-term /conflict", doc: pair(`"conflict":"deny",`, use, `"action":"sell"`),
		},
		{
			name: "duty that is prohibited", from: "uimgate", says: "A duty to perform a prohibited action is reported.",
			fault: "warning duty-conflict /obligation/0", doc: doc("Set", `"obligation":[{"target":"ex:x","action":"print"}]`,
				`"prohibition":[{"target":"ex:x","action":"use"}]`),
		},
	}
}

func evaluationRows() []row {
	const alice = `"uid":"ex:p","target":"ex:x","action":"read","assignee":"ex:ann"`
	const done = `"performed":[{"party":"http://example.com/ann","action":"inform","target":"http://example.com/x","time":"2026-06-15T11:00:00Z"}]`
	with := func(more string) string { return doc("Set", `"permission":[{`+alice+more+`}]`) }
	duty := func(more string) string { return with(`,"duty":{"uid":"ex:d","action":"inform"` + more + `}`) }
	const deadline = `,"constraint":{"leftOperand":"dateTime","operator":"lt","rightOperand":{"@value":"2026-06-01","@type":"xsd:date"}}`
	remedied := doc("Set", `"permission":[{"target":"ex:x","action":"print"}]`,
		`"prohibition":[{"uid":"ex:f","target":"ex:x","action":"read","assignee":"ex:ann","remedy":{"uid":"ex:r","action":"anonymize","target":"ex:x"}}]`)
	act := func(action, at string) string {
		return `{"party":"http://example.com/ann","action":"` + action + `","target":"http://example.com/x","time":"` + at + `T00:00:00Z"}`
	}
	return []row{
		{
			name: "premises", from: "FS, TS", says: "A rule applies if its action, target and party match. The report lists those that the rule has.",
			doc: with(""), asks: []query{
				on("ann read x", ok+" p.action:Satisfied p.target:Satisfied p.party:Satisfied"),
				on("bob print y", none+" p.action:Unsatisfied p.target:Unsatisfied p.party:Unsatisfied"),
			},
		},
		{
			name: "refinements are not constraints", from: "FS B1",
			says: "A refinement that does not fit leaves the rule active and the request denied. The working group's evaluator (E14-2) calls the rule inactive; *here it differs on purpose*, and decides the same.", doc: doc("Set", `"permission":[{"uid":"ex:p","target":"ex:x","action":[{"rdf:value":{"@id":"odrl:print"},"refinement":{"leftOperand":"resolution","operator":"lteq","rightOperand":600}}]}]`),
			asks: []query{on("ann print x", ok+" p:Active").with(`"resolution":300`), on("ann print x", none+" p:Active").with(`"resolution":900`)},
		},
		{
			name: "duties fulfilled", from: "IM 2.6.5, FS", says: "By default, a permission requires that its duties are fulfilled.", doc: duty(""),
			asks: []query{on("ann read x", none+" p:Inactive d:NonSet owes:inform"), on("ann read x", ok+" p:Active d:Fulfilled").in(done)},
		},
		{
			name: "duties not violated", from: "TS 059 to 061", says: "In the other mode, only a violated duty prevents a permission.", doc: duty(""),
			asks: []query{
				on("ann read x", ok+" p:Active d:NonSet owes:inform").open(),
				on("ann read x", none+" p:Inactive d:Violated").in(`"dutyReports":[{"rule":"http://example.com/d","performanceState":"Unperformed","deonticState":"Violated"}]`).open(),
			},
		},
		{
			name: "duty inactive", from: "FS", says: "A duty that does not apply is not required.",
			doc:  duty(`,"constraint":{"leftOperand":"purpose","operator":"eq","rightOperand":"ads"}`),
			asks: []query{on("ann read x", ok+" d:Inactive").with(`"purpose":"study"`), on("ann read x", none+" d:Active").with(`"purpose":"ads"`)},
		},
		{
			name: "performed before", from: "IM 2.6.5", says: "Actions after the request do not count.", doc: duty(""),
			asks: []query{on("ann read x", none+" d:NonSet").in(done).at("2026-06-15T10:00:00Z"), on("ann read x", ok).in(done)},
		},
		{
			name: "performed by whom", from: "IM 2.6.3", says: "Actions of other parties do not count.", doc: duty(`,"assignee":"ex:bob"`),
			asks: []query{
				on("ann read x", none+" d:NonSet").in(done),
				on("ann read x", ok+" d:Fulfilled").in(`"performed":[{"party":"http://example.com/bob","action":"inform"}]`),
			},
		},
		{
			name: "deadline", from: "FS", says: "A duty is violated when it can no longer be fulfilled in time.", doc: duty(deadline),
			asks: []query{
				on("ann read x", none+" d:Violated").open(), on("ann read x", ok+" d:NonSet").open().at("2026-05-15T00:00:00Z"),
				on("ann read x", ok+" d:Fulfilled").in(`"performed":[` + act("inform", "2026-05-20") + `]`),
			},
		},
		{
			name: "consequence", from: "IM 2.6.6, FS", says: "A late duty counts as fulfilled after the duty and its consequences are fulfilled.",
			doc: duty(deadline + `,"consequence":{"uid":"ex:k","action":"acceptTracking"}`),
			asks: []query{
				on("ann read x", none+" d:Violated k:Active owes:acceptTracking"),
				on("ann read x", none+" d:Violated").in(`"performed":[` + act("inform", "2026-06-10") + `]`),
				on("ann read x", ok+" d:Fulfilled k:Fulfilled").in(`"performed":[` + act("inform", "2026-06-10") + `,` +
					act("acceptTracking", "2026-06-11") + `]`),
			},
		},
		{
			name: "prohibition infringed", from: "IM 2.6.2, 2.6.7",
			says: "A prohibited action violates the prohibition. The remedy is owed until it is performed after that action.", doc: remedied,
			asks: []query{
				on("ann print x", ok+" f:NonSet r:Inactive"), on("ann print x",
					ok+" f:Violated r:Active owes:anonymize").in(`"performed":[` + act("read", "2026-06-02") + `]`),
				on("ann print x", ok+" f:NonSet r:Fulfilled").
					in(`"performed":[` + act("read", "2026-06-02") + `,` + act("anonymize", "2026-06-03") + `]`),
				on("ann read x", violates+" f:Active"),
			},
		},
		{
			name: "closed world", from: "FS", says: "A request that no permission permits is denied.", doc: with(""),
			asks: []query{on("ann read x", ok), on("ann print x", none), on("ann read y", none), on("bob read x", none)},
		},
		{
			name: "obligations bind", from: "uimgate", says: "An obligation that a party has not fulfilled denies all requests of the party.",
			doc: doc("Set", `"permission":[{"target":"ex:x","action":"use"}]`,
				`"obligation":[{"uid":"ex:o","assignee":"ex:ann","action":"inform"}]`),
			asks: []query{on("ann use x", unmet+" by:o owes:inform"), on("bob use x", ok), on("ann use x", ok+" o:Fulfilled").in(done)},
		},
		{
			name: "payment", from: "uimgate", says: "A duty to pay is reported with its amount.",
			doc:  with(`,"duty":{"uid":"ex:d","action":[{"rdf:value":{"@id":"odrl:compensate"},"refinement":{"leftOperand":"payAmount","operator":"eq","rightOperand":"2.5","unit":"http://dbpedia.org/resource/Euro"}}]}`),
			asks: []query{on("ann read x", unpaid), on("ann read x", ok+" charge:2.50EUR owes:compensate").open()},
		},
		{
			name: "best permission", from: "uimgate",
			says: "Of several permissions the cheapest is used, then the least limited, then the first.",
			doc:  doc("Set", `"permission":[{"uid":"ex:dear","target":"ex:x","action":"read","duty":{"action":"pay","amount":"2","unit":"EUR"}},{"uid":"ex:counted","target":"ex:x","action":"read","constraint":{"leftOperand":"count","operator":"lteq","rightOperand":3}},{"uid":"ex:free","target":"ex:x","action":"read"}]`), lenient: true,
			asks: []query{on("ann read x", ok+" by:free").open(), on("ann sell x", none).open()},
		},
		{
			name: "without a party", from: "uimgate", says: "A question without a party matches only rules for every party.", doc: with(""),
			asks: []query{on("- read x", none+" p.party:Unsatisfied"), on("ann read x", ok)},
		},
		{
			name: "names are whole", from: "uimgate", says: "An IRI that is a prefix of another IRI is a different name.",
			doc: doc("Set", `"permission":[{"target":"http://example.com/api/intents","action":"use","assignee":"http://example.com"}]`),
			asks: []query{
				on("http://example.com use http://example.com/api/intents", ok),
				on("http://example.com use http://example.com/api/intents-admin", none),
				on("http://example.com use http://example.com/api/intents/one", none),
				on("http://example.com.evil.org use http://example.com/api/intents", none),
			},
		},
	}
}
