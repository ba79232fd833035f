package odrl_test

import "strings"

// The action hierarchy of ODRL V: a parent and the actions that it includes.
var hierarchy = []struct{ from, parent, included string }{
	{"V 3.9", "transfer", "give sell"},
	{"V 4.3", "play", "display"},
	{"V 4.3", "reproduce", "extract"},
	{"V 4.3", "use", `acceptTracking aggregate annotate anonymize archive attribute compensate concurrentUse delete derive digitize distribute ensureExclusivity
		execute grantUse include index inform install modify move nextPolicy obtainConsent play present print read reproduce reviewPolicy
		stream synchronize textToSpeech transform translate uninstall watermark`},
	{
		"V 4.3 (Creative Commons)", "use",
		`cc:Attribution cc:CommercialUse cc:DerivativeWorks cc:Distribution cc:Notice cc:Reproduction cc:ShareAlike cc:Sharing cc:SourceCode`,
	},
	{
		"V 4.6 (deprecated, no successor)", "use",
		`odrl:lease odrl:lend odrl:preview odrl:secondaryUse odrl:adHocShare odrl:extractChar odrl:extractPage odrl:extractWord`,
	},
	{"UIM 6.2, uimgate", "use", `uim:signPayload uim:analyze`},
	{"UIM 6.2, uimgate", "inform", `uim:logUsage`},
}

// Deprecated actions and their replacements.
var successors = strings.Fields(`append=modify appendTo=modify write=modify writeTo=modify copy=reproduce export=transform license=grantUse pay=compensate
	attachPolicy=cc:Notice attachSource=cc:SourceCode shareAlike=cc:ShareAlike commercialize=cc:CommercialUse share=cc:Sharing`)

func actionRows() []row {
	permitting := func(action string) string {
		return doc("Set", `"permission":[{"target":"ex:x","action":"`+action+`"}]`)
	}
	var list []row
	for _, h := range hierarchy {
		for a := range strings.FieldsSeq(h.included) {
			top := "use"
			if h.parent == "transfer" {
				top = "transfer"
			}
			asks := []query{on("ann "+a+" x", ok)}
			if top != h.parent {
				asks = append(asks, on("ann "+top+" x", none))
			}
			list = append(list, row{
				name: a + " in " + h.parent, from: h.from, says: "A permission to " + h.parent + " includes " + a + ".",
				doc: permitting(h.parent), asks: asks,
			}, row{
				name: a + " alone", from: h.from, says: "A permission to " + a + " does not permit " + h.parent + ".", doc: permitting(a),
				lenient: strings.HasPrefix(a, "uim:"),
				asks:    []query{on("ann "+a+" x", ok), on("ann "+h.parent+" x", none)},
			})
		}
	}
	for _, s := range successors {
		old, successor, _ := strings.Cut(s, "=")
		list = append(list, row{
			name: old + " is " + successor, from: "V 4.6 (exactMatch), TS 009",
			says: "The deprecated " + old + " means " + successor + ", in policies and in questions.", doc: permitting("odrl:" + old),
			fault: "warning deprecated /permission/0/action",
			asks:  []query{on("ann "+successor+" x", ok), on("ann odrl:"+old+" x", ok), on("ann transfer x", none)},
		})
	}
	const dance = `{"@id":"ex:dance","@type":"Action","includedIn":"odrl:present","implies":"ex:move"}`
	with := func(action, rules string) string {
		return graphOf(action, `{"uid":"ex:policy/1","@type":"Set",`+rules+`}`)
	}
	return append(list,
		row{
			name: "use and transfer", from: "IM 2.4", says: "Neither of the two top actions includes the other.", doc: permitting("use"),
			asks: []query{on("ann transfer x", none), on("ann sell x", none), on("ann use x", ok)},
		},
		row{
			name: "nodes in nodes", from: "IM 2.4", says: "An action node may contain the action that it is included in, to any depth.",
			doc: doc("Set", `"permission":[{"target":"ex:y","action":{"@id":"ex:deep","includedIn":{"@id":"ex:mid","includedIn":`+
				`{"@id":"ex:wide","includedIn":"odrl:use"}}}},{"target":"ex:x","action":"ex:wide"}]`),
			asks: []query{on("ann ex:deep x", ok), on("ann ex:mid x", ok), on("ann ex:wide x", ok), on("ann use x", none)},
		},
		row{
			name: "use does not follow from transfer", from: "IM 2.4", says: "A permission to transfer does not permit use.",
			doc:  permitting("transfer"),
			asks: []query{on("ann use x", none), on("ann sell x", ok)},
		},
		row{
			name: "any depth", from: "IM 2.4", says: "includedIn is transitive: display is included in play, and play in use.", doc: permitting("use"),
			asks: []query{on("ann display x", ok), on("ann extract x", ok)},
		},
		row{
			name: "prohibition includes", from: "IM 2.4", says: "A prohibition applies to all actions that are included in its action.",
			doc: doc("Set", `"conflict":"prohibit"`, `"permission":[{"target":"ex:x","action":"use"}]`,
				`"prohibition":[{"target":"ex:x","action":"play"}]`),
			asks: []query{on("ann display x", violates), on("ann print x", ok)},
		},
		row{
			name: "own action", from: "IM 2.4, 3.3", says: "A permission for an action includes the actions that the document declares as included in it.", lenient: true,
			doc:  with(dance, `"permission":[{"target":"ex:x","action":"present"}]`),
			asks: []query{on("ann ex:dance x", ok), on("ann ex:sing x", none)},
		},
		row{
			name: "implies", from: "IM 2.4", says: "Permitting an action and prohibiting an action that it implies is a conflict.", lenient: true,
			fault: "error conflict /@graph/1/prohibition/0",
			doc:   with(dance, `"permission":[{"target":"ex:x","action":"ex:dance"}],"prohibition":[{"target":"ex:x","action":"ex:move"}]`),
		},
		row{
			name: "implies grants nothing", from: "IM 2.4", says: "Permitting an action does not permit the actions that it implies.", lenient: true,
			doc:  with(dance, `"permission":[{"target":"ex:x","action":"ex:dance"}]`),
			asks: []query{on("ann ex:dance x", ok), on("ann ex:move x", none)},
		},
		row{
			name: "includedIn in a circle", from: "IM 2.4", says: "An action cannot be included in itself.", fault: "error cycle",
			doc: with(`{"@id":"ex:a","includedIn":"ex:b"},{"@id":"ex:b","includedIn":"ex:a"}`, `"permission":[{"target":"ex:x","action":"use"}]`),
		},
		row{
			name: "exceedRateLimit", from: "UIM 6.2, uimgate", says: "exceedRateLimit can never be permitted, not even by its name.",
			doc: permitting("uim:exceedRateLimit"), fault: "warning profile-term /permission/0/action",
			asks: []query{on("ann uim:exceedRateLimit x", none), on("ann use x", none)},
		},
		row{
			name: "unknown action", from: "IM 3.2, W", says: "An unknown action without a profile is an error.",
			fault: "error unknown-term /permission/0/action", doc: permitting("ex:fly"),
		},
		row{
			name: "action of a profile", from: "IM 3.3", says: "If its profile is known, an action is accepted; no other action includes it.",
			profiles: known, doc: doc("Set", trade, `"permission":[{"target":"ex:x","action":"ex:fly"}]`),
			asks: []query{on("ann ex:fly x", ok), on("ann use x", none)},
		},
	)
}
