package yamlconf

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/goccy/go-yaml"
)

// masked replaces a secret.
const masked = "***"

// A Dump has the values of a decoded struct in the form of a document. Secrets and values from ${file:…} are masked.
type Dump struct{ fields []dumpValue }

// A dumpValue is one value of a Dump.
type dumpValue struct {
	key     string
	value   any         // for a scalar: string, int or bool; nil if unset
	comment string      // the source of the value, if it is not the document
	items   []dumpValue // for a table or, without keys, for a list
	kind    dumpKind
}

type dumpKind int

const (
	dumpScalar dumpKind = iota
	dumpList
	dumpTable
)

// Dump returns the values of the struct to which from points. Decode must have filled the struct.
func (d *Document) Dump(from any) Dump {
	return Dump{d.dumpFields(reflect.ValueOf(from).Elem(), "", false)}
}

// dumpFields returns the values of the fields of v. If terse is set, as for the entries of mappings, it omits unset values.
func (d *Document) dumpFields(v reflect.Value, path string, terse bool) []dumpValue {
	var out []dumpValue
	for key, f := range Values(v) {
		if terse && f.IsZero() {
			continue
		}
		n := d.dump(f.Value, join(path, key), f.Tag.Get("default"), terse)
		n.key = key
		out = append(out, n)
	}
	return out
}

func (d *Document) dump(v reflect.Value, path, fallback string, terse bool) dumpValue {
	v = held(v)
	comment := d.whence(path, fallback)
	scalar, isScalar := d.types.lookup(v.Type())
	switch {
	case isScalar:
		return dumpValue{value: d.shown(v, path, scalar), comment: comment}
	case v.CanInterface() && v.Type().Implements(reflect.TypeFor[fmt.Formatter]()): // a Value, which may be a secret
		if v.IsZero() {
			return dumpValue{comment: comment}
		}
		return dumpValue{value: masked}
	case v.Kind() == reflect.Slice:
		out := dumpValue{kind: dumpList}
		for i := range v.Len() {
			out.items = append(out.items, d.dump(v.Index(i), fmt.Sprintf("%s[%d]", path, i), "", terse))
			out.items[i].comment = ""
		}
		if v.Len() == 0 {
			out.comment = comment
		}
		return out
	case v.Kind() == reflect.Map:
		out := dumpValue{kind: dumpTable}
		for _, key := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int {
			return strings.Compare(a.String(), b.String())
		}) {
			n := d.dump(v.MapIndex(key), path+"["+strconv.Quote(key.String())+"]", "", true)
			n.key = key.String()
			out.items = append(out.items, n)
		}
		if v.Len() == 0 {
			out.comment = comment
		}
		return out
	default:
		if short, ok := shortOf(v); ok {
			return d.dump(short, path, "", terse)
		}
		return dumpValue{kind: dumpTable, items: d.dumpFields(v, path, terse)}
	}
}

// shortOf returns the field whose value can replace the whole of v, if v has such a field and no other field is set.
func shortOf(v reflect.Value) (reflect.Value, bool) {
	short, ok := shortField(v.Type())
	if !ok {
		return v, false
	}
	for _, f := range Fields(v.Type()) {
		if f.Name != short.Name && !v.FieldByIndex(f.Index).IsZero() {
			return v, false
		}
	}
	return v.FieldByIndex(short.Index), true
}

// whence describes the source of a value. It returns "" if the source is the document.
func (d *Document) whence(path, fallback string) string {
	if origin, ok := d.origins[path]; ok {
		return "from " + origin
	}
	switch {
	case d.Has(path):
		return ""
	case strings.Contains(fallback, "${"):
		return "default: " + fallback
	default:
		return "default"
	}
}

// shown returns a scalar as it is written in a document. It returns masked for a secret and for a value from a file, and nil for an unset
// scalar other than a boolean, a number, a size or a duration.
func (d *Document) shown(v reflect.Value, path string, s Scalar) any {
	if d.fromFile[path] {
		return masked
	}
	switch value := v.Interface().(type) {
	case bool, int:
		return value
	case int64:
		return sizeText(value)
	case time.Duration:
		return durationText(value)
	}
	switch {
	case v.IsZero():
		return nil
	case s.Secret:
		return masked
	default:
		return fmt.Sprint(v.Interface())
	}
}

// sizeText formats a size so that parseSize returns the same number.
func sizeText(n int64) string {
	if text := humanize.IBytes(uint64(max(0, n))); n > 0 {
		text = strings.ReplaceAll(strings.ReplaceAll(text, " ", ""), ".0", "")
		if again, err := parseSize(text); err == nil && again == n {
			return text
		}
	}
	return strconv.FormatInt(n, 10)
}

// durationText formats a duration so that parseDuration returns the same duration.
func durationText(t time.Duration) string {
	if t >= day && t%day == 0 {
		return strconv.FormatInt(int64(t/day), 10) + "d"
	}
	text := t.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// YAML returns the dump as a YAML document. Comments mark the values that are not from the decoded document.
func (d Dump) YAML() []byte {
	var out strings.Builder
	for _, n := range d.fields {
		n.write(&out, "")
	}
	return []byte(out.String())
}

func (n *dumpValue) write(out *strings.Builder, indent string) {
	comment := ""
	if n.comment != "" {
		comment = "  # " + n.comment
	}
	head := indent + quoted(n.key) + ":"
	switch {
	case n.kind == dumpScalar && n.value == nil:
		out.WriteString(head + comment + "\n")
	case n.kind == dumpScalar:
		out.WriteString(head + " " + quoted(n.value) + comment + "\n")
	case len(n.items) == 0:
		out.WriteString(head + map[dumpKind]string{dumpList: " []", dumpTable: " {}"}[n.kind] + comment + "\n")
	case n.kind == dumpTable:
		out.WriteString(head + "\n")
		for _, item := range n.items {
			item.write(out, indent+"  ")
		}
	case !slices.ContainsFunc(n.items, func(item dumpValue) bool { return item.kind != dumpScalar }):
		var items []string
		for _, item := range n.items {
			items = append(items, quoted(item.value))
		}
		out.WriteString(head + " [" + strings.Join(items, ", ") + "]\n")
	default:
		out.WriteString(head + "\n")
		for _, item := range n.items {
			if item.kind == dumpScalar {
				out.WriteString(indent + "- " + quoted(item.value) + "\n")
				continue
			}
			var fields strings.Builder
			for _, field := range item.items {
				field.write(&fields, indent+"  ")
			}
			out.WriteString(indent + "- " + strings.TrimPrefix(fields.String(), indent+"  "))
		}
	}
}

// quoted formats a scalar as YAML on one line.
func quoted(value any) string {
	text, isText := value.(string)
	if !isText {
		return fmt.Sprint(value)
	}
	plain, err := yaml.Marshal(text)
	if line := strings.TrimSuffix(string(plain), "\n"); err == nil && !strings.ContainsAny(line, "\n,[]{}") {
		return line
	}
	inJSON, err := json.Marshal(text)
	if err != nil { // impossible for a string
		return strconv.Quote(text)
	}
	return string(inJSON)
}

// MarshalJSON encodes the values, without the comments.
func (d Dump) MarshalJSON() ([]byte, error) {
	return json.Marshal((&dumpValue{kind: dumpTable, items: d.fields}).tree())
}

func (n *dumpValue) tree() any {
	switch n.kind {
	case dumpScalar:
		return n.value
	case dumpList:
		list := make([]any, 0, len(n.items))
		for _, item := range n.items {
			list = append(list, item.tree())
		}
		return list
	default:
		table := map[string]any{}
		for _, item := range n.items {
			table[item.key] = item.tree()
		}
		return table
	}
}
