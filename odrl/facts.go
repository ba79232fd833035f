package odrl

import "slices"

// facts are what a document says about the things that its rules name: members of collections and
// the hierarchy of actions beyond that of ODRL V 2.2.
type facts struct {
	partOf     map[string][]string // member → collections, as written
	includedIn map[string][]string // action → the actions it is included in
	implies    map[string][]string // action → the actions it implies
	outside    map[string]notes    // nodes beside the policies, and what describes them
	parts      map[string][]string // the inverse of partOf, made once reading is over
	instances  map[string][]string // IRI → its types of other vocabularies than ODRL's
}

func newFacts() *facts {
	return &facts{partOf: map[string][]string{}, includedIn: map[string][]string{}, implies: map[string][]string{}, instances: map[string][]string{}, outside: map[string]notes{}}
}

// add notes that a stands in the relation to b, once.
func add(relation map[string][]string, a, b string) {
	if !slices.Contains(relation[a], b) {
		relation[a] = append(relation[a], b)
	}
}

// reach lists a and everything that is reached from it, nearest first.
func reach(relation map[string][]string, a string) []string {
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

// collections lists the asset or party itself and every collection that it is part of. ODRL IM 2.2.2.
func (f *facts) collections(iri string) []string { return reach(f.partOf, iri) }

// members lists everything that is part of the collection, sorted.
func (f *facts) members(collection string) []string {
	if f.parts == nil {
		f.parts = map[string][]string{}
		for _, member := range sortedKeys(f.partOf) {
			for _, whole := range f.partOf[member] {
				f.parts[whole] = append(f.parts[whole], member)
			}
		}
	}
	list := reach(f.parts, collection)[1:]
	slices.Sort(list)
	return list
}

// broader lists the action itself and every action that it is included in: a rule on any of them
// covers it. ODRL IM 2.4.
func (f *facts) broader(a string) []string {
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
		for _, b := range f.includedIn[list[i]] {
			put(b)
		}
	}
	return list
}

// covers reports whether a rule on the action broad is about the action a.
func (f *facts) covers(broad, a string) bool { return slices.Contains(f.broader(a), broad) }

// implied lists the actions that permitting a implies, itself left out. ODRL IM 2.4.
func (f *facts) implied(a string) []string { return reach(f.implies, a)[1:] }

// cycle returns a member of the relation that reaches itself, the smallest; empty where there is none.
func cycle(relation map[string][]string) string {
	const doing, done = 1, 2
	state := map[string]int{}
	for _, start := range sortedKeys(relation) {
		if state[start] == done {
			continue
		}
		// Depth first without recursion: documents may chain far.
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
