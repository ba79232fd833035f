package model

import "slices"

// Facts are what a document has about the things that its rules name: members of collections and the hierarchy of actions beyond that of
// ODRL V 2.2.
type Facts struct {
	PartOf     map[string][]string // member → collections, as written
	IncludedIn map[string][]string // action → the actions it is included in
	Implies    map[string][]string // action → the actions it implies
	outside    map[string]notes    // nodes beside the policies, and what describes them
	parts      map[string][]string // the inverse of partOf, made when reading is finished
	Instances  map[string][]string // IRI → its types of other vocabularies than ODRL's
	vocabulary *additions          // what vocabularies add
}

func newFacts() *Facts {
	return &Facts{
		PartOf: map[string][]string{}, IncludedIn: map[string][]string{}, Implies: map[string][]string{},
		Instances: map[string][]string{}, outside: map[string]notes{}, vocabulary: &additions{},
	}
}

// Relate records that a has the relation to b, once.
func Relate(relation map[string][]string, a, b string) {
	if !slices.Contains(relation[a], b) {
		relation[a] = append(relation[a], b)
	}
}

// Reach lists a and everything reachable from it, nearest first.
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

// Collections lists the asset or party itself and every collection that it is part of. ODRL IM 2.2.2.
func (f *Facts) Collections(iri string) []string { return Reach(f.PartOf, iri) }

// Members lists everything that is part of the collection, sorted.
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

// Broader lists the action itself and every action that it is included in: a rule on any of them covers it. ODRL IM 2.4.
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

// Implied lists the actions that permitting a implies, except a itself. ODRL IM 2.4.
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

// Placed lists what a value is part of by the vocabularies, nearest first, except the value itself.
func (f *Facts) Placed(value string) []string { return Reach(f.vocabulary.within, value)[1:] }

// cycle returns the smallest member of the relation that reaches itself; empty if there is none.
func cycle(relation map[string][]string) string {
	const doing, done = 1, 2
	state := map[string]int{}
	for _, start := range SortedKeys(relation) {
		if state[start] == done {
			continue
		}
		// Depth first without recursion: documents may have long chains.
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
