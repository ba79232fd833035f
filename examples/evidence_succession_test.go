package examples_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const writtenOtherwise = "charges under a policy that is written differently from the agreed one"

// edited returns the policy of a book with some texts replaced.
func edited(replacements ...string) string {
	return strings.NewReplacer(replacements...).Replace(bookPolicy)
}

// later changes the book so that the third call was decided by a policy that succeeds the agreed one.
func (b *book) later(policy string) {
	charges("exec-c", func(e *bookEntry) { e.Policy = policyDigest(policy) })(b)
}

// offer adds the line of a further policy to a bundle.
func (b *book) offer(t *testing.T, policy string) {
	t.Helper()
	b.lines = slices.Insert(b.lines, b.find(t, "agreement", 0), bookLine{
		"type": "policy", "uid": "https://shop.example/policy/1", "digest": policyDigest(policy),
		"document": base64.StdEncoding.EncodeToString([]byte(policy)),
	})
}

// TestVerifiersFollowSuccessions checks a charge under a policy that succeeds the one of the agreement.
func TestVerifiersFollowSuccessions(t *testing.T) {
	t.Parallel()
	verify := verifiersOfOneProcess(t)
	const search, order = `{"target": "shop.example:search:v1", "action": "execute"},`, `{"target": "shop.example:place-order:v1"`
	for name, tt := range map[string]struct {
		policy    string
		withOffer bool
		change    func(b *book)
		want      []string // names of the problems
		unchecked int
	}{
		"a title":                   {edited(`"type"`, `"title": "Terms of 2027", "type"`), true, nil, nil, 0},
		"terms of another intent":   {edited(`"action": "execute"},`, `"action": "use"},`), true, nil, nil, 0},
		"a permission before":       {edited(search, search+search), true, func(b *book) { b.rule("/permission/2") }, nil, 0},
		"a list of targets":         {edited(order, `{"target": ["shop.example:place-order:v1", "shop.example:return:v1"]`), true, nil, nil, 0},
		"the price as another text": {edited(`"0.050"`, `"0.05"`), true, nil, nil, 1},
		"a condition more":          {edited(`"duty"`, `"constraint": {"leftOperand": "count", "operator": "lt", "rightOperand": 9}, "duty"`), true, nil, nil, 1},
		"another price": {edited(`"0.050"`, `"0.060"`), true, func(b *book) {
			charges("exec-c", func(e *bookEntry) { e.Amount = euros(60_000_000) })(b)
		}, []string{"POLICY"}, 0},
		"another uid":            {edited("policy/1", "policy/2"), true, nil, []string{"POLICY"}, 0},
		"the policy is not here": {edited(`"type"`, `"title": "Terms", "type"`), false, nil, []string{"POLICY"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.later(tt.policy)
			if tt.change != nil {
				tt.change(b)
			}
			b.bundle(t)
			if tt.withOffer {
				b.offer(t, tt.policy)
				line := b.lines[b.find(t, "policy", 1)]
				if name == "another uid" {
					line["uid"] = "https://shop.example/policy/2"
				}
			}
			all(removed("statement", 0), removed("invoice", 0))(t, b)
			r := verify(t, writeBundle(t, "bundle.jsonl", b.text(t)))
			var found []string
			for _, p := range r.Problems {
				found = append(found, p.Name)
			}
			if diff := cmp.Diff(tt.want, slices.Compact(found)); diff != "" || r.NotChecked[writtenOtherwise] != tt.unchecked {
				t.Errorf("(-want +found):\n%s%+v, not checked %v", diff, r.Problems, r.NotChecked)
			}
		})
	}
}

// rule sets the rule of the third call.
func (b *book) rule(pointer string) { charges("exec-c", func(e *bookEntry) { e.Rule = pointer })(b) }
