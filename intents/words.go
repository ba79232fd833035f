package intents

import (
	"slices"
	"strings"
	"unicode"
)

// wordsOf splits text into the stems of its words, and returns the parts of a CamelCase word in addition to the word itself.
func wordsOf(text string) []string {
	var out []string
	for _, word := range splitWords(text) {
		out = append(out, stem(strings.ToLower(word)))
		start := 0
		var last rune
		for at, r := range word {
			if at > start && unicode.IsUpper(r) && unicode.IsLower(last) {
				out = append(out, stem(strings.ToLower(word[start:at])))
				start = at
			}
			last = r
		}
		if start > 0 {
			out = append(out, stem(strings.ToLower(word[start:])))
		}
	}
	return out
}

func splitWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// stem removes the usual English endings of a lowercase word: "files", "filed" and "filing" have the stem of "file". Stems need not be
// words. A word keeps at least three letters.
func stem(word string) string {
	if len(word) <= 3 {
		return word
	}
	if rest, ok := strings.CutSuffix(word, "ies"); ok && len(rest) >= 2 {
		word = rest + "y"
	} else if strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") {
		word = word[:len(word)-1]
	}
	for _, ending := range []string{"ing", "ed"} {
		if rest, ok := strings.CutSuffix(word, ending); ok && len(rest) >= 3 && strings.ContainsAny(rest, "aeiouy") {
			word = rest
			break
		}
	}
	if rest, ok := strings.CutSuffix(word, "e"); ok && len(rest) >= 3 {
		word = rest
	}
	if n := len(word); n > 3 && word[n-1] == word[n-2] {
		word = word[:n-1]
	}
	return word
}

// unimportant are stems that a query does not need, unless it has no other words.
var unimportant = func() map[string]bool {
	out := map[string]bool{}
	for word := range strings.FieldsSeq(`a an and are as at be by can could do does for from has have how i if in into is it its me my now of on or our
		out please so some someone something that the their them there these they this those to up us use was we what when which who will
		with would you your`) {
		out[stem(word)] = true
	}
	return out
}()

// alike lists synonyms in the names of operations, and in requests for operations.
var alike = func() map[string][]string {
	out := map[string][]string{}
	for _, line := range []string{
		"create add new make insert register post open issue",
		"delete remove erase drop destroy trash discard",
		"get show retrieve read fetch view see return display",
		"list all every browse show",
		"update change edit modify set rename move replace adjust put patch",
		"search find query look lookup",
		"buy purchase order",
		"pay charge settle",
		"copy duplicate clone",
		"cancel abort stop revoke end terminate",
		"cancel delete remove",
		"book reserve schedule arrange",
		"complete finish done resolve close",
		"where locate track position",
		"refund repay reimburse money",
		"hire employ",
		"truck car vehicle",
		"start run trigger launch begin",
		"send submit mail",
		"resend remind again",
		"download export",
		"upload import attach",
		"restore recover undelete back",
		"assign allocate delegate",
		"inside content item contain",
		"member people person user colleague employee",
		"customer client buyer",
		"folder directory",
		"file document",
		"picture image photo avatar thumbnail",
		"invoice bill",
		"price cost fee rate",
		"hour time opening",
		"sign signature signer",
		"event log audit history",
		"version revision old",
		"company enterprise organization",
		"shipment delivery parcel package",
		"status state progress",
	} {
		words := strings.Fields(line)
		for i, word := range words {
			words[i] = stem(word)
		}
		for _, word := range words {
			for _, other := range words {
				if other != word && !slices.Contains(out[word], other) {
					out[word] = append(out[word], other)
				}
			}
		}
	}
	return out
}()

// maxSummary is the maximum length of a summary, in bytes.
const maxSummary = 120

// summaryOf returns the first sentence or line of a description, or "" if it is long.
func summaryOf(description string) string {
	description = strings.TrimSpace(description)
	end := len(description)
	if at := strings.IndexByte(description, '\n'); at >= 0 {
		end = at
	}
	if at := strings.Index(description[:end], ". "); at >= 0 {
		end = at
	}
	if end > maxSummary {
		return ""
	}
	return description[:end]
}
