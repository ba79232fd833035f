package odrl_test

import (
	"testing"

	"github.com/uimgate/uimgate/odrl"
)

func TestLoadTakesEveryForm(t *testing.T) {
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

func TestLenientLoadTakesRulesWithoutParts(t *testing.T) {
	doc := `{"@context":"http://www.w3.org/ns/odrl.jsonld","uid":"urn:uuid:4","permission":[{"uid":"urn:uuid:5","@type":"Permission"}]}`
	if p, problems := odrl.Load(t.Context(), []byte(doc), odrl.LoadOptions{Lenient: true}); p == nil {
		t.Error(problems)
	}
}
