package openapi

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/intents/openapi/read"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/problem"
)

// config returns uimgate.yaml. Texts of the document are comments of one line, or quoted.
func (i *Import) config(prices charges) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# The gateway in front of %s, made by uimgate init.\n", orElse(i.Title, i.Namespace))
	b.WriteString("# Every other setting has a default that is safe on the internet: uimgate config reference prints them.\n")
	b.WriteString("services:\n- agents_file: " + AgentsFile + "\n  policy_file: " + PolicyFile + "\n")
	b.WriteString("  answers: lenient # what a description promises is not always kept; strict: an answer without it is an error\n  upstream:\n")
	if i.UpstreamGuessed {
		b.WriteString("    # The document has no usable address of the service: set this.\n")
	}
	fmt.Fprintf(&b, "    url: %s\n", strconv.Quote(i.base.origin))
	if i.IdempotencyHeader != "" {
		fmt.Fprintf(&b, "    idempotency_header: %s\n", i.IdempotencyHeader)
	}
	sendable := false
	for _, c := range i.Credentials {
		sendable = sendable || c.Setting != ""
	}
	if sendable {
		b.WriteString("    # What the service wants to see. Set the variable, and take the # away from one of these:\n")
	}
	for _, c := range i.Credentials {
		if c.Setting == "" {
			fmt.Fprintf(&b, "    # %s: %s\n", c.Name, c.Remark)
			continue
		}
		remark := c.Name
		if c.Remark != "" {
			remark += ": " + c.Remark
		}
		fmt.Fprintf(&b, "    # auth: %s   # %s\n", c.Setting, remark)
	}
	if i.ErrorWhen != "" {
		b.WriteString("  # If the service refuses with status 200, remove the #: such an answer is then an error, and not charged.\n" +
			"  # error_when: " + i.ErrorWhen + "\n")
	}
	if len(i.Givens) > 0 {
		b.WriteString("  # What the service wants of you, and not of agents: set the variables (or write ${file:/path}), and take the # away.\n" +
			"  # Agents then neither see nor give it. Leave out what agents should choose.\n  # fixed:\n")
	}
	for _, g := range i.Givens {
		b.WriteString(g.config())
	}
	if fresh := i.freshOnly(); len(fresh) > 0 {
		b.WriteString("  intents:\n")
		for _, uid := range fresh {
			fmt.Fprintf(&b, "    %s: {agreement: fresh}\n", strconv.Quote(uid))
		}
	}
	if prices.currency != "" {
		most := money.Amount{Nano: creditCalls * prices.highest.Nano, Currency: prices.currency}
		fmt.Fprintf(&b, "# The most that one agent may owe: %d calls at the highest price.\nbilling: {credit: %s}\n", creditCalls, most)
	}
	return []byte(b.String())
}

// creditCalls is how many calls at the highest price an agent may initially owe.
const creditCalls = 20

// freshOnly are the UIDs of intents that require a fresh agreement.
func (i *Import) freshOnly() []string {
	fresh := map[string]bool{}
	for _, o := range i.curation.file.Operations {
		fresh[o.UID] = o.Agreement == "fresh"
	}
	var out []string
	for _, in := range i.Intents {
		if uid := in.UID.String(); fresh[uid] {
			out = append(out, uid)
		}
	}
	slices.Sort(out)
	return out
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// Bounds of the lists in the README.
const (
	maxListed = 500 // findings, not counting those of a group that is started
	maxItems  = 500 // operations of one group
)

// readme describes the result and the remaining steps.
func (i *Import) readme() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s, for agents\n\n", markdown(orElse(i.Title, i.Namespace)))
	fmt.Fprintf(&b, "Made by `uimgate init` from an OpenAPI document. "+
		"Offered as intents: %s. Hidden: %d. Impossible to offer: %d.\n\n",
		problem.Counted(len(i.Intents), "operation"), i.Hidden, len(i.Unmapped))
	b.WriteString("| file | |\n| --- | --- |\n| `agents.json` | what is offered: one intent for each operation |\n" +
		"| `openapi.curation.yaml` | the offered operations, with their names, texts and prices: " +
		"edit it and run `uimgate init` again |\n" +
		"| `policy.json` | on which terms: " + i.terms() + " |\n" +
		"| `uimgate.yaml` | where the service is, and how the gateway runs |\n" +
		"| `.uimgate-init.json` | what was written, so that running `uimgate init` again keeps your edits; keep it with the others |\n\n")
	b.WriteString("## Next\n\n")
	step := 0
	next := func(format string, args ...any) {
		step++
		fmt.Fprintf(&b, "%d. %s\n", step, fmt.Sprintf(format, args...))
	}
	if i.UpstreamGuessed {
		next("Set the address of the service: `upstream.url` in `uimgate.yaml`.")
	}
	for _, c := range i.Credentials {
		if c.Setting != "" {
			next("If the service wants %s: set `%s`, and take the `#` away from the line of `uimgate.yaml` that names it.", markdown(c.Name),
				c.Variable)
		} else {
			next("The service may want %s, but %s.", markdown(c.Name), markdown(c.Remark))
		}
	}
	needed := 0
	for _, g := range i.Givens {
		if g.Needed {
			needed++
		}
	}
	if len(i.Givens) > 0 {
		step := fmt.Sprintf("Fill in `fixed` in `uimgate.yaml`. Values that look like yours to give, and not agents': %d.", len(i.Givens))
		if needed > 0 {
			step += fmt.Sprintf(" Values among them without which calls fail: %d.", needed)
		}
		next("%s", step)
	}
	next("Choose what agents may do in `openapi.curation.yaml`: at first what only reads is offered. `uimgate init --review` prints a table " +
		"of all operations, `--pick FILE` offers those that a file lists, and no others.")
	next("Read `agents.json`: describe for each intent when to use it. What you edit here or in the curation file stays.")
	next("Set your terms in `policy.json`: limits, prices, who may.")
	next("`uimgate check -c uimgate.yaml`, then `uimgate serve -c uimgate.yaml`.")
	next("When the document changes, run `uimgate init` again: what you edited stays.")
	findings(&b, "Not offered", i.Unmapped)
	findings(&b, "Left out or changed", i.Notes)
	return []byte(b.String())
}

func (i *Import) terms() string {
	if len(i.Intents) > maxTargets {
		return fmt.Sprintf("%d calls an hour for each agent, over all intents together; nothing is charged", readsPerHour)
	}
	return fmt.Sprintf("reads %d, writes %d times an hour for each agent and intent; prices are those of the curation",
		readsPerHour, writesPerHour)
}

func findings(b *strings.Builder, heading string, all []Finding) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n", heading)
	listed := 0
	for _, g := range Groups(all) {
		if listed >= maxListed {
			fmt.Fprintf(b, "- and %d more\n", len(all)-listed)
			break
		}
		if f := g.Findings[0]; len(g.Findings) == 1 {
			listed++
			if f.Operation != "" {
				fmt.Fprintf(b, "- %s: %s\n", code(f.Operation), markdown(f.Message))
			} else {
				fmt.Fprintf(b, "- %s\n", markdown(f.Message))
			}
			continue
		}
		items := g.Items()
		fmt.Fprintf(b, "- %s: %s\n", markdown(g.Message), problem.Counted(len(items), "operation"))
		listed += len(g.Findings)
		for n, f := range items {
			if n == maxItems {
				fmt.Fprintf(b, "  - and %d more\n", len(items)-n)
				break
			}
			if f.Message != "" {
				fmt.Fprintf(b, "  - %s: %s\n", code(f.Operation), markdown(f.Message))
			} else {
				fmt.Fprintf(b, "  - %s\n", code(f.Operation))
			}
		}
	}
}

func code(s string) string { return "`" + strings.ReplaceAll(s, "`", "'") + "`" }

var markdownEscapes = strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "<",
	"&lt;", ">", "&gt;", "|", "\\|", "#", "\\#", "!", "\\!")

// markdown escapes a text of the document for Markdown.
func markdown(s string) string { return markdownEscapes.Replace(read.Line(s, 500)) }
