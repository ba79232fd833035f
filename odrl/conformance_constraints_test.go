package odrl_test

import "strings"

// constrained returns the members of a permission with one constraint ex:c.
func constrained(left, op, right, more string) string {
	return doc("Set", `"permission":[{"uid":"ex:p","target":"ex:x","action":"use","constraint":{"uid":"ex:c","leftOperand":"`+left+`","operator":"`+op+`","rightOperand":`+right+more+`}}]`)
}

const (
	met    = ok + " c:Satisfied p:Active"
	missed = none + " c:Unsatisfied p:Inactive"
)

func operatorRows() []row {
	var list []row
	for _, o := range []struct{ op, says, left, right, yes, no string }{
		{"eq", "equal", "purpose", `"study"`, `"study"`, `"sale"`},
		{"eq of numbers", "an equal decimal, in any notation", "percentage", `{"@value":"50.0","@type":"xsd:decimal"}`, `"5e1"`, `50.1`},
		{"neq", "not equal", "purpose", `"study"`, `"sale"`, `"study"`},
		{"lt", "less", "percentage", `50`, `49.9`, `50`},
		{"lteq", "less than or equal", "percentage", `50`, `50`, `50.00001`},
		{"gt", "greater", "percentage", `50`, `50.1`, `50`},
		{"gteq", "greater than or equal", "percentage", `50`, `50`, `49`},
		{"gt of durations", "longer", "delayPeriod", `{"@value":"PT1H","@type":"xsd:duration"}`, `"PT61M"`, `"PT60M"`},
		{"lt of versions", "an earlier version", "version", `"1.10.0"`, `"1.9.0"`, `"1.10.0"`},
		{"isA", "an instance of the class", "industry", `"bank"`, `"bank"`, ``},
		{"hasPart", "a whole with every given part", "media", `["print","online"]`, `["print","online","film"]`, ``},
		{"isPartOf", "part of the whole", "spatial", `"DE"`, `"DE-BY"`, `"FR"`},
		{"isPartOf of addresses", "inside the network", "virtualLocation", `"10.0.0.0/8"`, `"10.1.2.3"`, `"11.0.0.1"`},
		{"isAllOf", "all of the given values", "purpose", `["study","teaching"]`, `["teaching","study"]`, `["study"]`},
		{"isAnyOf", "one of the given values", "purpose", `["study","teaching"]`, `"teaching"`, `"sale"`},
		{"isNoneOf", "none of the given values", "purpose", `["sale","ads"]`, `"study"`, `["study","ads"]`},
	} {
		op, _, _ := strings.Cut(o.op, " ")
		asks := []query{on("ann use x", met).with(`"` + o.left + `":` + o.yes)}
		if o.no != "" {
			asks = append(asks, on("ann use x", missed).with(`"`+o.left+`":`+o.no))
		}
		list = append(list, row{
			name: o.op, from: "IM 2.5.1, V 4.4", says: "The constraint is satisfied if the value is " + o.says + ". Without a value, it is unknown.",
			doc:  constrained(o.left, op, o.right, ""),
			asks: append(asks, on("ann use x", missed)),
		})
	}
	prohibited := doc("Set", `"conflict":"prohibit"`, `"permission":[{"target":"ex:x","action":"use"}]`,
		`"prohibition":[{"uid":"ex:p","target":"ex:x","action":"use","constraint":{"uid":"ex:c","leftOperand":"purpose","operator":"neq","rightOperand":"study"}}]`)
	obliged := doc("Set", `"permission":[{"target":"ex:x","action":"use"}]`,
		`"obligation":[{"uid":"ex:p","action":"inform","constraint":{"uid":"ex:c","leftOperand":"purpose","operator":"eq","rightOperand":"ads"}}]`)
	list = append(list,
		row{
			name: "unknown in a permission", from: "uimgate",
			says: "In a permission, a constraint on a missing fact is unsatisfied, whatever the operator.",
			doc:  constrained("purpose", "neq", `"ads"`, ""), asks: []query{on("ann use x", missed), on("ann use x", met).with(`"purpose":"study"`)},
		},
		row{
			name: "unknown in a prohibition", from: "uimgate", says: "In a prohibition, a constraint on a missing fact is satisfied.", doc: prohibited,
			asks: []query{
				on("ann use x", violates+" c:Satisfied"), on("ann use x", violates).with(`"purpose":"ads"`),
				on("ann use x", ok+" c:Unsatisfied").with(`"purpose":"study"`),
			},
		},
		row{
			name: "unknown in an obligation", from: "uimgate", says: "An obligation with a constraint on a missing fact binds.", doc: obliged,
			asks: []query{on("ann use x", unmet+" c:Satisfied p:Active"), on("ann use x", ok+" p:Inactive").with(`"purpose":"study"`)},
		},
		row{
			name: "a value of another kind", from: "uimgate", says: "A value that cannot be compared makes the constraint unknown; it does not count as unequal.",
			doc: constrained("percentage", "neq", `50`, ""), asks: []query{
				on("ann use x", missed).with(`"percentage":"half"`),
				on("ann use x", missed).with(`"percentage":"NaN"`), on("ann use x", met).with(`"percentage":49`),
			},
		},
		row{
			name: "instants", from: "TS 048", says: "Times are compared as times, not as strings.",
			doc: constrained("dateTime", "lteq", `{"@value":"2024-12-31T23:59:59Z","@type":"xsd:dateTime"}`, ""),
			asks: []query{
				on("ann use x", met).at("2024-12-31T23:59:59.000Z"), on("ann use x", met).at("2025-01-01T00:59:59+01:00"),
				on("ann use x", missed).at("2024-12-31T23:59:59.001Z"),
			},
		},
		row{
			name: "excluded places", from: "V 4.4 (isPartOf), uimgate",
			says: "Parts of a region, a language or a domain are excluded together with it.",
			doc:  constrained("spatial", "isNoneOf", `["US","CU"]`, ""), asks: []query{
				on("ann use x", met).with(`"spatial":"DE"`), on("ann use x", missed).with(`"spatial":"US-CA"`),
				on("ann use x", missed).with(`"spatial":["DE","US-CA"]`),
			},
		},
		row{
			name: "prohibited places", from: "uimgate", says: "Parts of a region that a prohibition names are prohibited too.",
			doc: doc("Set", `"conflict":"prohibit"`, `"permission":[{"target":"ex:x","action":"use"}]`,
				`"prohibition":[{"uid":"ex:p","target":"ex:x","action":"use","constraint":{"uid":"ex:c","leftOperand":"spatial","operator":"isAnyOf","rightOperand":["US","CU"]}}]`),
			asks: []query{
				on("ann use x", ok+" c:Unsatisfied").with(`"spatial":"DE"`), on("ann use x", violates+" c:Satisfied").with(`"spatial":"US-CA"`),
			},
		},
		row{
			name: "policyUsage", from: "V 4.5 (event)", says: "odrl:policyUsage is the time of the use.",
			doc: constrained("dateTime", "eq", `{"@id":"odrl:policyUsage"}`, ""), asks: []query{on("ann use x", met), on("ann use x", missed).at("")},
		},
		row{
			name: "rightOperandReference", from: "IM 2.5.1, uimgate", says: "A reference is never fetched, so its value is unknown.",
			doc:  doc("Set", `"permission":[{"uid":"ex:p","target":"ex:x","action":"use","constraint":{"uid":"ex:c","leftOperand":"purpose","operator":"neq","rightOperandReference":"http://example.com/list"}}]`),
			asks: []query{on("ann use x", missed).with(`"purpose":"study"`)},
		},
	)
	for _, d := range []struct{ op, before, first, last, after string }{
		{"lt", met, missed, missed, missed},
		{"lteq", met, met, met, missed},
		{"eq", missed, met, met, missed},
		{"neq", met, missed, missed, met},
		{"gteq", missed, met, met, met},
		{"gt", missed, missed, missed, met},
	} {
		list = append(list, row{
			name: d.op + " a day", from: "uimgate, TS 069", says: "A date means the whole day, in UTC.",
			doc: constrained("dateTime", d.op, `{"@value":"2026-03-10","@type":"xsd:date"}`, ""),
			asks: []query{
				on("ann use x", d.before).at("2026-03-09T23:59:59.999Z"), on("ann use x", d.first).at("2026-03-10T00:00:00Z"),
				on("ann use x", d.last).at("2026-03-10T23:59:59.999Z"), on("ann use x", d.after).at("2026-03-11T00:00:00Z"),
			},
		})
	}
	return append(list, logicRows()...)
}

func logicRows() []row {
	of := func(op string) string {
		return doc("Set", `"permission":[{"uid":"ex:p","target":"ex:x","action":"use","constraint":{"uid":"ex:c","`+op+`":{"@list":[{"uid":"ex:a","leftOperand":"purpose","operator":"eq","rightOperand":"study"},{"uid":"ex:b","leftOperand":"media","operator":"eq","rightOperand":"online"}]}}}]`)
	}
	const both, first, neither = `"purpose":"study","media":"online"`, `"purpose":"study","media":"film"`, `"purpose":"ads","media":"film"`
	rows := []row{
		{name: "and", says: "All operands must be satisfied.", asks: []query{
			on("ann use x", met+" a:Satisfied b:Satisfied").with(both),
			on("ann use x", missed+" a:Satisfied b:Unsatisfied").with(first), on("ann use x", missed).with(`"purpose":"study"`),
		}},
		{
			name: "or", says: "At least one operand must be satisfied; the others may be unknown.",
			asks: []query{
				on("ann use x", met).with(both), on("ann use x", met).with(`"purpose":"study"`), on("ann use x", missed).with(neither),
				on("ann use x", missed).with(`"purpose":"ads"`),
			},
		},
		{
			name: "xone", says: "Exactly one operand must be satisfied. If one is unknown, the result is unknown.",
			asks: []query{
				on("ann use x", met).with(first), on("ann use x", missed).with(both), on("ann use x", missed).with(neither),
				on("ann use x", missed).with(`"purpose":"study"`),
			},
		},
		{
			name: "andSequence", says: "All operands must be satisfied, in order. For facts of one moment, it is the same as and.",
			asks: []query{on("ann use x", met).with(both), on("ann use x", missed).with(first)},
		},
	}
	for i := range rows {
		rows[i].from, rows[i].doc = "IM 2.5.2", of(rows[i].name)
	}
	return append(rows, row{
		name: "nested", from: "IM 2.5.2", says: "Logical constraints may be operands.",
		doc: doc("Set", `"permission":[{"uid":"ex:p","target":"ex:x","action":"use","constraint":{"uid":"ex:c","and":[{"leftOperand":"media","operator":"eq","rightOperand":"online"},{"or":[`+one("purpose", "eq", `"study"`)+`,`+one("purpose", "eq", `"ads"`)+`]}]}}]`),
		asks: []query{
			on("ann use x", met).with(both), on("ann use x", met).with(`"purpose":"ads","media":"online"`),
			on("ann use x", missed).with(first),
		},
	})
}

// operandRows has each left operand of ODRL V 4.5 and of the profile.
func operandRows() []row {
	var list []row
	for _, o := range []struct{ name, op, right, more, yes, no string }{
		{"absolutePosition", "eq", `{"@value":"10","@type":"xsd:decimal"}`, "", `10`, `11`},
		{"absoluteSpatialPosition", "eq", `10`, "", `"10.0"`, `11`},
		{"absoluteTemporalPosition", "gteq", `10`, "", `10`, `9`},
		{
			"absoluteSize", "lteq", `{"@value":"10","@type":"xsd:decimal"}`, `,"unit":"cm"`, `{"@value":"99","unit":"mm"}`,
			`{"@value":"1","unit":"m"}`,
		},
		{"relativePosition", "lteq", `50`, "", `50`, `51`},
		{"relativeSize", "lteq", `50`, "", `49`, `51`},
		{"relativeSpatialPosition", "eq", `20`, "", `20`, `21`},
		{"relativeTemporalPosition", "lt", `20`, "", `19`, `20`},
		{"delayPeriod", "gteq", `{"@value":"PT1H","@type":"xsd:duration"}`, "", `"PT2H"`, `"PT59M"`},
		{"deliveryChannel", "eq", `"mobile"`, "", `"mobile"`, `"web"`},
		{"elapsedTime", "lteq", `{"@value":"P30D","@type":"xsd:duration"}`, "", `"P30D"`, `"P31D"`},
		{"event", "gt", `{"@id":"ex:fair"}`, "", `{"http://example.com/fair":"after"}`, `{"http://example.com/fair":"during"}`},
		{"fileFormat", "eq", `"application/pdf"`, "", `"application/pdf"`, `"text/plain"`},
		{"industry", "eq", `"bank"`, "", `"bank"`, `"farm"`},
		{"language", "isPartOf", `"en"`, "", `"en-GB"`, `"fr"`},
		{"media", "eq", `"online"`, "", `"online"`, `"print"`},
		{"meteredTime", "lteq", `{"@value":"PT10H","@type":"xsd:duration"}`, "", `"PT9H"`, `"PT11H"`},
		{
			"payAmount", "lteq", `{"@value":"5.00","@type":"xsd:decimal"}`, `,"unit":"http://dbpedia.org/resource/Euro"`, `"4.99 EUR"`,
			`"5.01 EUR"`,
		},
		{"percentage", "lteq", `50`, "", `50`, `51`},
		{"product", "eq", `"paper"`, "", `"paper"`, `"tablet"`},
		{"purpose", "eq", `{"@id":"ex:study"}`, "", `"http://example.com/study"`, `"http://example.com/study-ads"`},
		{"recipient", "eq", `{"@id":"ex:bob"}`, "", `"ex:bob"`, `"ex:bobby"`},
		{"resolution", "lteq", `1200`, "", `600`, `2400`},
		{"spatial", "isPartOf", `{"@id":"https://www.wikidata.org/wiki/Q183"}`, "", `"DE-BY"`, `"FR"`},
		{"spatialCoordinates", "eq", `"48.1,11.5"`, "", `"48.1,11.5"`, `"48.2,11.5"`},
		{"systemDevice", "eq", `{"@id":"ex:laptop"}`, "", `"ex:laptop"`, `"ex:phone"`},
		{"timeInterval", "eq", `{"@value":"P7D","@type":"xsd:duration"}`, "", `"P1W"`, `"P6D"`},
		{"unitOfCount", "eq", `"perUser"`, "", `"perUser"`, `"perDevice"`},
		{"version", "gteq", `"2.0"`, "", `"2.1.0"`, `"1.9"`},
		{"virtualLocation", "isPartOf", `"example.com"`, "", `"api.example.com"`, `"example.com.evil.org"`},
	} {
		list = append(list, row{
			name: o.name, from: "V 4.5", says: "A value of the context is compared. Without a value, the constraint is unknown.",
			doc: constrained(o.name, o.op, o.right, o.more),
			asks: []query{
				on("ann use x", met).with(`"` + o.name + `":` + o.yes), on("ann use x", missed).with(`"` + o.name + `":` + o.no),
				on("ann use x", missed),
			},
		})
	}
	for _, s := range []string{"device", "system"} {
		list = append(list, row{
			name: s, from: "V 4.6 (deprecated)", says: "The operand is read as systemDevice.", doc: constrained(s, "eq", `{"@id":"ex:laptop"}`, ""),
			fault: "warning deprecated /permission/0/constraint/leftOperand",
			asks:  []query{on("ann use x", met).with(`"systemDevice":"ex:laptop"`), on("ann use x", missed).with(`"systemDevice":"ex:phone"`)},
		})
	}
	return append(list,
		row{
			name: "dateTime", from: "V 4.5", says: "The time in the state of the world takes precedence over the time in the question.",
			doc: constrained("dateTime", "lt", `{"@value":"2026-07-01","@type":"xsd:date"}`, ""),
			asks: []query{
				on("ann use x", met), on("ann use x", missed).at("2026-07-01T00:00:00Z"), on("ann use x", missed).at(""),
				on("ann use x", missed).with(`"dateTime":"2026-01-01T00:00:00Z"`).at("2026-08-01T00:00:00Z"),
			},
		},
		row{
			name: "count", from: "V 4.5", says: "A maximum of uses is reported as a limit, and compared if the question has a count.",
			doc: constrained("count", "lteq", `{"@value":"5","@type":"xsd:integer"}`, ""),
			asks: []query{
				on("ann use x", ok+" limit:5/lifetime"), on("ann use x", ok).with(`"count":5`),
				on("ann use x", "QUOTA_EXCEEDED").with(`"count":6`),
			},
		},
		row{
			name: "rateLimit", from: "UIM 6.2", says: "rateLimit limits the uses per period.",
			doc: constrained("uim:rateLimit", "lteq", `5`, `,"unit":"uim:hour"`), fault: "warning profile-term /permission/0/constraint/leftOperand",
			asks: []query{on("ann use x", ok+" limit:5/hour"), on("ann use x", "RATE_LIMIT_EXCEEDED").with(`"rateLimit":6`)},
		},
		row{
			name: "a limit without its period", from: "uimgate",
			says: "A limit without a period permits nothing, whatever the count is.",
			doc:  constrained("uim:rateLimit", "lteq", `5`, ""), fault: "warning unit /permission/0/constraint",
			asks: []query{on("ann use x", missed), on("ann use x", missed).with(`"rateLimit":3`)},
		},
		row{
			name: "a limit the wrong way round", from: "V 4.5, uimgate",
			says: "A count that limits no use is compared if the question has a count; otherwise it is unknown.",
			doc:  constrained("count", "gteq", `5`, ""), fault: "warning limit /permission/0/constraint",
			asks: []query{on("ann use x", missed), on("ann use x", met).with(`"count":5`), on("ann use x", missed).with(`"count":4`)},
		},
		row{
			name: "timeWindow", from: "UIM 6.2", says: "The time must be inside the window.",
			doc: constrained("uim:timeWindow", "within", `{"start":"2026-06-01T00:00:00Z","end":"2026-06-30T00:00:00Z"}`, ""), lenient: true,
			asks: []query{on("ann use x", ok), on("ann use x", none).at("2026-07-30T00:00:00Z")},
		},
		row{
			name: "unknown left operand", from: "IM 3.2, W", says: "An unknown left operand without a profile is an error.",
			doc: constrained("ex:mood", "eq", `"good"`, ""), fault: "error unknown-term /permission/0/constraint/leftOperand",
		},
		row{
			name: "a left operand of a profile", from: "IM 3.3", says: "If its profile is known, a left operand is compared by the type of its values.", profiles: known,
			doc:  strings.Replace(constrained("ex:level", "gt", `{"@value":"9","@type":"xsd:integer"}`, ""), `"uid"`, trade+`,"uid"`, 1),
			asks: []query{on("ann use x", met).with(`"ex:level":10`), on("ann use x", missed).with(`"ex:level":8`), on("ann use x", missed)},
		},
	)
}
