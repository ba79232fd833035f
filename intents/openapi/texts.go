package openapi

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/intents/openapi/read"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/problem"
)

// config returns uimgate.yaml. Text from the document appears only in one-line comments or in quotation marks.
func (i *Import) config(prices charges, replaced lineage) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# The gateway in front of %s, created by uimgate init.\n", cmp.Or(i.Title, i.Namespace))
	b.WriteString("# Every other setting has a default that is safe on the internet: uimgate config reference prints them.\n")
	service := "- "
	if i.Email != "" {
		fmt.Fprintf(&b, "server:\n  listen: :443\n  tls: {acme: {email: %s, agree: true}} # certificates from Let's Encrypt\n", strconv.Quote(i.Email))
		service = "- public_url: https://" + i.Namespace + "\n  "
	}
	b.WriteString("services:\n" + service + "agents_file: " + AgentsFile + "\n  policy_file: " + PolicyFile + "\n")
	b.WriteString("  answers: lenient # responses may deviate from their description; strict: a response without a required output is an error\n  upstream:\n")
	if i.UpstreamGuessed {
		b.WriteString("    # The document has no usable address of the service: set this.\n")
	}
	if t := i.options.Tools; t != nil {
		b.WriteString(t.config())
	} else {
		fmt.Fprintf(&b, "    url: %s\n", strconv.Quote(i.base.origin))
	}
	if i.IdempotencyHeader != "" {
		fmt.Fprintf(&b, "    idempotency_header: %s\n", i.IdempotencyHeader)
	}
	sendable := false
	for _, c := range i.Credentials {
		sendable = sendable || c.Setting != ""
	}
	if sendable {
		b.WriteString("    # The credentials that the service requires. Set the variable, and remove the # from one of these lines:\n")
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
		b.WriteString("  # If the service refuses calls with status 200, remove the #: such a response is then an error and is not charged.\n" +
			"  # error_when: " + i.ErrorWhen + "\n")
	}
	if len(i.Givens) > 0 {
		b.WriteString("  # Values that the service requires from you, not from agents. Set the variables (or write ${file:/path}), and remove the #.\n" +
			"  # Agents then neither see nor send these values. Delete the lines of values that agents should choose.\n  # fixed:\n")
	}
	for _, g := range i.Givens {
		b.WriteString(g.config())
	}
	b.WriteString(i.intentRules(replaced))
	if prices.currency != "" {
		most := money.Amount{Nano: creditCalls * prices.highest.Nano, Currency: prices.currency}
		fmt.Fprintf(&b, `# credit: an agent that you have approved may owe at most this, %d calls at the highest price.
# newcomers: an agent that you have not approved may owe at most a tenth of it, %d calls. All agents that you have not approved together may
# owe at most credit. Credit that they use becomes available to them again gradually, within 24 hours.
billing: {credit: %s}
`, creditCalls, creditCalls/10, most)
	}
	return []byte(b.String())
}

// config returns the settings of the server below upstream.
func (t *ToolServer) config() string {
	var b strings.Builder
	b.WriteString("    mcp: # each intent calls a tool of this server: the last part of its endpoint\n")
	if t.URL != "" {
		fmt.Fprintf(&b, "      url: %s\n", strconv.Quote(t.URL))
	} else {
		fmt.Fprintf(&b, "      command: %s\n", literal(t.Command))
	}
	if len(t.Args) > 0 {
		var quoted []string
		for _, arg := range t.Args {
			quoted = append(quoted, literal(arg))
		}
		fmt.Fprintf(&b, "      args: [%s]\n", strings.Join(quoted, ", "))
	}
	var open, secret strings.Builder
	for _, v := range t.Env {
		name, value, _ := strings.Cut(v, "=")
		if isPublic(name) {
			fmt.Fprintf(&open, "        %s: %s\n", strconv.Quote(name), literal(value))
		} else {
			fmt.Fprintf(&secret, "        %s: ${%s}\n", strconv.Quote(name), variable(name))
		}
	}
	if open.Len() > 0 {
		b.WriteString("      env: # the process receives no variables but these and those of secret_env\n" + open.String())
	}
	if secret.Len() > 0 {
		b.WriteString("      # Values that agents must not see. Set these variables for the gateway, or write ${file:/path}.\n      secret_env:\n" +
			secret.String())
	}
	if t.HeaderFile != "" {
		fmt.Fprintf(&b, "    auth: {header: %s}\n", strconv.Quote("${file:"+t.HeaderFile+"}"))
	}
	return b.String()
}

// Variables returns the environment variables that the configuration refers to, with their values from Env.
func (t *ToolServer) Variables() map[string]string {
	out := map[string]string{}
	for _, v := range t.Env {
		if name, value, _ := strings.Cut(v, "="); !isPublic(name) {
			out[variable(name)] = value
		}
	}
	return out
}

// literal quotes s for the configuration, and escapes ${ in it, so that the gateway reads exactly s.
func literal(s string) string { return strconv.Quote(strings.ReplaceAll(s, "${", "$${")) }

// isPublic reports whether an environment variable usually contains no secret. Only the values of such variables are written to files.
func isPublic(name string) bool {
	switch name {
	case "PATH", "HOME", "USER", "SHELL", "LANG", "TZ", "TMPDIR", "PWD", "NODE_ENV", "NODE_PATH", "PYTHONPATH", "VIRTUAL_ENV":
		return true
	default:
		return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_")
	}
}

// variable returns name as the name of a variable that a configuration can refer to.
func variable(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '_' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z' {
			return r
		}
		return '_'
	}, name)
	if name[0] <= '9' {
		name = "_" + name
	}
	return name
}

// creditCalls is how many calls at the highest price an agent may initially owe.
const creditCalls = 20

// freshOnly returns the UIDs of the intents that require a fresh agreement: offered intents, and the intents that they replace.
func (i *Import) freshOnly(replaced lineage) []string {
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
	for uid, next := range replaced {
		if fresh[next] && !slices.Contains(out, uid) {
			out = append(out, uid)
		}
	}
	slices.Sort(out)
	return out
}

// Bounds of the lists in the README.
const (
	maxListed = 500 // number of findings after which no further group is listed
	maxItems  = 500 // maximum number of operations listed for one group
)

// readme returns README.md, which describes the result and the remaining steps.
func (i *Import) readme() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s, for agents\n\n", markdown(cmp.Or(i.Title, i.Namespace)))
	source := "an OpenAPI document"
	if i.options.Tools != nil {
		source = "the tools of an MCP server"
	}
	fmt.Fprintf(&b, "Created by `uimgate init` from "+source+". "+
		"Offered as intents: %s. Hidden: %d. Cannot be offered: %d.\n\n",
		problem.Counted(len(i.Intents), "operation"), i.Hidden, len(i.Unmapped))
	b.WriteString("| file | |\n| --- | --- |\n| `agents.json` | what agents find: one intent for each offered operation |\n" +
		"| `openapi.curation.yaml` | which operations are offered, with which names, texts and prices: " +
		"edit it, then run `uimgate init` again |\n" +
		"| `policy.json` | the terms of use: " + i.terms() + " |\n" +
		"| `uimgate.yaml` | the address of the service, and the settings of the gateway |\n" +
		"| `.uimgate-init.json` | a record of what was written, so that `uimgate init` keeps your edits; keep it with the other files |\n\n")
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
			next("If the service requires %s: set `%s`, and remove the `#` from the line in `uimgate.yaml` that contains it.", markdown(c.Name),
				c.Variable)
		} else {
			next("The service may require %s, but %s.", markdown(c.Name), markdown(c.Remark))
		}
	}
	needed := 0
	for _, g := range i.Givens {
		if g.Needed {
			needed++
		}
	}
	if len(i.Givens) > 0 {
		step := fmt.Sprintf("Fill in `fixed` in `uimgate.yaml`. Values that you, and not agents, may have to supply: %d.", len(i.Givens))
		if needed > 0 {
			step += fmt.Sprintf(" Calls fail without %d of them.", needed)
		}
		next("%s", step)
	}
	next("Choose what agents may do in `openapi.curation.yaml`: at first, only operations that read are offered. `uimgate init --review` " +
		"prints a table of all operations; `--pick FILE` offers only the operations that a file lists.")
	next("Review `agents.json`: describe for each intent when to use it. Your edits here and in the curation file are kept.")
	next("Set prices and limits in `openapi.curation.yaml`, and run `uimgate init` again. Set other terms, such as who may call, in " +
		"`policy.json`.")
	next("Run `uimgate check -c uimgate.yaml`, then `uimgate serve -c uimgate.yaml`.")
	next("When the document changes, run `uimgate init` again: it keeps your edits.")
	findings(&b, "Not offered", i.Unmapped)
	findings(&b, "Omitted or changed", i.Notes)
	return []byte(b.String())
}

func (i *Import) terms() string {
	if len(i.Intents) > maxTargets {
		return fmt.Sprintf("%d calls an hour for each agent, over all intents together; nothing is charged", readsPerHour)
	}
	return fmt.Sprintf("%d reads and %d writes an hour for each agent and intent; prices as in the curation file; "+
		"agents that you have not approved also share the limits `pat.newcomers` (calls that cost nothing) and `billing.newcomers`",
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

// markdown escapes text from the document for Markdown, in one line of at most 500 characters.
func markdown(s string) string { return markdownEscapes.Replace(read.Line(s, 500)) }
