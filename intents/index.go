package intents

import (
	"cmp"
	"slices"
	"strings"
)

// An index serves searches without reading intents. It maps each word to the intents that contain the word, with a weight for the place
// where it occurs.
type index struct {
	entries []entry
	words   []string // the keys of posts, sorted for prefix searches
	posts   map[string][]posting
	service string // the name of the service, in lower case
}

// An entry holds the values that filters compare, in lower case.
type entry struct {
	uid, base, namespace, name, category, description string
	tags                                              []string
	retired                                           bool
	brevity                                           float64 // see brevityOf
}

type posting struct{ intent, weight int32 }

// The weight of a word depends on where it occurs in an intent.
const (
	inName        = 8
	inTags        = 5
	inCategory    = 4
	inSummary     = 8 // the first sentence of the description, if it is short
	inDescription = 2
	inParameters  = 1
)

func newIndex(all []*Intent, service string) *index {
	x := &index{entries: make([]entry, len(all)), posts: map[string][]posting{}, service: strings.ToLower(service)}
	for n, i := range all {
		e := entry{
			uid: strings.ToLower(i.UID.String()), namespace: strings.ToLower(i.UID.Namespace), name: strings.ToLower(i.Name),
			category: strings.ToLower(i.Category), description: strings.ToLower(i.Description), retired: i.Retired,
			brevity: brevityOf(i),
		}
		e.base = e.namespace + ":" + strings.ToLower(i.UID.Name)
		for _, t := range i.Tags {
			e.tags = append(e.tags, strings.ToLower(t))
		}
		x.entries[n] = e
		if !i.Retired {
			for w, weight := range i.words {
				x.posts[w] = append(x.posts[w], posting{int32(n), weight})
			}
			i.words = nil // no longer needed
		}
	}
	x.words = make([]string, 0, len(x.posts))
	for w := range x.posts {
		x.words = append(x.words, w)
	}
	slices.Sort(x.words)
	return x
}

// weigh returns the words of an intent with their weights. A word that occurs in several places has the largest of their weights.
func weigh(i *Intent) map[string]int32 {
	weights := map[string]int32{}
	note := func(text string, weight int32) {
		for _, w := range wordsOf(text) {
			weights[w] = max(weights[w], weight)
		}
	}
	note(i.Name, inName)
	note(i.UID.Name, inName)
	note(i.UID.Namespace, inDescription)
	for _, t := range i.Tags {
		note(t, inTags)
	}
	note(i.Category, inCategory)
	note(summaryOf(i.Description), inSummary)
	note(i.Description, inDescription)
	for _, p := range i.Inputs {
		note(p.Name, inParameters)
	}
	return weights
}

// find returns the positions of the intents that match q, the best match first. If q.Text is empty, the positions are in document order.
func (x *index) find(q Query) []int {
	if q.ServiceName != "" && !strings.Contains(x.service, strings.ToLower(q.ServiceName)) {
		return nil
	}
	f := newFilter(q)
	if strings.TrimSpace(q.Text) == "" {
		var out []int
		for n := range x.entries {
			if f.matches(&x.entries[n]) {
				out = append(out, n)
			}
		}
		return out
	}
	ranks := x.rank(q.Text)
	var out []int
	for n, rank := range ranks {
		if rank > 0 && f.matches(&x.entries[n]) {
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(ranks[b], ranks[a]) })
	return out
}

type filter struct {
	Query
	words []string
}

func newFilter(q Query) *filter {
	f := &filter{Query: q}
	for _, s := range []*string{&f.IntentName, &f.UID, &f.Namespace, &f.Category, &f.Description} {
		*s = strings.ToLower(strings.TrimSpace(*s))
	}
	f.words = strings.Fields(f.Description)
	f.words = f.words[:min(len(f.words), maxWords)]
	f.Tags = make([]string, 0, len(q.Tags))
	for _, t := range q.Tags {
		f.Tags = append(f.Tags, strings.ToLower(strings.TrimSpace(t)))
	}
	return f
}

func (f *filter) matches(e *entry) bool {
	if e.retired || f.UID != "" && f.UID != e.uid && f.UID != e.base || f.Namespace != "" && f.Namespace != e.namespace ||
		f.Category != "" && f.Category != e.category || !strings.Contains(e.name, f.IntentName) {
		return false
	}
	for _, t := range f.Tags {
		if !slices.Contains(e.tags, t) {
			return false
		}
	}
	for _, w := range f.words {
		if !strings.Contains(e.description, w) {
			return false
		}
	}
	return true
}
