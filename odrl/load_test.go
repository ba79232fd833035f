package odrl_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
)

func TestLoadAcceptsEveryForm(t *testing.T) {
	for name, doc := range map[string]string{
		"compact": `{"@context":"http://www.w3.org/ns/odrl.jsonld","@type":"Set","uid":"http://example.com/policy:1010","permission":[{"target":"http://example.com/asset:9898.movie","action":"use"}]}`,
		"expanded": `[{"@id":"http://example.com/p","@type":["http://www.w3.org/ns/odrl/2/Set"],"http://www.w3.org/ns/odrl/2/permission":[{"@id":"_:b0",
			"http://www.w3.org/ns/odrl/2/action":[{"@id":"http://www.w3.org/ns/odrl/2/use"}],"http://www.w3.org/ns/odrl/2/target":[{"@id":"http://example.com/a"}],
			"http://www.w3.org/ns/odrl/2/constraint":[{"http://www.w3.org/ns/odrl/2/and":[{"@list":[{"@id":"http://example.com/c1"},{"@id":"_:b2"}]}]}]}]},
			{"@id":"http://example.com/c1","http://www.w3.org/ns/odrl/2/leftOperand":[{"@id":"http://www.w3.org/ns/odrl/2/count"}],"http://www.w3.org/ns/odrl/2/operator":[{"@id":"http://www.w3.org/ns/odrl/2/lteq"}],"http://www.w3.org/ns/odrl/2/rightOperand":[{"@value":"5","@type":"http://www.w3.org/2001/XMLSchema#integer"}]},
			{"@id":"_:b2","http://www.w3.org/ns/odrl/2/leftOperand":[{"@id":"http://www.w3.org/ns/odrl/2/purpose"}],"http://www.w3.org/ns/odrl/2/operator":[{"@id":"http://www.w3.org/ns/odrl/2/isA"}],"http://www.w3.org/ns/odrl/2/rightOperand":[{"@id":"https://w3id.org/dpv#X"}]}]`,
		"flattened": `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"ex":"http://example.org/"}],"@graph":[
			{"@id":"urn:uuid:1","@type":"odrl:Set","odrl:uid":{"@id":"urn:uuid:1"},"dct:source":{"@id":"https://example.org/"},"permission":{"@id":"urn:uuid:2"}},
			{"@id":"urn:uuid:2","@type":"Permission","assignee":"ex:partyCollection","action":"read","target":"ex:x","duty":{"@id":"urn:uuid:3"}},
			{"@id":"urn:uuid:3","@type":"Duty","action":"compensate"},
			{"@id":"ex:partyCollection","@type":"PartyCollection","odrl:source":{"@id":"ex:partyIdentifier"}},
			{"@id":"ex:alice","@type":"foaf:Person","partOf":"ex:partyIdentifier"}]}`,
	} {
		p, problems := odrl.Load(t.Context(), []byte(doc), odrl.LoadOptions{})
		if p == nil || len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

func TestLenientLoadAcceptsPartialRules(t *testing.T) {
	doc := `{"@context":"http://www.w3.org/ns/odrl.jsonld","uid":"urn:uuid:4","permission":[{"uid":"urn:uuid:5","@type":"Permission"}]}`
	if p, problems := odrl.Load(t.Context(), []byte(doc), odrl.LoadOptions{Lenient: true}); p == nil {
		t.Error(problems)
	}
}

// For a document that is not ODRL in JSON, the problem names its format and the solution instead of its first unknown word.
func TestLoadNamesOtherFormats(t *testing.T) {
	const offer = `{"@context":{"ids":"https://w3id.org/idsa/core/"},"@type":"ids:ContractOffer","@id":"http://example.com/1",` +
		`"ids:permission":[{"@type":"ids:Permission","ids:action":[{"@id":"idsc:USE"}]}],"ids:provider":{"@id":"http://p.example"}}`
	for name, tt := range map[string]struct{ doc, says string }{
		"turtle":           {"# a policy\n@prefix odrl: <http://www.w3.org/ns/odrl/2/> .", "the document is Turtle"},
		"turtle of SPARQL": {"PREFIX odrl: <http://www.w3.org/ns/odrl/2/>", "rdfpipe -i turtle -o json-ld"},
		"triples":          {"<http://example.com/p> a <http://www.w3.org/ns/odrl/2/Set> .", "the document is Turtle"},
		"RDF/XML":          {`<?xml version="1.0"?><rdf:RDF/>`, "rdfpipe -i xml -o json-ld"},
		"a contract offer": {offer, "a ContractOffer of the information model"},
		"a contract by its IRI": {
			`[{"@type":["https://w3id.org/idsa/core/ContractAgreement"],"https://w3id.org/idsa/core/permission":[]}]`,
			"a ContractAgreement of the information model",
		},
	} {
		for _, lenient := range []bool{false, true} {
			_, loaded := odrl.Load(t.Context(), []byte(tt.doc), odrl.LoadOptions{Lenient: lenient})
			validated := odrl.Validate(t.Context(), []byte(tt.doc), odrl.ValidateOptions{Lenient: lenient})
			for _, problems := range []problem.List{loaded, validated} {
				if len(problems) != 1 || !problems.Failed() || !strings.Contains(problems[0].Message, tt.says) {
					t.Errorf("%s, lenient %t: %v; want one error: %s", name, lenient, problems, tt.says)
				}
			}
		}
	}
}
