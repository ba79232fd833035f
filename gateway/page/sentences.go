package page

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/odrl/words"
)

// PolicyText returns the policy of a service as sentences in plain text. The first line has the uid and the digest of the policy. Each
// sentence is one line; its terms follow, each on a separate line.
func PolicyText(s *service.Definition) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "Policy %s of %s\n%s\n", oneLine(s.Offer().UID), oneLine(s.Issuer), s.Offer().Digest)
	found, more := topics(words.Explain(s.Policy))
	for _, topic := range found {
		fmt.Fprintf(&b, "\n%s\n\n", topic.Title)
		for _, sentence := range topic.Sentences {
			fmt.Fprintf(&b, "- %s\n", oneLine(sentence.Text))
			for _, term := range sentence.Terms {
				fmt.Fprintf(&b, "  - %s\n", oneLine(term))
			}
		}
	}
	if more > 0 {
		fmt.Fprintf(&b, "\n%d further rules are not described here: read the document itself.\n", more)
	}
	return []byte(b.String())
}

// oneLine turns text of the operator into one line without control characters, which a terminal would interpret.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.C, r) }), " ")
}
