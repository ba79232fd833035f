package intents

import (
	"math"
	"slices"
	"strings"
)

const (
	// minPrefix is the minimum length of a word that matches longer words as their prefix.
	minPrefix = 3
	// Weights of indirect matches, as shares of the weight of the word in the query: a longer word that begins with it, and a synonym.
	prefixShare, alikeShare = 0.5, 0.6
	// maxBrief is the number of words at which the brevity of an intent is one half.
	maxBrief = 12
)

// brevityOf counts the words of the summary of an intent or, if there are none, of its name. It returns 1 if both have no words; the
// more words it counts, the smaller the result. Among intents with the same words of a query, the one with the fewest other words is
// the best match.
func brevityOf(i *Intent) float64 {
	n := len(splitWords(summaryOf(i.Description)))
	if n == 0 {
		n = len(wordsOf(i.Name))
	}
	return maxBrief / float64(maxBrief+n)
}

// queryWords returns the stems of the words of a query, at most maxWords. It omits unimportant words, unless there are no others.
func queryWords(text string) []string {
	var all, important []string
	for _, w := range splitWords(strings.ToLower(text)) {
		if w = stem(w); slices.Contains(all, w) {
			continue
		}
		all = append(all, w)
		if !unimportant[w] {
			important = append(important, w)
		}
	}
	if len(important) > 0 {
		all = important
	}
	return all[:min(len(all), maxWords)]
}

// rank scores intents by the words of text: by how rare these words are in the catalogue, where they occur in the intent, and how many of
// them occur. The result has one score for each intent; 0 means that the intent contains none of the words.
func (x *index) rank(text string) []float64 {
	words := queryWords(text)
	ranks, best, found := make([]float64, len(x.entries)), make([]float64, len(x.entries)), make([]float64, len(x.entries))
	for _, w := range words {
		clear(best)
		x.match(w, best)
		for n, score := range best {
			if score > 0 {
				ranks[n] += score
				found[n]++
			}
		}
	}
	for n := range ranks {
		ranks[n] *= x.entries[n].brevity * (1 + found[n]/float64(len(words)))
	}
	return ranks
}

// match raises the scores of the intents that contain a word, a longer word that begins with it, or a synonym.
func (x *index) match(word string, best []float64) {
	take := func(word string, share float64) {
		posts := x.posts[word]
		rarity := math.Log2(1 + float64(len(x.entries))/float64(max(len(posts), 1)))
		for _, p := range posts {
			best[p.intent] = max(best[p.intent], float64(p.weight)*rarity*share)
		}
	}
	take(word, 1)
	for _, other := range alike[word] {
		take(other, alikeShare)
	}
	if len(word) < minPrefix {
		return
	}
	from, _ := slices.BinarySearch(x.words, word)
	for _, longer := range x.words[from:] {
		if !strings.HasPrefix(longer, word) {
			break
		}
		take(longer, prefixShare)
	}
}
