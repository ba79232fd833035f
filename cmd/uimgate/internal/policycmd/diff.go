package policycmd

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/words"
	"github.com/uimgate/uimgate/pat"
)

// A difference is the JSON output of policy diff.
type difference struct {
	Old       string `json:"old,omitempty"` // a digest; empty if the document cannot be offered to agents
	New       string `json:"new,omitempty"`
	AgreeAnew bool   `json:"agree_anew"` // for intents whose terms change or, if the uid changes, for every intent
	otherUID  bool
	words.Comparison
}

func policyDiffCommand() *cobra.Command {
	var output string
	var lenient bool
	c := &cobra.Command{
		Use: "diff OLD NEW", Short: "Show what changes for agents between two policies",
		Long: `Diff compares the meaning of two policies, not their text. It reports what changes for agents: rules that are added
and removed, and limits, prices, conditions and duties that become tighter or looser. It reports whether each change
is better or worse for the agent. It then decides the same requests under both policies, at the bounds of their
conditions, and reports whether the decisions are wider, narrower or both, with an example. It also reports whether
agents must agree again before they call the intents whose terms change or, if the uid of the policy changes, before
they call any intent. One of the two files may be - for stdin. The exit code is 0 whether or not the policies differ.`,
		Example: `  uimgate policy diff policy.json new-policy.json
  git show HEAD:policy.json | uimgate policy diff - policy.json -o json`,
		Args: cli.Args(cobra.ExactArgs(2)),
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
			if err := d.Judge(c.Context(), before, after); err != nil {
				return err
			}
			d.Old, d.New = digestOf(first), digestOf(second)
			d.otherUID = before.UID() != after.UID()
			d.AgreeAnew = d.otherUID || len(d.Changes) > 0 || d.Old == ""
			if output == "json" {
				return cli.PrintJSON(c.OutOrStdout(), d)
			}
			return d.print(c.OutOrStdout())
		},
	}
	outputFlag(c, &output, "text", "json")
	lenientFlag(c, &lenient)
	uidFlag(c)
	return c
}

// Changes writes the changes for agents when one policy replaces another, in the sentences of policy diff. It returns false, and writes
// nothing, if one of the policies cannot be read.
func Changes(c *cobra.Command, to io.Writer, before, after []byte) (known bool, err error) {
	var list [2]*odrl.Policy
	for i, document := range [][]byte{before, after} {
		for _, lenient := range []bool{false, true} {
			if list[i] == nil {
				list[i], _ = odrl.Load(c.Context(), document, odrl.LoadOptions{Lenient: lenient})
			}
		}
		if list[i] == nil {
			return false, nil
		}
	}
	d := difference{Comparison: words.Compare(list[0], list[1]), otherUID: list[0].UID() != list[1].UID()}
	var b strings.Builder
	b.WriteString("Compared with the policy that you have agreed to:\n")
	d.writeChanges(&b)
	if d.otherUID {
		b.WriteString("The uid of the policy changes: this agreement is needed for every call.\n")
	}
	_, err = io.WriteString(to, b.String())
	return true, err
}

// digestOf returns the digest of a policy. It returns "" if the document cannot be offered, because it is too large or has numbers that
// agents cannot represent.
func digestOf(src source) string {
	digest, err := pat.PolicyDigest(src.data)
	if err != nil {
		return ""
	}
	return digest
}

// verdicts maps each verdict on changes that affect agents to a sentence.
var verdicts = map[words.Effect]string{
	words.Better: "Better for agents.", words.Worse: "Worse for agents.",
	words.Mixed: "Better for agents in some parts and worse in others, or uncertain.",
}

// writeChanges writes each change and the verdict.
func (d *difference) writeChanges(b *strings.Builder) {
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
				fmt.Fprintf(b, "%s [%s]\n", cli.Sanitize(change.About), iri(where))
			}
		}
		fmt.Fprintf(b, "  %-7s %s\n", change.Effect, cli.Sanitize(change.Text))
	}
	switch verdict, changed := verdicts[d.Verdict]; {
	case len(d.Changes) == 0:
		b.WriteString("Nothing changes for agents.\n")
	case changed:
		b.WriteString(verdict + "\n")
	default:
		b.WriteString("The permissions and duties of agents stay the same.\n")
	}
}

func (d *difference) print(w io.Writer) error {
	var b strings.Builder
	d.writeChanges(&b)
	if d.Decided != nil {
		writeDecided(&b, d.Decided)
	}
	switch {
	case d.otherUID:
		b.WriteString("The uid of the policy changes: agents must agree again.\n")
	case d.AgreeAnew:
		b.WriteString("Agents must agree again to call the intents whose terms change; agreements remain valid for other intents.\n")
	case d.Old != d.New:
		b.WriteString("The document changes and its meaning does not: agreements remain valid.\n")
	default:
		b.WriteString("The digest of the document (RFC 8785) stays the same: agreements remain valid.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// shifts maps each shift of decisions to a sentence, into which the number of requests that were decided is inserted.
var shifts = map[words.Shift]string{
	words.None: "No decision changes (%s at the bounds of both policies): the new policy has the same meaning.\n",
	words.Wider: "Decisions are wider (%s at the bounds of both policies): some change in favour of agents, and none against " +
		"them.\n",
	words.Narrower: "Decisions are narrower (%s at the bounds of both policies): some change against agents, and none in favour of " +
		"them.\n",
	words.Both:      "Decisions are wider for some requests and narrower for others (%s at the bounds of both policies).\n",
	words.Changed:   "Decisions change (%s at the bounds of both policies; not all such requests could be tried).\n",
	words.Unchecked: "Unchecked: %s at the bounds of both policies are decided alike, but not all such requests could be tried.\n",
}

func writeDecided(b *strings.Builder, d *words.Decisions) {
	if d.Shift == words.Unchecked && d.Requests == 0 {
		fmt.Fprintf(b, "Unchecked: the policies are too large to decide the same requests under both (%s). "+
			"The changes above come from comparing the documents.\n", d.Bound)
		return
	}
	fmt.Fprintf(b, shifts[d.Shift], problem.Counted(d.Requests, "request"))
	if d.Bound != "" {
		fmt.Fprintf(b, "  %-8s %s\n", "bound", d.Bound)
	}
	for _, way := range []struct {
		name string
		of   *words.Example
	}{{"wider", d.Wider}, {"narrower", d.Narrower}} {
		if way.of != nil {
			fmt.Fprintf(b, "  %-8s %s: %s\n", way.name, requestOf(way.of), cli.Sanitize(way.of.Text))
		}
	}
}

// requestOf formats a request on one line.
func requestOf(e *words.Example) string {
	party, target := "someone", "something else"
	if e.Party != "" {
		party = iri(e.Party)
	}
	if e.Target != "" {
		target = iri(e.Target)
	}
	parts := []string{party + " asks to " + iri(e.Action) + " " + target}
	if e.Time != "" {
		parts = append(parts, "at "+e.Time)
	}
	if e.Signed {
		parts = append(parts, "signed")
	}
	if len(e.Context) > 0 {
		if facts, err := json.Marshal(e.Context); err == nil {
			parts = append(parts, "with "+cli.Sanitize(string(facts)))
		}
	}
	return strings.Join(parts, ", ")
}
