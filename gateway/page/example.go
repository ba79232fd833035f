package page

import (
	"encoding/json"
	"maps"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// Example returns the names of the required parameters of an intent, in the order of the intent, and example values that it derives from
// their schemas. Example replaces an invalid value with the placeholder <name>; placeholders reports whether it replaced any.
func Example(in *intents.Intent) (names []string, values map[string]any, placeholders bool) {
	values = map[string]any{}
	for i := range in.Inputs {
		if p := &in.Inputs[i]; p.Required {
			names = append(names, p.Name)
			values[p.Name] = sample(p.Schema, 0)
		}
	}
	_, violations := in.Validate(values)
	for _, v := range violations {
		for _, name := range names {
			if within := "/" + strictjson.Escape(name); v.Pointer == within ||
				strings.HasPrefix(v.Pointer, within+"/") {
				values[name], placeholders = "<"+name+">", true
			}
		}
	}
	return names, values, placeholders
}

// exampleCall returns a shell command that calls an intent with the parameters of Example. If proved is true, the command has a header with
// a proof of key. Text from the operator is in single quotes, so that a shell expands nothing in it.
func exampleCall(execute string, in *intents.Intent, proved bool) (command string, placeholders bool) {
	names, values, placeholders := Example(in)
	members := make([]string, 0, len(names))
	for _, name := range names {
		members = append(members, "    "+jsonText(name)+": "+jsonText(values[name]))
	}
	parameters := "{}"
	if len(members) > 0 {
		parameters = "{\n" + strings.Join(members, ",\n") + "\n  }"
	}
	body := "{\n  \"intent_uid\": " + jsonText(in.UID.String()) + ",\n  \"parameters\": " + parameters + "\n}"
	lines := []string{
		"curl " + shellQuoted(execute),
		`-H "Authorization: Bearer $PAT"`,
		"-H 'Content-Type: application/json'",
	}
	if !in.Safe {
		lines = append(lines, `-H "Idempotency-Key: $(uuidgen)"`)
	}
	if proved {
		lines = append(lines, `-H "UIM-Proof: $PROOF"`)
	}
	// In JSON, apostrophes occur only inside strings, where they can be escaped.
	lines = append(lines, "-d '"+strings.ReplaceAll(body, "'", `\u0027`)+"'")
	return strings.Join(lines, " \\\n  "), placeholders
}

// shellQuoted quotes a word for a POSIX shell.
func shellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// formatSamples are example values for the formats of strings.
var formatSamples = map[string]string{
	"date": "2026-01-31", "time": "09:30:00Z", "date-time": "2026-01-31T09:30:00Z", "duration": "P1D", "email": "name@example.com",
	"hostname": "www.example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "uuid": "01890a5d-ac96-774b-bcce-b302099a8057",
	"uri": "https://example.com/", "iri": "https://example.com/", "uri-reference": "/path", "json-pointer": "/member", "regex": "^a+$",
	"byte": "aGk=",
}

// sample returns a value that a schema probably accepts, nested at most four levels deep.
func sample(schema map[string]any, depth int) any {
	if list, ok := schema["examples"].([]any); ok && len(list) > 0 {
		return list[0]
	}
	for _, name := range []string{"example", "const", "default"} {
		if v, has := schema[name]; has && v != nil {
			return v
		}
	}
	if list, ok := schema["enum"].([]any); ok && len(list) > 0 {
		return list[0]
	}
	for _, name := range []string{"anyOf", "oneOf"} {
		if list, ok := schema[name].([]any); ok && len(list) > 0 {
			if first, ok := list[0].(map[string]any); ok {
				return sample(first, depth+1)
			}
		}
	}
	const deepest = 4
	if depth > deepest {
		return nil
	}
	switch kindOf(schema) {
	case "string":
		return sampleText(schema)
	case "number", "integer":
		return sampleNumber(schema)
	case "boolean":
		return true
	case "array":
		return sampleList(schema, depth)
	case "object":
		return sampleObject(schema, depth)
	default:
		return "text"
	}
}

func kindOf(schema map[string]any) string {
	switch t := schema["type"].(type) {
	case string:
		return t
	case []any:
		for _, v := range t {
			if s, ok := v.(string); ok && s != "null" {
				return s
			}
		}
	}
	return ""
}

func sampleText(schema map[string]any) string {
	if pattern, ok := schema["pattern"].(string); ok {
		s, _ := matching(pattern)
		return s
	}
	format, _ := schema["format"].(string)
	if s, ok := formatSamples[format]; ok {
		return s
	}
	const most = 200
	s := "text"
	if n, ok := wholeNumber(schema["minLength"]); ok && n > len(s) && n <= most {
		s = strings.Repeat(s, n/len(s)+1)[:n]
	}
	if n, ok := wholeNumber(schema["maxLength"]); ok && n < len(s) {
		s = s[:n]
	}
	return s
}

func sampleNumber(schema map[string]any) any {
	for _, name := range []string{"minimum", "multipleOf", "maximum"} {
		if n, ok := schema[name].(json.Number); ok {
			return n
		}
	}
	if n, ok := wholeNumber(schema["exclusiveMinimum"]); ok {
		return json.Number(strconv.Itoa(n + 1))
	}
	return json.Number("1")
}

func sampleList(schema map[string]any, depth int) any {
	const most = 3
	entry, _ := schema["items"].(map[string]any)
	n, ok := wholeNumber(schema["minItems"])
	if !ok || n < 1 {
		n = 1
	}
	list := []any{}
	for range min(n, most) {
		list = append(list, sample(entry, depth+1))
	}
	return list
}

func sampleObject(schema map[string]any, depth int) any {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if member, ok := properties[name].(map[string]any); ok && slices.Contains(required, any(name)) {
			out[name] = sample(member, depth+1)
		}
	}
	return out
}

func wholeNumber(v any) (int, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := n.Int64()
	return int(i), err == nil && i >= 0 && i <= 1<<30
}

// matching returns a short string that matches a pattern. It returns false if the pattern is invalid or too complex.
func matching(pattern string) (string, bool) {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	ok := write(&b, re)
	return b.String(), ok
}

// write appends a string that matches a part of a pattern. It returns false if the part is too complex or the result is too long.
func write(b *strings.Builder, re *syntax.Regexp) bool {
	const most = 64
	if b.Len() > most {
		return false
	}
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		return writeClass(b, re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpBeginLine, syntax.OpBeginText, syntax.OpEndLine, syntax.OpEndText, syntax.OpEmptyMatch, syntax.OpStar, syntax.OpQuest:
	case syntax.OpCapture, syntax.OpPlus:
		return write(b, re.Sub[0])
	case syntax.OpRepeat:
		n := max(re.Min, min(1, re.Max))
		if re.Max < 0 {
			n = max(re.Min, 1)
		}
		for range n {
			if !write(b, re.Sub[0]) {
				return false
			}
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !write(b, sub) {
				return false
			}
		}
	case syntax.OpAlternate:
		return write(b, re.Sub[0])
	default: // word boundaries, or no match is possible
		return false
	}
	return true
}

// writeClass appends a, A or 1 if the class contains one of them, and otherwise the first character of the class.
func writeClass(b *strings.Builder, pairs []rune) bool {
	if len(pairs) < 2 {
		return false
	}
	for _, r := range "aA1" {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] <= r && r <= pairs[i+1] {
				b.WriteRune(r)
				return true
			}
		}
	}
	b.WriteRune(pairs[0])
	return true
}
