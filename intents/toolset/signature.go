package toolset

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/lines"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// signatureBytes is the maximum length, in bytes, of a signature with optional details. Such a signature takes fewer than 400 tokens of a
// model.
const signatureBytes = 1400

// maxSignature is the maximum length of a signature, in bytes.
const maxSignature = 16 << 10

// A detail is a level of detail of a signature. Signature uses the first level at which the text has at most signatureBytes.
type detail struct {
	about    int  // characters of the description of the intent
	remarks  int  // characters of the description of a parameter
	depth    int  // how deep objects are nested at most
	optional bool // types of the optional parameters, and not only their names
	outputs  bool // types of the outputs, and not only their names
}

var details = []detail{
	{600, 120, 4, true, true},
	{300, 60, 3, true, true},
	{200, 40, 2, true, false},
	{160, 0, 2, true, false},
	{120, 0, 1, false, false},
}

// maxNames is the maximum number of optional parameters or outputs that a signature lists by name.
const maxNames = 25

// Signature describes an intent in a few lines for a model: what it does, its parameters and results in TypeScript notation with their
// constraints, its terms and an example. It lists all required parameters. The text has about 1,400 bytes at most, unless the required
// parameters need more; it is truncated after 16 KiB.
func Signature(e Entry) string {
	text := ""
	for _, d := range details {
		if text = signature(e, d); len(text) <= signatureBytes {
			break
		}
	}
	if len(text) > maxSignature {
		text = strings.ToValidUTF8(text[:maxSignature], "") + "…"
	}
	return text
}

func signature(e Entry, d detail) string {
	in := e.Intent
	lines := []string{e.ID}
	if about := short(in.Description, d.about); about != "" {
		lines = append(lines, about)
	}
	lines = append(lines, call(in, d))
	var notes []string
	if e.Terms != "" {
		notes = append(notes, "Terms: "+short(e.Terms, 2*maxTerms)+".")
	}
	if in.Safe {
		notes = append(notes, "Safe: it changes nothing.")
	}
	if !in.RetireAfter.IsZero() {
		notes = append(notes, "It ends at "+in.RetireAfter.UTC().Format("2006-01-02T15:04Z")+".")
	}
	if len(notes) > 0 {
		lines = append(lines, strings.Join(notes, " "))
	}
	if example := example(in); example != "" && len(example) <= 300 {
		lines = append(lines, "Example parameters: "+example)
	}
	return strings.Join(lines, "\n")
}

// call returns the parameters and the result as a function type of TypeScript.
func call(in *intents.Intent, d detail) string {
	var out strings.Builder
	out.WriteString("(parameters: {")
	var omitted []string
	for i := range in.Inputs {
		p := &in.Inputs[i]
		if !p.Required && !d.optional {
			omitted = append(omitted, p.Name)
			continue
		}
		s := typer{root: p.Schema, depth: d.depth}
		mark := "?"
		if p.Required {
			mark = ""
		}
		out.WriteString("\n  " + name(p.Name) + mark + ": " + s.of(map[string]any(p.Schema), 0))
		if remark := s.remark(p, d.remarks); remark != "" {
			out.WriteString(" // " + remark)
		}
	}
	if len(omitted) > 0 {
		out.WriteString("\n  // optional: " + listed(omitted))
	}
	if len(in.Inputs) > 0 {
		out.WriteByte('\n')
	}
	return out.String() + "}) => " + result(in, d)
}

func result(in *intents.Intent, d detail) string {
	if len(in.Outputs) == 0 {
		return "unknown"
	}
	var members []string
	for i := range in.Outputs {
		p := &in.Outputs[i]
		mark := "?"
		if p.Required {
			mark = ""
		}
		member := name(p.Name) + mark
		if d.outputs {
			s := typer{root: p.Schema, depth: min(d.depth, 2)}
			member += ": " + s.of(map[string]any(p.Schema), 0)
		}
		members = append(members, member)
	}
	if !d.outputs && len(members) > maxNames {
		members = append(members[:maxNames], "…")
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// listed joins names, at most maxNames of them.
func listed(names []string) string {
	if len(names) > maxNames {
		names = append(slices.Clone(names[:maxNames]), "…")
	}
	for i, n := range names {
		names[i] = lines.Clean(n, len(n))
	}
	return strings.Join(names, ", ")
}

// example returns example values of the required parameters as JSON, or "" if the intent does not have an example of each.
func example(in *intents.Intent) string {
	values := map[string]any{}
	for i := range in.Inputs {
		p := &in.Inputs[i]
		if !p.Required {
			continue
		}
		v, ok := exampleOf(p.Schema)
		if !ok {
			return ""
		}
		values[p.Name] = v
	}
	if len(values) == 0 {
		return ""
	}
	text, err := strictjson.Append(nil, values)
	if err != nil {
		return ""
	}
	return lines.Clean(string(text), len(text))
}

func exampleOf(schema map[string]any) (any, bool) {
	for _, list := range []string{"examples", "enum"} {
		if values, ok := schema[list].([]any); ok && len(values) > 0 {
			return values[0], true
		}
	}
	for _, member := range []string{"example", "const", "default"} {
		if v, ok := schema[member]; ok {
			return v, true
		}
	}
	return nil, false
}

// name returns the name of a member in TypeScript notation.
func name(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) && !unicode.IsDigit(rune(s[0])) {
		return s
	}
	return literal(s)
}

const maxLiteral = 200 // characters

// literal returns a value as JSON in one line.
func literal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "unknown"
	}
	return short(string(text), maxLiteral)
}
