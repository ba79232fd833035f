package odrl_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
)

// Policies as the sections of the information model describe them, and with one fault each. A policy is valid unless want names a fault.
func TestConformanceOfDocumentsToTheModel(t *testing.T) {
	policy := func(n, class, more string) string {
		return `{` + inContext + `,"@type":"` + class + `","uid":"http://example.com/policy:` + n + `",` + more + `}`
	}
	const (
		c1 = `{"@type":"Constraint","uid":"http://example.com/p:88/C1","leftOperand":"media","operator":"eq","rightOperand":{"@value":"online","@type":"xsd:string"}}`
		c2 = `{"@type":"Constraint","uid":"http://example.com/p:88/C2","leftOperand":"media","operator":"eq","rightOperand":{"@value":"print","@type":"xsd:string"}}`
	)
	xone := `{"uid":"http://example.com/policy:88","@type":"Offer","profile":"http://example.com/odrl:profile:10","permission":[{"target":"http://example.com/book/1999","assigner":"http://example.com/org/paisley-park",
		"action":[{"rdf:value":{"@id":"odrl:reproduce"},"refinement":{"xone":{"@list":[{"@id":"http://example.com/p:88/C1"},{"@id":"http://example.com/p:88/C2"}]}}}]}]}`
	for _, tt := range []struct{ section, name, doc, want string }{
		{"2.1.1", "Set", policy("1010", "Set", `"permission":[{"target":"http://example.com/asset:9898.movie","action":"use"}]`), ""},
		{
			"2.1.1", "a policy is a Set",
			policy("1010", "Policy", `"permission":[{"target":"http://example.com/asset:9898.movie","action":"use"}]`), "",
		},
		{"2.1.2", "Offer", policy("1011", "Offer",
			`"profile":"http://example.com/odrl:profile:01","permission":[{"target":"http://example.com/asset:9898.movie","assigner":"http://example.com/party:org:abc","action":"play"}]`), ""},
		{
			"2.1.2", "Offer by nobody",
			policy("1011", "Offer", `"permission":[{"target":"http://example.com/asset:9898.movie","action":"play"}]`), "assigner",
		},
		{"2.1.3", "Agreement", policy("1012", "Agreement",
			`"permission":[{"target":"http://example.com/asset:9898.movie","assigner":"http://example.com/party:org:abc","assignee":"http://example.com/party:person:billie","action":"play"}]`), ""},
		{
			"2.1.3", "Agreement with nobody", policy("1012", "Agreement",
				`"permission":[{"target":"http://example.com/asset:9898.movie","assigner":"http://example.com/party:org:abc","action":"play"}]`),
			"assignee",
		},
		{"2.1", "Privacy", policy("1013", "Privacy",
			`"permission":[{"target":"http://example.com/data","assigner":"http://example.com/a","assignee":"http://example.com/b","action":"distribute"}]`), ""},
		{"2.1", "Request", policy("1014", "Request",
			`"permission":[{"target":"http://example.com/news","assignee":"http://example.com/guest","action":"display"}]`), ""},
		{"2.1", "Ticket", policy("1015", "Ticket",
			`"permission":[{"target":"http://example.com/game","assigner":"http://example.com/sony","action":"play"}]`), ""},
		{"2.1", "Assertion", policy("1016", "Assertion",
			`"permission":[{"target":"http://example.com/song","assignee":"http://example.com/b","action":"play"}]`), ""},
		{
			"2.1", "an unknown class", policy("1017", "Contract", `"permission":[{"target":"http://example.com/song","action":"play"}]`),
			"unknown-term",
		},
		{
			"2.1", "a profile nobody knows",
			policy("1018", "Set", `"profile":"http://other.example/profile","permission":[{"target":"http://example.com/song","action":"play"}]`), "unknown-profile",
		},
		{
			"2.2.1", "asset by type",
			policy("3333", "Offer",
				`"permission":[{"target":{"@type":"Asset","uid":"http://example.com/asset:3333"},"action":"display","assigner":"http://example.com/party:0001"}]`), "",
		},
		{
			"2.2.1", "asset with a policy",
			graphOf(`{"@type":"dc:Document","@id":"http://example.com/asset:3333","dc:title":"Annual Report","odrl:hasPolicy":"ex:p"}`,
				`{"uid":"ex:p","@type":"Offer","permission":[{"action":"display","assigner":"ex:a"}]}`), "",
		},
		{
			"2.2.1", "asset without a name",
			policy("3334", "Set", `"permission":[{"target":{"@type":"Asset","dc:title":"A report"},"action":"display"}]`), "",
		},
		{
			"2.2.2", "asset collection",
			graphOf(`{"uid":"ex:p","permission":[{"target":{"@type":"AssetCollection","uid":"http://example.com/archive1011"},"action":"index"}]}`, `{"@type":"dc:Document","@id":"http://example.com/asset:111.doc","dc:title":"Annual Report","odrl:partOf":"http://example.com/archive1011"}`), "",
		},
		{
			"2.3.1", "party functions",
			policy("1231", "Agreement",
				`"permission":[{"target":"http://example.com/music/1999.mp3","assigner":{"@type":["Party","vcard:Organization"],"uid":"http://example.com/org/sony-music","vcard:fn":"Sony Music LCC","vcard:hasEmail":"sony-contact@example.com"},"assignee":{"@type":["PartyCollection","vcard:Group"],"uid":"http://example.com/team/A","vcard:fn":"Team A"},"action":"play"}]`), "",
		},
		{
			"2.3.1", "party by its own word",
			graphOf(`{"@type":"vcard:Individual","@id":"http://example.com/person/murphy","vcard:fn":"Murphy","odrl:partOf":"http://example.com/team/A","odrl:assigneeOf":"ex:p"}`, `{"uid":"ex:p","@type":"Agreement","assigner":"ex:a","permission":[{"target":"ex:t","action":"play"}]}`), "",
		},
		{"2.4", "action", policy("1012", "Offer",
			`"permission":[{"target":"http://example.com/music:1012","assigner":"http://example.com/org:abc","action":"play"}]`), ""},
		{
			"2.4", "an unknown action",
			policy("1012", "Set", `"permission":[{"target":"http://example.com/music:1012","action":"odrl:listen"}]`), "unknown-term",
		},
		{
			"2.5.1", "constraint",
			policy("6163", "Offer",
				`"permission":[{"target":"http://example.com/document:1234","assigner":"http://example.com/org:616","action":"distribute","constraint":[{"leftOperand":"dateTime","operator":"lt","rightOperand":{"@value":"2018-01-01","@type":"xsd:date"}}]}]`), "",
		},
		{"2.5.1", "constraint by reference", policy("6163", "Offer",
			`"permission":[{"target":"http://example.com/document:1234","assigner":"http://example.com/org:616","action":"distribute","constraint":[{"leftOperand":"dateTime","operator":"lt","rightOperandReference":"http://example.com/until"}]}]`), ""},
		{"2.5.1", "a left operand in quotes", policy("6164", "Set",
			`"permission":[{"target":"http://example.com/d","action":"play","constraint":[{"leftOperand":{"@value":"media"},"operator":"eq","rightOperand":"online"}]}]`), ""},
		{"2.5.1", "a right operand of nothing", policy("6165", "Set",
			`"permission":[{"target":"http://example.com/d","action":"play","constraint":[{"leftOperand":"dateTime","operator":"lteq","rightOperand":{"rdfs:comment":"no value"}}]}]`), "value"},
		{"2.5.2", "logical constraint", graphOf(xone, c1, c2), ""},
		{"2.5.2", "a constraint that is nowhere", graphOf(xone, c1), "reference"},
		{
			"2.5.2", "texts for constraints",
			policy("88", "Set", `"permission":[{"target":"http://example.com/d","action":"play","constraint":{"or":["a","b"]}}]`), "reference",
		},
		{
			"2.5.3", "refined action",
			policy("6161", "Offer",
				`"permission":[{"target":"http://example.com/document:1234","assigner":"http://example.com/org:616","action":[{"rdf:value":{"@id":"odrl:print"},"refinement":[{"leftOperand":"resolution","operator":"lteq","rightOperand":{"@value":"1200","@type":"xsd:integer"},"unit":"http://dbpedia.org/resource/Dots_per_inch"}]}]}]`), "",
		},
		{"2.5.3", "a refined action without a name", policy("6161", "Set",
			`"permission":[{"target":"http://example.com/document:1234","action":[{"refinement":[{"leftOperand":"resolution","operator":"lteq","rightOperand":1200}]}]}]`), "action"},
		{
			"2.5.4", "refined assets",
			policy("4444", "Offer",
				`"profile":"http://example.com/odrl:profile:11","permission":[{"assigner":"http://example.com/org88","target":{"@type":"AssetCollection","source":"http://example.com/media-catalogue","refinement":[{"leftOperand":"odrl:runningTime","operator":"lt","rightOperand":{"@value":"60","@type":"xsd:integer"},"unit":"http://qudt.org/vocab/unit/MinuteTime"}]},"action":"play"}]`), "",
		},
		{"2.5.4", "refined assets without a profile", policy("4444", "Set",
			`"permission":[{"target":{"@type":"AssetCollection","source":"http://example.com/media-catalogue","refinement":[{"leftOperand":"odrl:runningTime","operator":"lt","rightOperand":60}]},"action":"play"}]`), "unknown-term"},
		{"2.5.4", "refined assets of no collection", policy("4444", "Set",
			`"profile":"http://example.com/odrl:profile:11","permission":[{"target":{"@type":"AssetCollection","refinement":[{"leftOperand":"runningTime","operator":"lt","rightOperand":60}]},"action":"play"}]`), "collection"},
		{
			"2.5.5", "refined parties",
			policy("4444", "Agreement",
				`"profile":"http://example.com/odrl:profile:12","permission":[{"target":"http://example.com/myPhotos:BdayParty","assigner":"http://example.com/user44","assignee":{"@type":"PartyCollection","source":"http://example.com/user44/friends","refinement":[{"leftOperand":"foaf:age","operator":"gt","rightOperand":{"@value":"17","@type":"xsd:integer"}}]},"action":"display"}]`), "",
		},
		{"2.5.5", "refined parties of no collection", policy("4444", "Set",
			`"profile":"http://example.com/odrl:profile:12","permission":[{"target":"http://example.com/myPhotos:BdayParty","assignee":{"@type":"PartyCollection","refinement":[{"leftOperand":"foaf:age","operator":"gt","rightOperand":17}]},"action":"display"}]`), "collection"},
		{
			"2.6.1", "permission",
			policy("9090", "Offer",
				`"permission":[{"target":"http://example.com/game:9090","assigner":"http://example.com/org:xyz","action":"play","constraint":[{"leftOperand":"dateTime","operator":"lteq","rightOperand":{"@value":"2017-12-31","@type":"xsd:date"}}]}]`), "",
		},
		{
			"2.6.2", "prohibition",
			policy("5555", "Agreement",
				`"conflict":"perm","permission":[{"target":"http://example.com/photoAlbum:55","action":"display","assigner":"http://example.com/MyPix:55","assignee":"http://example.com/assignee:55"}],"prohibition":[{"target":"http://example.com/photoAlbum:55","action":"archive","assigner":"http://example.com/MyPix:55","assignee":"http://example.com/assignee:55"}]`), "",
		},
		{
			"2.6.4", "obligation",
			policy("42A", "Agreement",
				`"obligation":[{"assigner":"http://example.com/org:43","assignee":"http://example.com/person:44","action":[{"rdf:value":{"@id":"odrl:compensate"},"refinement":[{"leftOperand":"payAmount","operator":"eq","rightOperand":{"@value":"500.00","@type":"xsd:decimal"},"unit":"http://dbpedia.org/resource/Euro"}]}]}]`), "",
		},
		{"2.6.5", "consequence of an obligation", policy("42B", "Agreement",
			`"assigner":"http://example.com/org:43","assignee":"http://example.com/person:44","obligation":[{"action":"delete","target":"http://example.com/document:XZY","consequence":[{"action":[{"rdf:value":{"@id":"odrl:compensate"},"refinement":[{"leftOperand":"payAmount","operator":"eq","rightOperand":{"@value":"10.00","@type":"xsd:decimal"},"unit":"http://dbpedia.org/resource/Euro"}]}],"compensatedParty":"http://wwf.org"}]}]`), ""},
		{"2.6.6", "duty with a consequence", policy("66", "Agreement",
			`"permission":[{"target":"http://example.com/data:77","assigner":"http://example.com/org:99","assignee":"http://example.com/person:88","action":"distribute","duty":[{"action":"attribute","attributedParty":"http://australia.gov.au/","consequence":[{"action":"acceptTracking","trackingParty":"http://example.com/dept:100"}]}]}]`), ""},
		{"2.6.7", "remedy", policy("33CC", "Agreement",
			`"prohibition":[{"target":"http://example.com/data:77","assigner":"http://example.com/person:88","assignee":"http://example.com/org:99","action":"index","remedy":[{"action":"anonymize","target":"http://example.com/data:77"}]}]`), ""},
		{"2.6.7", "remedy with a consequence", policy("33CC", "Set",
			`"prohibition":[{"target":"http://example.com/data:77","action":"index","remedy":[{"action":"anonymize","target":"http://example.com/data:77","consequence":[{"action":"inform"}]}]}]`), "consequence"},
		{
			"2.7", "irreducible rule",
			policy("7777", "Set", `"permission":[{"target":"http://example.com/music/1999.mp3","assigner":"http://example.com/org/sony-music","action":"play"}]`), "",
		},
		{"2.7", "several assets and actions", policy("8888", "Policy",
			`"profile":"http://example.com/odrl:profile:20","permission":[{"target":["http://example.com/music/1999.mp3","http://example.com/music/PurpleRain.mp3"],"assigner":"http://example.com/org/sony-music","action":["play","stream"]}]`), ""},
		{
			"2.7.1", "compact policy",
			policy("8888", "Policy",
				`"target":"http://example.com/music/1999.mp3","assigner":"http://example.com/org/sony-music","action":"play","permission":[{"assignee":"http://example.com/people/billie"},{"assignee":"http://example.com/people/murphy"}]`), "",
		},
		{"2.8", "metadata", `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"dc":"http://purl.org/dc/terms/"}],"@type":"Policy","uid":"http://example.com/policy:8888","dc:creator":"billie@example.com","dc:issued":"2018-01-01T12:00","dc:coverage":{"@id":"https://www.iso.org/obp/ui/#iso:code:3166:AU-QLD"},"dc:replaces":{"@id":"http://example.com/policy:8887"},"permission":[{"target":"http://example.com/a","action":"play"}]}`, ""},
		{"2.9", "inheritance", graphOf(`{"uid":"http://example.com/policy:default","@type":"Policy","obligation":[{"assigner":"http://example.com/org-01","target":"http://example.com/asset:terms-and-conditions","action":"reviewPolicy"}]}`, `{"uid":"http://example.com/policy:4444","@type":"Agreement","inheritFrom":"http://example.com/policy:default","assignee":"http://example.com/user:0001","permission":[{"assigner":"http://example.com/org-01","target":"http://example.com/asset:5555","action":"display"}]}`), ""},
		{"2.9", "inheritance in a circle", graphOf(`{"uid":"ex:a","inheritFrom":"ex:b","obligation":{"action":"reviewPolicy"}}`,
			`{"uid":"ex:b","inheritFrom":"ex:a","obligation":{"action":"reviewPolicy"}}`), "inherit-cycle"},
		{"2.10", "strategy", policy("0001", "Policy",
			`"conflict":{"@type":"ConflictTerm","@id":"odrl:perm"},"permission":[{"target":"http://example.com/asset:1212","action":"use","assigner":"http://example.com/owner:181"}]`), ""},
		{
			"2.10", "two strategies",
			policy("0001", "Policy", `"conflict":["perm","prohibit"],"permission":[{"target":"http://example.com/asset:1212","action":"use"}]`),
			"cardinality",
		},
		{"2.10", "permission of another action", policy("1010", "Set",
			`"permission":[{"action":"read","target":"http://example.com/asset:9898"}],"prohibition":[{"action":"reproduce","target":"http://example.com/asset:9898"}]`), ""},
		{
			"2.10", "a policy in conflict",
			policy("0002", "Set", `"permission":[{"target":"http://example.com/asset:1212","action":"use"}],"prohibition":[{"target":"http://example.com/asset:1212","action":"print"}]`), "conflict",
		},
		{
			"3", "a term of a profile",
			policy("3000", "Set", `"profile":"http://example.com/odrl:profile:30","permission":[{"target":"http://example.com/a","action":"http://example.com/vote"}]`), "",
		},
	} {
		t.Run(tt.section+" "+tt.name, func(t *testing.T) {
			problems := odrl.Validate(t.Context(), []byte(tt.doc), odrl.ValidateOptions{})
			found := find(problems, tt.want)
			if (tt.want == "") == problems.Failed() || tt.want != "" && (found == nil || found.Level != problem.Error) {
				t.Errorf("%v, want %q", problems, tt.want)
			}
			if tt.want != "" {
				return
			}
			out, problems := odrl.Canonical([]byte(tt.doc), odrl.LoadOptions{Lenient: false})
			if out == nil || strings.Contains(string(out), "@graph") && !strings.Contains(tt.doc, "@graph") {
				t.Errorf("written as %s, %v", out, problems)
			}
		})
	}
}
