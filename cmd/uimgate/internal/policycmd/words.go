package policycmd

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/quote"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/words"
)

func policyExplainCommand() *cobra.Command {
	var output string
	var lenient bool
	c := &cobra.Command{
		Use: "explain FILE", Short: "Explain a policy in plain English",
		Long: `Explain prints the meaning of a policy in plain English: who may do what, how often, at what price, when
and where, and what is forbidden. It also states which duties apply, what follows if they are not
fulfilled, how the rules work together, and which parts are doubtful. Each sentence names the rule that it comes from, by
the rule's uid or its position in the document. FILE may be - for stdin.`,
		Example: `  uimgate policy explain policy.json
  uimgate policy explain policy.json -o markdown > terms.md`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			p, src, err := loadPolicy(c, args[0], lenient)
			if err != nil {
				return err
			}
			e, err := inWords(c, p, src, lenient)
			if err != nil {
				return err
			}
			switch output {
			case "json":
				return cli.PrintJSON(c.OutOrStdout(), e)
			case "markdown":
				return e.write(c.OutOrStdout(), asMarkdown)
			default:
				return e.write(c.OutOrStdout(), asText)
			}
		},
	}
	outputFlag(c, &output, "text", "json", "markdown")
	lenientFlag(c, &lenient)
	uidFlag(c)
	return c
}

// inWords explains a policy in plain English, and adds notes on the problems of its document.
func inWords(c *cobra.Command, p *odrl.Policy, src source, lenient bool) (explanation, error) {
	known, err := vocabularies(c)
	if err != nil {
		return explanation{}, err
	}
	notes := words.Notes(odrl.Validate(c.Context(), src.data, odrl.ValidateOptions{Lenient: lenient, Vocabularies: known}))
	return explanation{p.UID(), append(words.Explain(p), notes...)}, nil
}

// An explanation is the JSON output of policy explain.
type explanation struct {
	UID       string           `json:"uid"`
	Sentences []words.Sentence `json:"sentences"`
}

// topicTitles are the headings of an explanation, in order.
var topicTitles = []struct {
	topic words.Topic
	title string
}{
	{words.Nature, "What this is"},
	{words.Permitted, "What is permitted"},
	{words.Forbidden, "What is forbidden"},
	{words.Owed, "What is owed"},
	{words.Generally, "In general"},
	{words.Noted, "Notes on the document"},
}

// byTopic calls the function each for every heading that has sentences, in order.
func byTopic(list []words.Sentence, each func(title string, sentences []words.Sentence)) {
	for _, t := range topicTitles {
		var of []words.Sentence
		for _, s := range list {
			if s.Topic == t.topic {
				of = append(of, s)
			}
		}
		if len(of) > 0 {
			each(t.title, of)
		}
	}
}

// A layout defines how an explanation is printed: it has a format for each part, and text, which escapes a string.
type layout struct {
	policy, topic, sentence, rule, term string
	text                                func(string) string
}

var (
	asText     = layout{"Policy %s\n", "\n%s\n", "  %s", " [%s]", "    - %s\n", cli.Sanitize[string]}
	asMarkdown = layout{"# Policy %s\n", "\n## %s\n\n", "- %s", " *(%s)*", "  - %s\n", markdown}
)

func (e explanation) write(w io.Writer, l layout) error {
	var b strings.Builder
	fmt.Fprintf(&b, l.policy, l.text(iri(e.UID)))
	byTopic(e.Sentences, func(title string, sentences []words.Sentence) {
		fmt.Fprintf(&b, l.topic, title)
		for _, s := range sentences {
			fmt.Fprintf(&b, l.sentence, l.text(s.Text))
			if s.Rule != "" {
				fmt.Fprintf(&b, l.rule, l.text(iri(s.Rule)))
			}
			b.WriteByte('\n')
			for _, t := range s.Terms {
				fmt.Fprintf(&b, l.term, l.text(t))
			}
		}
	})
	_, err := io.WriteString(w, b.String())
	return err
}

// iri makes a name safe to print without quotes: it replaces the characters that occur neither in an IRI nor in a JSON pointer to a
// known property.
func iri(name string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || !unicode.IsPrint(r) || strings.ContainsRune("\"<>[]{}|\\^`", r) {
			return unicode.ReplacementChar
		}
		return r
	}, name)
}

// markdown escapes a string for Markdown, and for the HTML that is rendered from it.
func markdown(s string) string {
	var b strings.Builder
	for _, r := range cli.Sanitize(s) {
		if strings.ContainsRune("\\`*_[]<>&#|!~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
}

// Terms writes an explanation of the policy of a service in plain English to the writer to, with the sentences of the service's own page.
// If the policy cannot be published for the intents of the catalogue, Terms reads the document strictly or, if that fails, leniently. If
// that fails too, it writes the problems to problemsTo and returns false.
func Terms(c *cobra.Command, to, problemsTo io.Writer, document []byte, catalog *intents.Catalog) (known bool, err error) {
	if p := quote.Publish(c.Context(), document, catalog); p != nil {
		return true, explanation{p.UID(), words.Explain(p)}.write(to, asText)
	}
	src := source{"the policy", document}
	for _, lenient := range []bool{false, true} {
		p, problems := odrl.Load(c.Context(), src.data, odrl.LoadOptions{Lenient: lenient})
		if p == nil && lenient {
			printPolicyProblems(problemsTo, src, problems)
			return false, nil
		}
		if p != nil {
			e, err := inWords(c, p, src, lenient)
			if err != nil {
				return false, err
			}
			return true, e.write(to, asText)
		}
	}
	return false, nil
}
