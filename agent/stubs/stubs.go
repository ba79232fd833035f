// Package stubs writes the intents of a service as typed code for an agent: a class with a method for each intent, and the types of its
// parameters and output. The code calls the intents with the SDKs for TypeScript and Python. Catalogs are untrusted input: names become
// identifiers of ASCII letters and digits, and every other text becomes a quoted string or one line of a comment.
package stubs

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/lines"
)

// A Language is a programming language for stubs.
type Language string

// The languages.
const (
	Python     Language = "python"
	TypeScript Language = "typescript"
)

// maxComment is the maximum length of a description in a comment, in bytes.
const maxComment = 100

// Write writes the stubs of all intents that are not retired. issuer identifies the service. It returns an error if the
// language is not supported, and the errors of w.
func Write(w io.Writer, language Language, issuer string, catalog *intents.Catalog) error {
	names := identifiers{used: map[string]bool{}}
	for _, imported := range []string{
		"Any", "AsyncUimClient", "Dict", "ExecuteOptions", "JsonObject", "List", "Literal", "NotRequired", "Promise", "Record", "Result", "Typed",
		"TypedDict", "UimClient", "Union",
	} {
		names.take(imported)
	}
	file := file{issuer: comment(issuer), class: names.take(pascal(strings.Split(hostOf(issuer), ".")[0]))}
	names.take("Async" + file.class)
	for _, in := range catalog.Intents() {
		if in.Retired {
			continue
		}
		name := pascal(in.UID.Name + "_" + in.UID.Version)
		if names.used[name+"Parameters"] {
			name = pascal(in.UID.Namespace + "_" + in.UID.Name + "_" + in.UID.Version)
		}
		c := call{
			uid: in.UID.String(), about: comment(in.Description), name: names.take(name),
			input: typeOf(map[string]any(in.InputSchema()), 0), output: anything,
		}
		c.parameters, c.result = names.take(c.name+"Parameters"), names.take(c.name+"Output")
		if out := in.OutputSchema(); out != nil {
			c.output = typeOf(map[string]any(out), 0)
		}
		if in.Price != "" {
			c.about = strings.TrimSpace(c.about + " Costs " + comment(in.Price) + ".")
		}
		file.calls = append(file.calls, c)
	}
	var text string
	switch language {
	case Python:
		text = file.python(names)
	case TypeScript:
		text = file.typeScript()
	default:
		return fmt.Errorf("stubs in %q are not supported", language)
	}
	_, err := io.WriteString(w, text)
	return err
}

// A file is the code for one service.
type file struct {
	issuer, class string
	calls         []call
}

// A call is one intent.
type call struct {
	uid, about               string
	name, parameters, result string // identifiers of the intent, and of the types of its parameters and output
	input, output            typ
}

// optional reports whether every parameter can be omitted.
func (c call) optional() bool {
	for _, m := range c.input.members {
		if m.required {
			return false
		}
	}
	return true
}

func hostOf(issuer string) string {
	_, after, found := strings.Cut(issuer, "://")
	if found {
		issuer = after
	}
	host, _, _ := strings.Cut(issuer, "/")
	host, _, _ = strings.Cut(host, ":")
	return host
}

// identifiers records the names that the code already uses.
type identifiers struct{ used map[string]bool }

// take returns name, with a number appended if name is already used.
func (i identifiers) take(name string) string {
	free := name
	for n := 2; i.used[free]; n++ {
		free = fmt.Sprintf("%s%d", name, n)
	}
	i.used[free] = true
	return free
}

// words splits a name where it changes from lower to upper case, and at every character that is not an ASCII letter or digit.
func words(name string) []string {
	var out []string
	before := ' '
	for _, r := range name {
		letter := r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r))
		if letter && (len(out) == 0 || before == ' ' || unicode.IsUpper(r) && unicode.IsLower(before)) {
			out = append(out, "")
		}
		before = ' '
		if letter {
			out[len(out)-1] += string(r)
			before = r
		}
	}
	return out
}

// pascal returns a name as PascalCase. It begins with a letter.
func pascal(name string) string {
	out := ""
	for _, w := range words(name) {
		out += strings.ToUpper(w[:1]) + w[1:]
	}
	if out == "" || out[0] < 'A' {
		out = "X" + out
	}
	return out
}

// comment returns text from a service as part of one line. In either language, the result can end neither a comment nor a string.
func comment(text string) string {
	text = strings.Join(strings.Fields(strings.NewReplacer("*/", "* /", `"`, "'", `\`, "/").Replace(text)), " ")
	return lines.Printable(text, maxComment)
}
