package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/words"
	"github.com/uimgate/uimgate/pat"
)

// A difference is policy diff as JSON.
type difference struct {
	Old       string `json:"old,omitempty"` // digests; of a document that can be offered to agents
	New       string `json:"new,omitempty"`
	AgreeAnew bool   `json:"agree_anew"`
	words.Comparison
}

func policyDiffCommand() *cobra.Command {
	var output string
	var lenient bool
	c := &cobra.Command{
		Use: "diff OLD NEW", Short: "Say what changes for agents from one policy to another",
		Long: `Diff compares two policies by what they mean, not by how they are written, and says what changes for
the agents that act under them: rules that come and go, limits, prices, conditions and duties that get
tighter or looser, and whether each change is better or worse for the agent. It also says whether agents
must agree anew, which is so whenever the digest of the document changes. One of the two may be - for
stdin. The exit code is 0 whether or not there are changes.`,
		Example: `  uimgate policy diff policy.json new-policy.json
  git show HEAD:policy.json | uimgate policy diff - policy.json -o json`,
		Args: usageArgs(cobra.ExactArgs(2)),
		RunE: func(c *cobra.Command, args []string) error {
			if err := onlyOneStdin(args[0], args[1]); err != nil {
				return err
			}
			before, first, err := loadPolicy(c, args[0], lenient)
			if err != nil {
				return err
			}
			after, second, err := loadPolicy(c, args[1], lenient)
			if err != nil {
				return err
			}
			d := difference{Comparison: words.Compare(before, after)}
			d.Old, d.New = digestOf(first), digestOf(second)
			d.AgreeAnew = d.Old != d.New || d.Old == ""
			if output == "json" {
				return printJSON(c.OutOrStdout(), d)
			}
			return d.print(c.OutOrStdout())
		},
	}
	outputFlag(c, &output, "text", "json")
	lenientFlag(c, &lenient)
	uidFlag(c)
	return c
}

// digestOf is the digest of a policy; empty where the document cannot be offered, since it is too large or
// holds numbers that agents would lose.
func digestOf(src source) string {
	digest, err := pat.PolicyDigest(src.data)
	if err != nil {
		return ""
	}
	return digest
}

// verdicts word the sum of the changes.
var verdicts = map[words.Effect]string{
	words.Better: "Better for agents.", words.Worse: "Worse for agents.",
	words.Mixed: "Better for agents in parts and worse in others, or not to be told.",
}

func (d *difference) print(w io.Writer) error {
	var b strings.Builder
	last := ""
	for _, change := range d.Changes {
		where := change.New
		if where == "" {
			where = change.Old
		}
		if heading := where + change.About; heading != last {
			last = heading
			if where == "" {
				b.WriteString("The whole policy\n")
			} else {
				fmt.Fprintf(&b, "%s [%s]\n", sanitize(change.About), iri(where))
			}
		}
		fmt.Fprintf(&b, "  %-7s %s\n", change.Effect, sanitize(change.Text))
	}
	switch verdict, changed := verdicts[d.Verdict]; {
	case len(d.Changes) == 0:
		b.WriteString("Nothing changes for agents.\n")
	case changed:
		b.WriteString(verdict + "\n")
	default:
		b.WriteString("What agents may and must do stays the same.\n")
	}
	if d.AgreeAnew {
		b.WriteString("The document is another one: agents must agree anew.\n")
	} else {
		b.WriteString("The document means the same to RFC 8785: agreements go on.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func policyExplainCommand() *cobra.Command {
	var output string
	var lenient bool
	c := &cobra.Command{
		Use: "explain FILE", Short: "Say in plain words what a policy means",
		Long: `Explain says in plain English what a policy means: who may do what, how often, at what price, when and
where; what is forbidden; what is owed, and what follows where it is not done; how the rules work
together; and what is doubtful about it. Each sentence names the rule it comes from, by its uid or its
place in the document. FILE is - for stdin.`,
		Example: `  uimgate policy explain policy.json
  uimgate policy explain policy.json -o markdown > terms.md`,
		Args: usageArgs(cobra.ExactArgs(1)),
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
				return printJSON(c.OutOrStdout(), e)
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

// inWords is a policy in plain words, with what is doubtful about its document.
func inWords(c *cobra.Command, p *odrl.Policy, src source, lenient bool) (explanation, error) {
	known, err := vocabularies(c)
	if err != nil {
		return explanation{}, err
	}
	notes := words.Notes(odrl.Validate(c.Context(), src.data, odrl.ValidateOptions{Lenient: lenient, Vocabularies: known}))
	return explanation{p.UID(), append(words.Explain(p), notes...)}, nil
}

// An explanation is policy explain as JSON.
type explanation struct {
	UID       string           `json:"uid"`
	Sentences []words.Sentence `json:"sentences"`
}

// topicTitles are the headings, in order.
var topicTitles = []struct {
	topic words.Topic
	title string
}{
	{words.Nature, "What this is"},
	{words.Permitted, "What is permitted"},
	{words.Forbidden, "What is forbidden"},
	{words.Owed, "What is owed"},
	{words.Generally, "In general"},
	{words.Noted, "What to know about the document"},
}

// byTopic calls each for every heading that has sentences.
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

// A layout is how an explanation is set: a format for each of its parts, and how a text is escaped.
type layout struct {
	policy, topic, sentence, rule, term string
	text                                func(string) string
}

var (
	asText     = layout{"Policy %s\n", "\n%s\n", "  %s", " [%s]", "    - %s\n", sanitize[string]}
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

// iri is a name as it can stand unquoted in a line: what no IRI and no JSON pointer to a known property holds is replaced.
func iri(name string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || !unicode.IsPrint(r) || strings.ContainsRune("\"<>[]{}|\\^`", r) {
			return unicode.ReplacementChar
		}
		return r
	}, name)
}

// markdown escapes a text for Markdown and for HTML made of it.
func markdown(s string) string {
	var b strings.Builder
	for _, r := range sanitize(s) {
		if strings.ContainsRune("\\`*_[]<>&#|!~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return strings.ReplaceAll(b.String(), "\n", " ")
}
