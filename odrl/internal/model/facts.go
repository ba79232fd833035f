package model

import "slices"

// Facts are the statements of a document about the things that its rules name: the members of collections, and the hierarchy of actions
// beyond that of ODRL V 2.2.
type Facts struct {
	PartOf     map[string][]string // member → collections, as written
	IncludedIn map[string][]string // action → the actions that include it
	Implies    map[string][]string // action → the actions that it implies
	outside    map[string]notes    // node outside the policies → its description
	parts      map[string][]string // the inverse of PartOf, built on first use
	Instances  map[string][]string // IRI → its types from vocabularies other than ODRL's
	vocabulary *additions          // the terms that vocabularies add
}

func newFacts() *Facts {
	return &Facts{
		PartOf: map[string][]string{}, IncludedIn: map[string][]string{}, Implies: map[string][]string{},
		Instances: map[string][]string{}, outside: map[string]notes{}, vocabulary: &additions{},
	}
}

// Relate records that a has the relation to b, unless that is already recorded.
func Relate(relation map[string][]string, a, b string) {
	if !slices.Contains(relation[a], b) {
		relation[a] = append(relation[a], b)
	}
}

// Reach returns a and everything reachable from it, nearest first.
func Reach(relation map[string][]string, a string) []string {
	list := []string{a}
	seen := map[string]bool{a: true}
	for i := 0; i < len(list); i++ {
		for _, b := range relation[list[i]] {
			if !seen[b] {
				seen[b] = true
				list = append(list, b)
			}
		}
	}
	return list
}

// Collections returns the asset or party itself and every collection that it is part of, directly or indirectly. See ODRL IM, section
// 2.2.2.
func (f *Facts) Collections(iri string) []string { return Reach(f.PartOf, iri) }

// Members returns everything that is part of the collection, directly or indirectly, sorted.
func (f *Facts) Members(collection string) []string {
	if f.parts == nil {
		f.parts = map[string][]string{}
		for _, member := range SortedKeys(f.PartOf) {
			for _, whole := range f.PartOf[member] {
				f.parts[whole] = append(f.parts[whole], member)
			}
		}
	}
	list := Reach(f.parts, collection)[1:]
	slices.Sort(list)
	return list
}

// Broader returns the action itself and every action that includes it: a rule on any of them also covers the action. See ODRL IM, section
// 2.4.
func (f *Facts) Broader(a string) []string {
	list := []string{a}
	seen := map[string]bool{a: true}
	put := func(b string) {
		if b != "" && !seen[b] {
			seen[b] = true
			list = append(list, b)
		}
	}
	for i := 0; i < len(list); i++ {
		put(actions[list[i]])
		for _, b := range f.IncludedIn[list[i]] {
			put(b)
		}
		for _, b := range f.vocabulary.included[list[i]] {
			put(b)
		}
	}
	return list
}

// Covers reports whether a rule on the action broad also covers the action a.
func (f *Facts) Covers(broad, a string) bool { return slices.Contains(f.Broader(a), broad) }

// Implied returns the actions that a implies, directly or indirectly, without a itself. See ODRL IM, section 2.4.
func (f *Facts) Implied(a string) []string {
	list := []string{a}
	for i := 0; i < len(list); i++ {
		for _, b := range slices.Concat(f.Implies[list[i]], f.vocabulary.implies[list[i]]) {
			if !slices.Contains(list, b) {
				list = append(list, b)
			}
		}
	}
	return list[1:]
}

// Placed returns everything that value is part of according to the vocabularies, nearest first, without the value itself.
func (f *Facts) Placed(value string) []string { return Reach(f.vocabulary.within, value)[1:] }

// cycle returns a member of the relation that is reachable from itself, always the same one for the same relation. It returns "" if there
// is none.
func cycle(relation map[string][]string) string {
	const doing, done = 1, 2
	state := map[string]int{}
	for _, start := range SortedKeys(relation) {
		if state[start] == done {
			continue
		}
		// An iterative depth-first search, because a document may have long chains.
		type step struct {
			node string
			next int
		}
		stack := []step{{start, 0}}
		state[start] = doing
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if top.next == len(relation[top.node]) {
				state[top.node] = done
				stack = stack[:len(stack)-1]
				continue
			}
			to := relation[top.node][top.next]
			top.next++
			switch state[to] {
			case doing:
				return to
			case 0:
				state[to] = doing
				stack = append(stack, step{to, 0})
			}
		}
	}
	return ""
}
