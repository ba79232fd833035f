package curation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/uimgate/uimgate/internal/regex"
)

const heading = `# Which operations of the OpenAPI document are offered to agents. Edit this file, then run uimgate init again: it adds
# new operations of the document, and copies your changes from agents.json. It keeps everything else as you write it.
#
# Each operation: hidden: true or false; uid, name and description as agents see them; price, such as 0.05 EUR; limit of one
# agent, such as 100/hour; agreement: fresh, if an old agreement is not sufficient; notes for yourself.
# uimgate init --review prints a table.
`

const selectionHeading = `# For operations that are not listed below; exclude also applies to operations that are listed.
# upstream: the URL of the service, if it differs from that of the document.
# new: reads (operations that only read are offered), all or none.
`

// Text returns the text of the file. If nothing has changed, this is the text that was read, byte for byte. An error means that a change
// cannot be made without damaging text that people wrote, and describes that change.
func (f *File) Text() ([]byte, error) {
	if f.text == nil {
		return f.whole(), nil
	}
	if !f.changed() {
		return f.text, nil
	}
	out, err := f.edited()
	if err == nil {
		err = f.verify(out)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", FileName, err)
	}
	return out, nil
}

func (f *File) changed() bool {
	return !reflect.DeepEqual(f.Selection, f.read.Selection) || !reflect.DeepEqual(f.Operations, f.read.Operations)
}

// whole returns the text of a new file.
func (f *File) whole() []byte {
	var b bytes.Buffer
	b.WriteString(heading + "\n" + selectionHeading + "selection:\n")
	for _, member := range selectionMembers(f.Selection) {
		fmt.Fprintf(&b, "%s\n", strings.TrimSuffix("  "+member.key+": "+member.value, " "))
	}
	b.WriteString("\noperations:")
	if len(f.added) == 0 {
		b.WriteString(" {}")
	}
	b.WriteString("\n")
	for _, key := range f.added {
		b.WriteString("  " + f.line(key) + "\n")
	}
	return b.Bytes()
}

// line returns a new operation as one line.
func (f *File) line(key string) string {
	var members []string
	for _, m := range operationMembers(f.Operations[key]) {
		if m.value != "" {
			members = append(members, m.key+": "+m.value)
		}
	}
	out := scalarText(key) + ": {" + strings.Join(members, ", ") + "}"
	if remark := f.remarks[key]; remark != "" {
		out += " # " + remark
	}
	return out
}

// A member is a key and its value in YAML; an empty value is not written.
type member struct{ key, value string }

func selectionMembers(s Selection) []member {
	upstream := ""
	if s.Upstream != "" {
		upstream = scalarText(s.Upstream)
	}
	return []member{
		{"include", listText(s.Include)}, {"exclude", listText(s.Exclude)}, {"tags", listText(s.Tags)}, {"upstream", upstream}, {"new", s.New},
	}
}

func operationMembers(o Operation) []member {
	hidden := map[State]string{Offered: "false", Hidden: "true"}[o.Hidden]
	price := ""
	if !o.Price.IsZero() {
		price = o.Price.String()
	}
	rate := ""
	if o.Limit.Period != "" {
		rate = o.Limit.String()
	}
	out := []member{{"hidden", hidden}}
	for _, m := range []member{
		{"uid", o.UID},
		{"name", o.Name},
		{"description", string(o.Description)},
		{"price", price},
		{"limit", rate},
		{"agreement", o.Agreement},
		{"notes", string(o.Notes)},
	} {
		if m.value != "" {
			m.value = scalarText(m.value)
		}
		out = append(out, m)
	}
	return out
}

func listText(all []string) string {
	texts := make([]string, len(all))
	for i, s := range all {
		texts[i] = scalarText(s)
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// plain matches strings that need no quotes in YAML, unless they are keywords.
var plain = regex.Lazy(`^[A-Za-z][A-Za-z0-9._/-]*(:[A-Za-z0-9][A-Za-z0-9._/-]*)*$`)

func scalarText(s string) string {
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
	default:
		if plain().MatchString(s) {
			return s
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can always be encoded
	return strings.TrimSpace(b.String())
}
