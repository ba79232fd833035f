package openapi

import (
	"bytes"
	"embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"

	"github.com/uimgate/uimgate/intents/openapi/read"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/problem"
)

//go:embed uimgate.yaml.tmpl README.md.tmpl
var templates embed.FS

var texts = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"quote": strconv.Quote, "literal": literal, "markdown": markdown, "counted": problem.Counted[int], "findings": findings,
	}).ParseFS(templates, "*.tmpl"))
})

// A text is the data of the templates of uimgate.yaml and README.md.
type text struct {
	*Import
	Tools                              *tools // nil if the document describes an HTTP API
	Origin                             string
	Sendable                           bool // the gateway can send one of the credentials
	Needed                             int  // values without which calls fail
	OneLimit                           bool // the policy has one limit over all intents
	ReadsPerHour, WritesPerHour        int
	Fresh                              []string          // the intents that require a fresh agreement
	Refusals, Others                   map[string]string // error_when by UID; Others are those of intents that are not in Fresh
	Credit                             string            // empty if no intent has a price
	CreditCalls, NewcomerCalls, number int
}

// Step returns the next number of a list.
func (t *text) Step() int {
	t.number++
	return t.number
}

// tools are a ToolServer with the names and values of its environment variables. The values of Secret refer to variables of the gateway.
type tools struct {
	*ToolServer
	Public, Secret [][2]string
}

// text returns the text of ConfigFile or ReadmeFile.
func (i *Import) text(name string, prices charges, replaced lineage) ([]byte, error) {
	t := text{
		Import: i, Origin: i.base.origin, OneLimit: len(i.Intents) > maxTargets, ReadsPerHour: readsPerHour, WritesPerHour: writesPerHour,
		Sendable: slices.ContainsFunc(i.Credentials, func(c Credential) bool { return c.Setting != "" }),
		Fresh:    i.freshOnly(replaced), Refusals: i.refusals(replaced), CreditCalls: creditCalls, NewcomerCalls: creditCalls / 10,
	}
	t.Others = maps.Clone(t.Refusals)
	for _, uid := range t.Fresh {
		delete(t.Others, uid)
	}
	for _, g := range i.Givens {
		if g.Needed {
			t.Needed++
		}
	}
	if prices.currency != "" {
		t.Credit = money.Amount{Nano: creditCalls * prices.highest.Nano, Currency: prices.currency}.String()
	}
	if server := i.options.Tools; server != nil {
		t.Tools = &tools{ToolServer: server}
		for _, v := range server.Env {
			if name, value, _ := strings.Cut(v, "="); isPublic(name) {
				t.Tools.Public = append(t.Tools.Public, [2]string{name, value})
			} else {
				t.Tools.Secret = append(t.Tools.Secret, [2]string{name, "${" + variable(name) + "}"})
			}
		}
	}
	var out bytes.Buffer
	if err := texts().ExecuteTemplate(&out, name+".tmpl", &t); err != nil {
		return nil, fmt.Errorf("writing %s: %w", name, err)
	}
	return out.Bytes(), nil
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

// findings returns a section of README.md. It is empty if there are no findings.
func findings(heading string, all []Finding) string {
	if len(all) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n## %s\n\n", heading)
	listed := 0
	for _, g := range Groups(all) {
		if listed >= maxListed {
			fmt.Fprintf(&b, "- and %d more\n", len(all)-listed)
			break
		}
		if f := g.Findings[0]; len(g.Findings) == 1 {
			listed++
			if f.Operation != "" {
				fmt.Fprintf(&b, "- %s: %s\n", code(f.Operation), markdown(f.Message))
			} else {
				fmt.Fprintf(&b, "- %s\n", markdown(f.Message))
			}
			continue
		}
		items := g.Items()
		fmt.Fprintf(&b, "- %s: %s\n", markdown(g.Message), problem.Counted(len(items), "operation"))
		listed += len(g.Findings)
		for n, f := range items {
			if n == maxItems {
				fmt.Fprintf(&b, "  - and %d more\n", len(items)-n)
				break
			}
			if f.Message != "" {
				fmt.Fprintf(&b, "  - %s: %s\n", code(f.Operation), markdown(f.Message))
			} else {
				fmt.Fprintf(&b, "  - %s\n", code(f.Operation))
			}
		}
	}
	return b.String()
}

func code(s string) string { return "`" + strings.ReplaceAll(s, "`", "'") + "`" }

var markdownEscapes = strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "<",
	"&lt;", ">", "&gt;", "|", "\\|", "#", "\\#", "!", "\\!")

// markdown escapes text from the document for Markdown, in one line of at most 500 characters.
func markdown(s string) string { return markdownEscapes.Replace(read.Line(s, 500)) }
