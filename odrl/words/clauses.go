package words

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

// A Clause is a hash of everything in a policy that concerns one intent.
type Clause [sha256.Size]byte

// Clauses returns the clause of each intent in the World of a policy from Publish, by UID. If two policies that were published in the same
// World have equal clauses for an intent, they decide equally about each call to the intent. Names, descriptions and the order of rules do
// not change a clause. A rule without a target, or with a target that names no intent, belongs to every clause. So do the uid and the type
// of the policy, the conflict strategy, and the collections that the document defines.
func Clauses(p *odrl.Policy) map[string]Clause {
	form, program := p.Model()
	if program == nil {
		return nil
	}
	whole := sequence([]string{
		form.UID, list(form.Types), form.ReplacedBy, phraser{form, ofActs}.settling(), factsMeaning(form.Facts),
	})
	m := canon{map[*model.Atom]string{}, map[*model.Rule]string{}}
	rules := map[string][]string{}
	var every []string
	for _, a := range form.Rules {
		var members []string
		named := false
		if a.Target != nil {
			members, named = program.World.Members(a.Target.Name())
		}
		if !named {
			every = append(every, m.of(a))
		}
		for _, uid := range members {
			rules[uid] = append(rules[uid], m.of(a))
		}
	}
	out := make(map[string]Clause, len(program.World.Intents))
	for _, in := range program.World.Intents {
		out[in.UID] = sha256.Sum256([]byte(sequence([]string{whole, hexList(every), hexList(rules[in.UID])})))
	}
	return out
}

// hexList returns the canonical text of hashes whose order has no meaning.
func hexList(hashes []string) string {
	out := make([]string, 0, len(hashes))
	for _, h := range hashes {
		out = append(out, hex.EncodeToString([]byte(h)))
	}
	return list(out)
}

// factsMeaning returns the canonical text of the collections, actions and parties that a document defines.
func factsMeaning(f *model.Facts) string {
	var parts []string
	for _, relation := range []map[string][]string{f.PartOf, f.IncludedIn, f.Implies, f.Instances} {
		var pairs []string
		for name, others := range relation {
			pairs = append(pairs, sequence([]string{name, list(others)}))
		}
		parts = append(parts, list(pairs))
	}
	return sequence(parts)
}
