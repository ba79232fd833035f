package odrl_test

import "strings"

// readingRows covers each point of the JSON-LD serialization.
func readingRows() []row {
	ctx := func(context, members string) string { return `{"@context":` + context + `,` + members + `}` }
	const (
		odrlContext = `"http://www.w3.org/ns/odrl.jsonld"`
		plain       = `"uid":"http://example.com/policy/1","type":"Set","permission":[{"target":"http://example.com/x","action":"play"}]`
		long        = "http://www.w3.org/ns/odrl/2/"
	)
	both := []query{on("ann play x", ok), on("ann print x", none)}
	permitting := func(members string) string { return doc("Set", `"permission":[{"uid":"ex:p",`+members+`}]`) }
	playing := func(action string) string { return permitting(`"target":"ex:x","action":` + action) }
	const small = `"refinement":[{"leftOperand":"resolution","operator":"lteq","rightOperand":600}]`
	refined := []query{on("ann print x", ok).with(`"resolution":300`), on("ann print x", none).with(`"resolution":900`)}
	list := []row{
		{name: "uid and type", says: "uid is read as @id, and type as @type.", doc: ctx(odrlContext, plain), asks: both},
		{name: "@id and @type", says: "@id and @type are read.", doc: ctx(odrlContext,
			`"@id":"http://example.com/policy/1","@type":"Set","permission":[{"target":"http://example.com/x","action":"play"}]`), asks: both},
		{
			name: "id", says: "id is read as @id, although the context has no such alias.",
			doc: ctx(odrlContext, strings.Replace(plain, `"uid"`, `"id"`, 1)), asks: both,
		},
		{
			name: "prefixed keys", says: "Keys with the prefix odrl: are the same as keys without it.",
			doc: ctx(odrlContext, `"odrl:uid":"http://example.com/policy/1","@type":"odrl:Set","odrl:permission":[{"odrl:target":{"@id":"http://example.com/x"},"odrl:action":{"@id":"odrl:play"}}]`), asks: both,
		},
		{
			name: "expanded keys", says: "Full IRIs with @value and @id, as in expanded JSON-LD, are read too.",
			doc: `{"@id":"http://example.com/policy/1","@type":["` + long + `Set"],"` + long + `permission":[{"` + long + `target":[{"@id":"http://example.com/x"}],"` + long + `action":[{"@id":"` + long + `play"}]}]}`, asks: both,
		},
		{
			name: "https context", says: "The https address of the context means the same context.", doc: ctx(`"https://www.w3.org/ns/odrl.jsonld"`, plain),
			asks: both,
		},
		{
			name: "own prefixes", says: "Prefixes of the inline context are applied.",
			doc: ctx(`[`+odrlContext+`,{"my":"http://example.com/"}]`, strings.Replace(plain, `"http://example.com/x"`, `"my:x"`, 1)), asks: both,
		},
		{
			name: "one or many", says: "A list with one element is read as that element.", doc: doc("Set", `"permission":{"target":["ex:x"],"action":["play"]}`),
			asks: both,
		},
		{
			name: "@set and @list", says: "Sets and lists are read as lists.",
			doc: doc("Set", `"permission":{"@set":[{"target":{"@set":["ex:x"]},"action":{"@list":["play"]}}]}`), asks: both,
		},
		{
			name: "@graph", says: "A document may contain several nodes that refer to one another.",
			doc:  graphOf(`{"uid":"ex:p","target":"ex:x","action":"play"}`, `{"uid":"ex:policy/1","@type":"Set","permission":{"@id":"ex:p"}}`),
			asks: both,
		},
		{name: "action words", says: "An action may be a word.", doc: playing(`"play"`), asks: both},
		{name: "action prefixed", says: "An action may have a prefix.", doc: playing(`"odrl:play"`), asks: both},
		{name: "action IRI", says: "An action may be an IRI.", doc: playing(`"` + long + `play"`), asks: both},
		{name: "action @id", says: "An action may be an object with @id.", doc: playing(`{"@id":"odrl:play"}`), asks: both},
		{name: "action id", says: "An action may be an object with id.", doc: playing(`[{"id":"play"}]`), asks: both},
		{
			name: "rdf:value", says: "A refined action may have its name in rdf:value.",
			doc: playing(`[{"rdf:value":{"@id":"odrl:print"},` + small + `}]`), asks: refined,
		},
		{name: "refinement beside @id", says: "A refined action may have its name in @id.", doc: playing(`{"@id":"odrl:print",` + small + `}`), asks: refined},
		{
			name: "value objects", says: "@value and @type are read, and type is read as @type.",
			doc: permitting(`"target":"ex:x","action":"print","constraint":{"leftOperand":"resolution","operator":"lteq","rightOperand":{"type":"xsd:integer","@value":"600"}}`), asks: refined,
		},
		{
			name: "numbers as strings", says: "A numeric string is read as a number.",
			doc:  permitting(`"target":"ex:x","action":"print","constraint":{"leftOperand":"resolution","operator":"lteq","rightOperand":"600"}`),
			asks: []query{on("ann print x", ok).with(`"resolution":"300.0"`), on("ann print x", none).with(`"resolution":"1e3"`)},
		},
		{
			name: "numbers exactly", says: "Decimals are compared without rounding.",
			doc:  permitting(`"target":"ex:x","action":"print","constraint":{"leftOperand":"resolution","operator":"lt","rightOperand":0.30000000000000000001}`),
			asks: []query{on("ann print x", ok).with(`"resolution":0.3`), on("ann print x", none).with(`"resolution":0.30000000000000000001`)},
		},
		{
			name: "unit as a string", says: "According to the context, a unit is a string; it is read as an IRI.",
			doc:  permitting(`"target":"ex:x","action":"print","constraint":{"leftOperand":"payAmount","operator":"lteq","rightOperand":"5","unit":"http://dbpedia.org/resource/Euro"}`),
			asks: []query{on("ann print x", ok).with(`"payAmount":"5 EUR"`), on("ann print x", none).with(`"payAmount":"5 USD"`)},
		},
		{
			name: "neg", says: "neg is read as neq, because old copies of the context have this name.", fault: "warning deprecated /permission/0/constraint/operator",
			doc:  permitting(`"target":"ex:x","action":"print","constraint":{"leftOperand":"media","operator":"odrl:neg","rightOperand":"film"}`),
			asks: []query{on("ann print x", ok).with(`"media":"paper"`), on("ann print x", none).with(`"media":"film"`)},
		},
		{
			name: "datatype", says: "dataType is read as odrl:datatype.",
			doc: permitting(`"target":"ex:x","action":"print","constraint":{"leftOperand":"dateTime","operator":"lt","rightOperand":"2026-07-01","odrl:datatype":{"@id":"xsd:date"}}`), asks: []query{on("ann print x", ok), on("ann print x", none).at("2026-07-01T00:00:00Z")},
		},
		{
			name: "plain list of operands", says: "Without @list, the operands of a logical constraint are read in order.",
			doc: permitting(`"target":"ex:x","action":"print","constraint":{"andSequence":[` + one("media", "eq", `"a"`) + `,` +
				one("industry", "eq", `"b"`) + `]}`), asks: []query{on("ann print x", ok).with(`"media":"a","industry":"b"`), on("ann print x", none)},
		},
		{
			name: "a string among operands", says: "Among operands, a string is not a reference to a constraint.",
			fault: "error reference /permission/0/constraint/or/0",
			doc:   permitting(`"target":"ex:x","action":"print","constraint":{"or":["ex:c",` + one("media", "eq", `"a"`) + `]}`),
		},
		{
			name: "unknown key", says: "An unknown key is reported.", fault: "error unknown-key /permission/0/price",
			doc: permitting(`"target":"ex:x","action":"play","price":5`),
		},
		{
			name: "unknown key, leniently", says: "In a lenient reading, an unknown key is a warning.", lenient: true,
			fault: "warning unknown-key /permission/0/price", doc: permitting(`"target":"ex:x","action":"play","price":5`), asks: both,
		},
		{
			name: "a key misspelt", says: "A misspelt constraint is an error, so it is not lost.",
			fault: "error unknown-key /permission/0/constraints",
			doc:   permitting(`"target":"ex:x","action":"play","constraints":[]`),
		},
		{
			name: "one property twice", says: "Two spellings of one property are an error.", fault: "error duplicate /permission/0/target",
			doc: permitting(`"target":"ex:x","odrl:target":"ex:y","action":"play"`),
		},
		{
			name: "one member twice", says: "A repeated name in an object is an error.", fault: "error json /permission/0/target",
			doc: permitting(`"target":"ex:x","target":"ex:y","action":"play"`),
		},
		{
			name: "a remote context", says: "Other contexts are unknown, and contexts are never fetched.", fault: "error remote-context /@context/1",
			doc: ctx(`[`+odrlContext+`,"https://other.example/context.jsonld"]`, plain),
		},
		{
			name: "permission redefined", says: "A context may not give a term of ODRL another meaning.",
			fault: "error context /@context/1/permission", doc: ctx(`[`+odrlContext+`,{"permission":"odrl:prohibition"}]`, plain),
		},
		{
			name: "a context inside", says: "A context may occur only at the top of a document.", fault: "error context /permission/0/@context",
			doc: permitting(`"@context":{"play":"odrl:print"},"target":"ex:x","action":"play"`),
		},
		{
			name: "a relative IRI", says: "A name that is not an IRI is an error.", fault: "error iri /uid",
			doc: ctx(odrlContext, strings.Replace(plain, `"http://example.com/policy/1"`, `"policy/1"`, 1)),
		},
		{
			name: "a blank node", says: "A policy is not a blank node.", fault: "error iri /uid",
			doc: ctx(odrlContext, strings.Replace(plain, `"http://example.com/policy/1"`, `"_:p"`, 1)),
		},
	}
	for i := range list {
		list[i].from = "V 6 (JSON-LD), uimgate"
	}
	return list
}
