package odrl_test

// The examples of ODRL IM 2.2. The profile in them is not defined anywhere, so the tests pass it as known.
var known = []string{"http://profiles.example/trade"}

const trade = `"profile":"http://profiles.example/trade"`

func exampleRows() []row {
	const (
		film    = `"target":"ex:film/7","action":"play"`
		studio  = `"assigner":"ex:studio"`
		euro    = `"unit":"http://dbpedia.org/resource/Euro"`
		late    = "2018-03-01T00:00:00Z"
		inTime  = "2017-11-05T10:00:00Z"
		murphy  = `{"@type":"vcard:Individual","@id":"ex:mina","vcard:fn":"Mina","odrl:partOf":"ex:crew/A"}`
		billie  = `{"@type":"vcard:Individual","@id":"ex:bela","vcard:fn":"Bela","odrl:assigneeOf":"ex:offer"}`
		report  = `{"@type":"dc:Document","@id":"ex:report/1","dc:title":"A year","odrl:partOf":"ex:papers"}`
		musical = `{"@type":"dc:MovingImage","@id":"ex:film/8","dc:title":"A musical","odrl:hasPolicy":"ex:set"}`
	)
	pay := func(amount string) string {
		return `"action":[{"rdf:value":{"@id":"odrl:compensate"},"refinement":[{"leftOperand":"payAmount","operator":"eq","rightOperand":{"@value":"` + amount + `","@type":"xsd:decimal"},` + euro + `}]}]`
	}
	printed := func(value string) string {
		return `{"@type":"Constraint","uid":"ex:c/` + value + `","leftOperand":"media","operator":"eq","rightOperand":{"@value":"` + value + `","@type":"xsd:string"}}`
	}
	return []row{
		{
			name: "01 Set", from: "IM 2.1.1", says: "A Set permits the actions that it names and no others.", doc: doc("Set", `"permission":[{`+film+`}]`),
			asks: []query{on("ann play film/7", ok), on("ann print film/7", none), on("ann play film/8", none)},
		},
		{
			name: "02 Offer", from: "IM 2.1.2", says: "An Offer is a proposal: it grants nothing until it is accepted.", profiles: known,
			doc:  doc("Offer", trade, `"permission":[{`+film+`,`+studio+`}]`),
			asks: []query{on("ann play film/7", none), on("ann play film/7", ok).taken(), on("ann print film/7", none).taken()},
		},
		{
			name: "03 Agreement", from: "IM 2.1.3", says: "An Agreement grants to its assignee.", profiles: known,
			doc:  doc("Agreement", trade, `"permission":[{`+film+`,`+studio+`,"assignee":"ex:bela"}]`),
			asks: []query{on("bela play film/7", ok), on("ann play film/7", none)},
		},
		{
			name: "04 target", from: "IM 2.2.1", says: "The target is the asset on which the action is performed.", profiles: known,
			doc:  doc("Offer", trade, `"permission":[{"target":"ex:plan/3","action":"display","assigner":"ex:office"}]`),
			asks: []query{on("ann display plan/3", ok).taken(), on("ann display plan/33", none).taken()},
		},
		{
			name: "05 another relation", from: "IM 2.2.1",
			says: "A relation of a profile names another asset; the rule still applies to the target.", profiles: known,
			doc: doc("Set", trade,
				`"permission":[{"target":{"@type":"AssetCollection","uid":"ex:papers"},"action":"index","ex:summary":"ex:database"}]`),
			asks: []query{on("ann index papers", ok), on("ann index database", none)},
		},
		{
			name: "06 partOf of an asset", from: "IM 2.2.2", says: "A part of a collection is a target of the rules for the collection.",
			doc: graphOf(report, `{"uid":"ex:set","@type":"Set","permission":[{"target":{"@type":"AssetCollection","uid":"ex:papers"},"action":"index"}]}`),
			asks: []query{
				on("ann index report/1", ok), on("ann index report/2", none),
				on("ann index report/2", ok).in(`"partOf":[{"member":"http://example.com/report/2","collection":"http://example.com/papers"}]`),
			},
		},
		{
			name: "07 hasPolicy", from: "IM 2.2.3", says: "An asset that has a policy is the target of every rule of the policy.",
			doc:  graphOf(musical, `{"uid":"ex:set","@type":"Set","permission":[{"action":"play"}]}`),
			asks: []query{on("ann play film/8", ok), on("ann play film/9", none)},
		},
		{
			name: "08 party functions", from: "IM 2.3.1", says: "The assigner grants the permission to the assignee.", profiles: known,
			doc:  doc("Agreement", trade, `"permission":[{"target":"ex:song/1","assigner":"ex:label","assignee":"ex:bela","action":"play"}]`),
			asks: []query{on("bela play song/1", ok), on("label play song/1", none)},
		},
		{
			name: "09 parties described", from: "IM 2.3.1",
			says: "Parties may be described with another vocabulary; a collection represents its members.", profiles: known,
			doc: doc("Agreement", trade, `"permission":[{"target":"ex:book/1","assigner":{"@type":["Party","vcard:Organization"],"uid":"ex:press","vcard:fn":"The Press","vcard:hasEmail":"press@example.com"},
				"assignee":{"@type":["PartyCollection","vcard:Group"],"uid":"ex:crew/A","vcard:fn":"Crew A"},"action":"use"}]`),
			asks: []query{
				on("crew/A read book/1", ok), on("mina read book/1", none),
				on("mina read book/1", ok).in(`"partOf":[{"member":"http://example.com/mina","collection":"http://example.com/crew/A"}]`),
			},
		},
		{
			name: "10 partOf of a party", from: "IM 2.3.2", says: "A member of a collection has the collection's function in a rule.",
			doc:  graphOf(murphy, `{"uid":"ex:agreement","@type":"Agreement","permission":[{"target":"ex:book/1","action":"use","assigner":"ex:press","assignee":"ex:crew/A"}]}`),
			asks: []query{on("mina read book/1", ok), on("nora read book/1", none)},
		},
		{
			name: "11 assigneeOf", from: "IM 2.3.3", says: "The assignee of a policy is the assignee of every rule of the policy.",
			doc:  graphOf(billie, `{"uid":"ex:offer","@type":"Set","permission":[{"target":"ex:film/7","action":"play","assigner":"ex:studio"}]}`),
			asks: []query{on("bela play film/7", ok), on("ann play film/7", none)},
		},
		{
			name: "12 action", from: "IM 2.4", says: "An action is permitted by its name.", profiles: known,
			doc:  doc("Offer", trade, `"permission":[{"target":"ex:song/2","assigner":"ex:label","action":"play"}]`),
			asks: []query{on("ann play song/2", ok).taken(), on("ann use song/2", none).taken()},
		},
		{
			name: "13 constraint of a rule", from: "IM 2.5.3", says: "A rule applies while its constraint is satisfied.", profiles: known,
			doc: doc("Offer", trade,
				`"permission":[{"target":"ex:paper/4","assigner":"ex:org","action":"distribute","constraint":[{"leftOperand":"dateTime","operator":"lt","rightOperand":{"@value":"2018-01-01","@type":"xsd:date"}}]}]`),
			asks: []query{on("ann distribute paper/4", ok).at(inTime).taken(), on("ann distribute paper/4", none).at(late).taken()},
		},
		{
			name: "14 refinement of an action", from: "IM 2.5.4", says: "Printing is permitted within its refinement only.", profiles: known,
			doc: doc("Offer", trade, `"permission":[{"target":"ex:paper/4","assigner":"ex:org","action":[{"rdf:value":{"@id":"odrl:print"},"refinement":[{"leftOperand":"resolution","operator":"lteq",
				"rightOperand":{"@value":"1200","@type":"xsd:integer"},"unit":"http://dbpedia.org/resource/Dots_per_inch"}]}]}]`),
			asks: []query{
				on("ann print paper/4", ok).with(`"resolution":600`).taken(),
				on("ann print paper/4", none).with(`"resolution":2400`).taken(), on("ann print paper/4", none).taken(),
			},
		},
		{
			name: "15 logical constraint", from: "IM 2.5.4", says: "Exactly one of two constraints must be satisfied; both are defined elsewhere in the document.", profiles: known,
			doc: graphOf(`{"uid":"ex:offer","@type":"Offer",`+trade+`,"permission":[{"target":"ex:book/9","assigner":"ex:press","action":[{"rdf:value":{"@id":"odrl:reproduce"},"refinement":{"xone":{"@list":[{"@id":"ex:c/online"},{"@id":"ex:c/paper"}]}}}]}]}`,
				printed("online"), printed("paper")),
			asks: []query{
				on("ann reproduce book/9", ok).with(`"media":"online"`).taken(),
				on("ann reproduce book/9", ok).with(`"media":"paper"`).taken(), on("ann reproduce book/9", none).with(`"media":"film"`).taken(),
			},
		},
		{
			name: "16 refinement of assets", from: "IM 2.5.5", says: "The target is the members of the collection that satisfy the refinement.", profiles: known,
			doc: doc("Offer", trade, `"permission":[{"assigner":"ex:studio","target":{"@type":"AssetCollection","source":"ex:catalogue","refinement":[{"leftOperand":"ex:runningTime","operator":"lt",
				"rightOperand":{"@value":"60","@type":"xsd:integer"},"unit":"http://qudt.org/vocab/unit/MinuteTime"}]},"action":"play"}]`),
			asks: []query{
				on("ann play film/7",
					ok).with(`"ex:runningTime":45`).in(`"partOf":[{"member":"http://example.com/film/7","collection":"http://example.com/catalogue"}]`).taken(),
				on("ann play film/7",
					none).with(`"ex:runningTime":90`).in(`"partOf":[{"member":"http://example.com/film/7","collection":"http://example.com/catalogue"}]`).taken(),
				on("ann play film/7", none).with(`"ex:runningTime":45`).taken(),
			},
		},
		{
			name: "17 refinement of parties", from: "IM 2.5.6", says: "The assignees are the members of the collection that satisfy the refinement.", profiles: known,
			doc: doc("Agreement", trade, `"permission":[{"target":"ex:album/5","assigner":"ex:ann","assignee":{"@type":"PartyCollection","source":"ex:ann/friends","refinement":[{"leftOperand":"foaf:age","operator":"gt",
				"rightOperand":{"@value":"17","@type":"xsd:integer"}}]},"action":"display"}]`),
			asks: []query{
				on("bela display album/5",
					ok).with(`"foaf:age":18`).in(`"partOf":[{"member":"http://example.com/bela","collection":"http://example.com/ann/friends"}]`),
				on("bela display album/5",
					none).with(`"foaf:age":17`).in(`"partOf":[{"member":"http://example.com/bela","collection":"http://example.com/ann/friends"}]`),
				on("cleo display album/5", none).with(`"foaf:age":40`),
			},
		},
		{
			name: "18 Permission", from: "IM 2.6.1", says: "A permission until the end of a day holds on that day.", profiles: known,
			doc: doc("Offer", trade,
				`"permission":[{"target":"ex:game/6","assigner":"ex:studio","action":"play","constraint":[{"leftOperand":"dateTime","operator":"lteq","rightOperand":{"@value":"2017-12-31","@type":"xsd:date"}}]}]`),
			asks: []query{
				on("ann play game/6", ok).at("2017-12-31T23:59:59Z").taken(),
				on("ann play game/6", none).at("2018-01-01T00:00:00Z").taken(),
			},
		},
		{
			name: "19 Prohibition", from: "IM 2.6.2", says: "Display is permitted, and archive is not. Under the policy's strategy, a permission would win over a prohibition.",
			profiles: known,
			doc: doc("Agreement", trade, `"conflict":"perm"`,
				`"permission":[{"target":"ex:album/5","action":"display","assigner":"ex:pix","assignee":"ex:bela"}]`,
				`"prohibition":[{"target":"ex:album/5","action":"archive","assigner":"ex:pix","assignee":"ex:bela"}]`),
			asks: []query{on("bela display album/5", ok), on("bela archive album/5", violates)},
		},
		{
			name: "20 obligation", from: "IM 2.6.4", says: "An obligation binds its assignee, whatever the policy permits.", profiles: known,
			doc: doc("Agreement", trade, `"obligation":[{"uid":"ex:o","assigner":"ex:org","assignee":"ex:bela",`+pay("500.00")+`}]`),
			asks: []query{
				on("bela use paper/4", unpaid+" o:NonSet charge:500.00EUR owes:compensate"),
				on("bela use paper/4",
					none+" o:Fulfilled").in(`"performed":[{"party":"http://example.com/bela","action":"compensate","context":{"payAmount":"500.00 EUR"}}]`),
			},
		},
		{
			name: "21 consequence of an obligation", from: "IM 2.6.4", says: "An obligation that was not fulfilled in time is owed together with its consequence.",
			profiles: known,
			doc: doc("Agreement", trade, `"assigner":"ex:org"`, `"assignee":"ex:bela"`,
				`"obligation":[{"uid":"ex:o","action":"delete","target":"ex:paper/4","consequence":[{"uid":"ex:k",`+pay("10.00")+`,"compensatedParty":"ex:charity"}]}]`),
			asks: []query{
				on("bela use paper/4", unmet+" o:NonSet k:Inactive"),
				on("bela use paper/4",
					unmet+" o:Violated k:Active owes:compensate owes:delete").in(`"dutyReports":[{"rule":"http://example.com/o","deonticState":"Violated"}]`),
				on("bela use paper/4",
					none+" o:Fulfilled k:Inactive").in(`"performed":[{"party":"http://example.com/bela","action":"delete","target":"http://example.com/paper/4"}]`),
			},
		},
		{
			name: "22 duty", from: "IM 2.6.5", says: "The duty must be fulfilled before the permission is used.", profiles: known,
			doc: doc("Offer", trade,
				`"permission":[{"uid":"ex:p","assigner":"ex:label","target":"ex:song/1","action":"play","duty":[{"uid":"ex:d",`+pay("5.00")+`,"constraint":[{"leftOperand":"event","operator":"lt","rightOperand":{"@id":"odrl:policyUsage"}}]}]}]`),
			asks: []query{
				on("ann play song/1", unpaid+" p:Inactive d:NonSet").taken(),
				on("ann play song/1",
					ok+" p:Active d:Fulfilled").in(`"performed":[{"party":"http://example.com/ann","action":"compensate","time":"2026-06-15T11:00:00Z","context":{"payAmount":"5.00 EUR"}}]`).taken(),
				on("ann play song/1", ok+" d:NonSet charge:5.00EUR").open().taken(),
			},
		},
		{
			name: "23 consequence of a duty", from: "IM 2.6.6", says: "A duty that was violated is fulfilled together with its consequence.",
			profiles: known,
			doc: doc("Agreement", trade, `"permission":[{"uid":"ex:p","target":"ex:data/7","assigner":"ex:org","assignee":"ex:bela","action":"distribute","duty":[{"uid":"ex:d","action":"attribute","attributedParty":"ex:state",
				"consequence":[{"uid":"ex:k","action":"acceptTracking","trackingParty":"ex:dept"}]}]}]`),
			asks: []query{
				on("bela distribute data/7", none+" d:NonSet k:Inactive"),
				on("bela distribute data/7", ok+" d:Fulfilled k:Inactive").in(`"performed":[{"party":"http://example.com/bela","action":"attribute"}]`),
				on("bela distribute data/7",
					none+" d:Violated k:Active owes:acceptTracking").in(`"dutyReports":[{"rule":"http://example.com/d","deonticState":"Violated"}]`),
			},
		},
		{
			name: "24 remedy", from: "IM 2.6.7", says: "A party that performed a prohibited action owes the remedy.", profiles: known,
			doc: doc("Agreement", trade,
				`"prohibition":[{"uid":"ex:f","target":"ex:data/7","assigner":"ex:ann","assignee":"ex:org","action":"index","remedy":[{"uid":"ex:r","action":"anonymize","target":"ex:data/7"}]}]`),
			asks: []query{
				on("org index data/7", violates+" f:Active f:NonSet r:Inactive"),
				on("org index data/7",
					violates+" f:Violated r:Active owes:anonymize").in(`"performed":[{"party":"http://example.com/org","action":"index","target":"http://example.com/data/7","time":"2026-06-01T00:00:00Z"}]`),
				on("org read data/7", none),
			},
		},
		{
			name: "25 atomic rule", from: "IM 2.7", says: "A rule with one asset, one action and one party cannot be divided.",
			profiles: known, doc: doc("Policy", trade, `"permission":[{"target":"ex:song/1","assigner":"ex:label","action":"play"}]`),
			asks: []query{on("ann play song/1", ok), on("ann stream song/1", none)},
		},
		{
			name: "26 rule of several", from: "IM 2.7", says: "A rule with two assets and two actions becomes four rules.", profiles: known,
			doc: doc("Policy", trade, `"permission":[{"target":["ex:song/1","ex:song/2"],"assigner":"ex:label","action":["play","stream"]}]`),
			asks: []query{
				on("ann play song/1", ok), on("ann stream song/1", ok), on("ann play song/2", ok), on("ann stream song/2", ok),
				on("ann print song/2", none),
			},
		},
		{
			name: "27 the four atomic rules", from: "IM 2.7", says: "The four rules written separately permit the same.", profiles: known,
			doc: doc("Policy", trade, `"permission":[{"target":"ex:song/1","assigner":"ex:label","action":"play"},{"target":"ex:song/1","assigner":"ex:label","action":"stream"},{"target":"ex:song/2","assigner":"ex:label","action":"play"},
				{"target":"ex:song/2","assigner":"ex:label","action":"stream"}]`),
			asks: []query{
				on("ann play song/1", ok), on("ann stream song/1", ok), on("ann play song/2", ok), on("ann stream song/2", ok),
				on("ann print song/2", none),
			},
		},
		{
			name: "28 compact policy", from: "IM 2.7.1", says: "A property that all rules share is written once, in the policy.", profiles: known,
			doc: doc("Policy", trade, `"target":"ex:song/1"`, `"assigner":"ex:label"`, `"action":"play"`,
				`"permission":[{"assignee":"ex:bela"},{"assignee":"ex:mina"}]`),
			asks: []query{on("bela play song/1", ok), on("mina play song/1", ok), on("nora play song/1", none)},
		},
		{
			name: "29 expanded policy", from: "IM 2.7.1", says: "With the property copied into each rule, the policy permits the same.", profiles: known,
			doc: doc("Policy", trade, `"permission":[{"assignee":"ex:bela","target":"ex:song/1","assigner":"ex:label","action":"play"},
				{"assignee":"ex:mina","target":"ex:song/1","assigner":"ex:label","action":"play"}]`),
			asks: []query{on("bela play song/1", ok), on("mina play song/1", ok), on("nora play song/1", none)},
		},
		{
			name: "30 metadata", from: "IM 2.8", says: "Metadata does not affect decisions.", profiles: known,
			doc: doc("Policy", trade, `"dc:creator":"The Label"`, `"dc:description":"For everyone"`, `"dc:issued":"2017-01-01T12:00"`,
				`"dc:coverage":{"@id":"https://www.iso.org/obp/ui/#iso:code:3166:AU-QLD"}`, `"dc:replaces":{"@id":"ex:policy/0"}`,
				`"permission":[{`+film+`}]`),
			asks: []query{on("ann play film/7", ok), on("ann print film/7", none)},
		},
		{
			name: "31 parent policy", from: "IM 2.9", says: "The parent policy alone: every party owes the review.", profiles: known,
			doc: doc("Policy", trade, `"assigner":"ex:org"`, `"obligation":[{"uid":"ex:o","target":"ex:terms","action":"reviewPolicy"}]`),
			asks: []query{
				on("bela display plan/3", unmet+" o:NonSet"),
				on("bela display plan/3",
					none+" o:Fulfilled").in(`"performed":[{"party":"http://example.com/bela","action":"reviewPolicy","target":"http://example.com/terms"}]`),
			},
		},
		{
			name: "32 child policy", from: "IM 2.9", says: "The child has its own rules and shared properties, and those of its parent.", profiles: known,
			doc: graphOf(`{"uid":"ex:parent","@type":"Policy",`+trade+`,"assigner":"ex:org","obligation":[{"uid":"ex:o","target":"ex:terms","action":"reviewPolicy"}]}`,
				`{"uid":"ex:child","@type":"Agreement",`+trade+`,"inheritFrom":"ex:parent","assignee":"ex:bela","permission":[{"target":"ex:plan/3","action":"display"}]}`),
			asks: []query{
				on("bela display plan/3", unmet), on("bela display plan/3",
					ok).in(`"performed":[{"party":"http://example.com/bela","action":"reviewPolicy","target":"http://example.com/terms"}]`),
				on("ann display plan/3", none),
			},
		},
		{
			name: "33 the child made atomic", from: "IM 2.9", says: "The child written as atomic rules decides the same.", profiles: known,
			doc: doc("Agreement", trade, `"permission":[{"target":"ex:plan/3","action":"display","assigner":"ex:org","assignee":"ex:bela"}]`,
				`"obligation":[{"target":"ex:terms","action":"reviewPolicy","assigner":"ex:org","assignee":"ex:bela"}]`),
			asks: []query{
				on("bela display plan/3", unmet), on("bela display plan/3",
					ok).in(`"performed":[{"party":"http://example.com/bela","action":"reviewPolicy","target":"http://example.com/terms"}]`),
				on("ann display plan/3", none),
			},
		},
		{
			name: "34 two policies of one strategy", from: "IM 2.10",
			says: "Merged under perm, the permission of use wins over the prohibition of print.", profiles: known,
			doc: graphOf(`{"uid":"ex:one","@type":"Policy",`+trade+`,"conflict":"perm","permission":[{"target":"ex:asset","action":"use","assigner":"ex:ann"}]}`,
				`{"uid":"ex:two","@type":"Policy",`+trade+`,"conflict":"perm","inheritFrom":"ex:one","permission":[{"target":"ex:asset","action":"display","assigner":"ex:bela"}],"prohibition":[{"target":"ex:asset","action":"print"}]}`),
			asks: []query{on("cleo print asset", ok), on("cleo sell asset", none)},
		},
		{
			name: "35 two strategies", from: "IM 2.10", says: "After a merge of perm and prohibit, a conflict makes the policy void.", profiles: known,
			fault: "error conflict /@graph/1/prohibition/0",
			doc: graphOf(`{"uid":"ex:one","@type":"Policy",`+trade+`,"conflict":"perm","permission":[{"target":"ex:asset","action":"use","assigner":"ex:ann"}]}`,
				`{"uid":"ex:two","@type":"Policy",`+trade+`,"conflict":"prohibit","inheritFrom":"ex:one","permission":[{"target":"ex:asset","action":"display","assigner":"ex:bela"}],"prohibition":[{"target":"ex:asset","action":"print"}]}`),
		},
		{
			name: "36 unknown profile", from: "IM 3.2", says: "An unknown profile makes the document invalid.",
			fault: "error unknown-profile /profile", doc: doc("Set", trade, `"permission":[{`+film+`}]`),
		},
	}
}
