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
		{name: "uid and type", says: "uid is @id, and type is @type.", doc: ctx(odrlContext, plain), asks: both},
		{name: "@id and @type", says: "@id and @type are read.", doc: ctx(odrlContext,
			`"@id":"http://example.com/policy/1","@type":"Set","permission":[{"target":"http://example.com/x","action":"play"}]`), asks: both},
		{
			name: "id", says: "id is read as @id, though the context has no such alias.",
			doc: ctx(odrlContext, strings.Replace(plain, `"uid"`, `"id"`, 1)), asks: both,
		},
		{
			name: "prefixed keys", says: "odrl: keys are the bare ones.",
			doc: ctx(odrlContext, `"odrl:uid":"http://example.com/policy/1","@type":"odrl:Set","odrl:permission":[{"odrl:target":{"@id":"http://example.com/x"},"odrl:action":{"@id":"odrl:play"}}]`), asks: both,
		},
		{
			name: "expanded keys", says: "So are full IRIs, with @value and @id, as expansion writes them.",
			doc: `{"@id":"http://example.com/policy/1","@type":["` + long + `Set"],"` + long + `permission":[{"` + long + `target":[{"@id":"http://example.com/x"}],"` + long + `action":[{"@id":"` + long + `play"}]}]}`, asks: both,
		},
		{
			name: "https context", says: "The context's https address is the same.", doc: ctx(`"https://www.w3.org/ns/odrl.jsonld"`, plain),
			asks: both,
		},
		{
			name: "own prefixes", says: "Prefixes of the inline context are used.",
			doc: ctx(`[`+odrlContext+`,{"my":"http://example.com/"}]`, strings.Replace(plain, `"http://example.com/x"`, `"my:x"`, 1)), asks: both,
		},
		{
			name: "one or many", says: "A list of one is the one.", doc: doc("Set", `"permission":{"target":["ex:x"],"action":["play"]}`),
			asks: both,
		},
		{
			name: "@set and @list", says: "Sets and lists are lists.",
			doc: doc("Set", `"permission":{"@set":[{"target":{"@set":["ex:x"]},"action":{"@list":["play"]}}]}`), asks: both,
		},
		{
			name: "@graph", says: "A document may hold several nodes, which refer to one another.",
			doc:  graphOf(`{"uid":"ex:p","target":"ex:x","action":"play"}`, `{"uid":"ex:policy/1","@type":"Set","permission":{"@id":"ex:p"}}`),
			asks: both,
		},
		{name: "action words", says: "An action may be a word.", doc: playing(`"play"`), asks: both},
		{name: "action prefixed", says: "Or have a prefix.", doc: playing(`"odrl:play"`), asks: both},
		{name: "action IRI", says: "Or be an IRI.", doc: playing(`"` + long + `play"`), asks: both},
		{name: "action @id", says: "Or an object with @id.", doc: playing(`{"@id":"odrl:play"}`), asks: both},
		{name: "action id", says: "Or with id.", doc: playing(`[{"id":"play"}]`), asks: both},
		{
			name: "rdf:value", says: "A refined action names itself by rdf:value.",
			doc: playing(`[{"rdf:value":{"@id":"odrl:print"},` + small + `}]`), asks: refined,
		},
		{name: "refinement beside @id", says: "Or by @id.", doc: playing(`{"@id":"odrl:print",` + small + `}`), asks: refined},
		{
			name: "value objects", says: "@value and @type are read, and type for @type.",
			doc: permitting(`"target":"ex:x","action":"print","constraint":{"leftOperand":"resolution","operator":"lteq","rightOperand":{"type":"xsd:integer","@value":"600"}}`), asks: refined,
		},
		{
			name: "numbers as texts", says: "A numeric text is the number.",
			doc:  permitting(`"target":"ex:x","action":"print","constraint":{"leftOperand":"resolution","operator":"lteq","rightOperand":"600"}`),
			asks: []query{on("ann print x", ok).with(`"resolution":"300.0"`), on("ann print x", none).with(`"resolution":"1e3"`)},
		},
		{
			name: "numbers exactly", says: "Decimals lose no digit.",
			doc:  permitting(`"target":"ex:x","action":"print","constraint":{"leftOperand":"resolution","operator":"lt","rightOperand":0.30000000000000000001}`),
			asks: []query{on("ann print x", ok).with(`"resolution":0.3`), on("ann print x", none).with(`"resolution":0.30000000000000000001`)},
		},
		{
			name: "unit as a text", says: "The context makes a unit a text; it is read as the IRI it is.",
			doc:  permitting(`"target":"ex:x","action":"print","constraint":{"leftOperand":"payAmount","operator":"lteq","rightOperand":"5","unit":"http://dbpedia.org/resource/Euro"}`),
			asks: []query{on("ann print x", ok).with(`"payAmount":"5 EUR"`), on("ann print x", none).with(`"payAmount":"5 USD"`)},
		},
		{
			name: "neg", says: "neq was neg in old copies of the context.", fault: "warning deprecated /permission/0/constraint/operator",
			doc:  permitting(`"target":"ex:x","action":"print","constraint":{"leftOperand":"media","operator":"odrl:neg","rightOperand":"film"}`),
			asks: []query{on("ann print x", ok).with(`"media":"paper"`), on("ann print x", none).with(`"media":"film"`)},
		},
		{
			name: "datatype", says: "dataType is odrl:datatype.",
			doc: permitting(`"target":"ex:x","action":"print","constraint":{"leftOperand":"dateTime","operator":"lt","rightOperand":"2026-07-01","odrl:datatype":{"@id":"xsd:date"}}`), asks: []query{on("ann print x", ok), on("ann print x", none).at("2026-07-01T00:00:00Z")},
		},
		{
			name: "plain list of operands", says: "Without @list, the operands of a logical constraint are read in order.",
			doc: permitting(`"target":"ex:x","action":"print","constraint":{"andSequence":[` + one("media", "eq", `"a"`) + `,` +
				one("industry", "eq", `"b"`) + `]}`), asks: []query{on("ann print x", ok).with(`"media":"a","industry":"b"`), on("ann print x", none)},
		},
		{
			name: "a text among operands", says: "A text is not a reference to a constraint.",
			fault: "error reference /permission/0/constraint/or/0",
			doc:   permitting(`"target":"ex:x","action":"print","constraint":{"or":["ex:c",` + one("media", "eq", `"a"`) + `]}`),
		},
		{
			name: "a key nobody knows", says: "No key is dropped in silence.", fault: "error unknown-key /permission/0/price",
			doc: permitting(`"target":"ex:x","action":"play","price":5`),
		},
		{
			name: "a key nobody knows, leniently", says: "Read leniently, it is told as a warning.", lenient: true,
			fault: "warning unknown-key /permission/0/price", doc: permitting(`"target":"ex:x","action":"play","price":5`), asks: both,
		},
		{
			name: "a key misspelt", says: "A constraint that is misspelt is not lost.", fault: "error unknown-key /permission/0/constraints",
			doc: permitting(`"target":"ex:x","action":"play","constraints":[]`),
		},
		{
			name: "one property twice", says: "Two spellings of one property are an error.", fault: "error duplicate /permission/0/target",
			doc: permitting(`"target":"ex:x","odrl:target":"ex:y","action":"play"`),
		},
		{
			name: "one member twice", says: "So is one name twice in an object.", fault: "error json /permission/0/target",
			doc: permitting(`"target":"ex:x","target":"ex:y","action":"play"`),
		},
		{
			name: "a remote context", says: "No other context is known, and none is ever fetched.", fault: "error remote-context /@context/1",
			doc: ctx(`[`+odrlContext+`,"https://other.example/context.jsonld"]`, plain),
		},
		{
			name: "permission redefined", says: "No context gives a term of ODRL another meaning.",
			fault: "error context /@context/1/permission", doc: ctx(`[`+odrlContext+`,{"permission":"odrl:prohibition"}]`, plain),
		},
		{
			name: "a context inside", says: "A context stands at the top of a document.", fault: "error context /permission/0/@context",
			doc: permitting(`"@context":{"play":"odrl:print"},"target":"ex:x","action":"play"`),
		},
		{
			name: "a relative IRI", says: "A name that is not an IRI names nothing.", fault: "error iri /uid",
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
