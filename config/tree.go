package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// A pair is one entry of a mapping.
type pair struct {
	key   string
	at    position
	value ast.Node
}

// pairs lists the entries of a mapping, without those whose key is no text or a duplicate: these are
// reported. It is false where node is no mapping, which is reported too.
func (d *decoder) pairs(path string, node ast.Node) ([]pair, bool) {
	var values []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		d.errorf(path, "want keys and values, got %s", described(node))
		return nil, false
	}
	first := make(map[string]int, len(values))
	entries := make([]pair, 0, len(values))
	for _, v := range values {
		key, fault := keyText(v.Key)
		at := nodePosition(v.Key)
		if line, twice := first[key]; fault == "" && twice {
			fault = fmt.Sprintf("this key is there twice, first on line %d", line)
			d.errorAt(at, path, fault)
			continue
		}
		if fault != "" {
			d.errorAt(at, path, fault)
			continue
		}
		first[key] = at.line
		entries = append(entries, pair{key, at, v.Value})
	}
	return entries, true
}

// keyText is the text of a key, or what is wrong with it.
func keyText(n ast.Node) (text, fault string) {
	if k, ok := n.(*ast.MappingKeyNode); ok && k.Value != nil {
		n = k.Value
	}
	switch k := n.(type) {
	case *ast.StringNode:
		return k.Value, ""
	case *ast.MergeKeyNode:
		return "", "merge keys (<<) are not supported: write the keys out, or use an alias for a whole value"
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, ""
	default:
		return "", "a key must be text"
	}
}

func isNull(n ast.Node) bool {
	_, null := n.(*ast.NullNode)
	return null || n == nil
}

// scalarText is the text of a scalar as written, quotes and folding undone.
func scalarText(n ast.Node) (string, bool) {
	switch s := n.(type) {
	case *ast.StringNode:
		return s.Value, true
	case *ast.LiteralNode:
		return s.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return strings.TrimSpace(n.GetToken().Value), true
	default:
		return "", false
	}
}

// kindOf names the kind of a node in the words of the people who write it.
func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return "text"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "number"
	case *ast.BoolNode:
		return "boolean"
	case *ast.SequenceNode:
		return "list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "mapping"
	default:
		return "other"
	}
}

func described(n ast.Node) string {
	switch kind := kindOf(n); kind {
	case "text":
		return "text"
	case "boolean":
		return "true or false"
	case "mapping":
		return "keys and values"
	case "other":
		return "something else"
	default:
		return "a " + kind
	}
}

// shownText bounds what of a value or key a message shows, in bytes.
const shownText = 60

func quote(s string) string {
	if len(s) > shownText {
		return strconv.Quote(strings.ToValidUTF8(s[:shownText], "")) + "…"
	}
	return strconv.Quote(s)
}

func alternatives(words []string) string {
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// join is the path of a key under path.
func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// fieldsOf is the fields of a struct that have a key.
func fieldsOf(t reflect.Type) map[string]reflect.StructField {
	fields := map[string]reflect.StructField{}
	for _, f := range reflect.VisibleFields(t) {
		if key := f.Tag.Get("yaml"); key != "" && key != "-" {
			fields[key] = f
		}
	}
	return fields
}

// keysOf is the keys of a struct in the order of its fields.
func keysOf(t reflect.Type) []string {
	var keys []string
	for _, f := range reflect.VisibleFields(t) {
		if key := f.Tag.Get("yaml"); key != "" && key != "-" {
			keys = append(keys, key)
		}
	}
	return keys
}

func holdsSecrets(t reflect.Type) bool {
	for _, f := range fieldsOf(t) {
		if f.Type == reflect.TypeFor[Secret]() {
			return true
		}
	}
	return false
}

// elsewhere is the one path under which root knows key, or "" where there is none or several.
func elsewhere(root reflect.Type, key string) string {
	var found []string
	var search func(path string, t reflect.Type)
	search = func(path string, t reflect.Type) {
		if _, leaf := leafOf(t); leaf {
			return
		}
		switch t.Kind() {
		case reflect.Slice:
			search(path+"[]", t.Elem())
		case reflect.Map:
			search(path+".<…>", t.Elem())
		case reflect.Struct:
			for k, f := range fieldsOf(t) {
				if k == key {
					found = append(found, path)
				}
				search(join(path, k), f.Type)
			}
		default:
		}
	}
	search("", root)
	if len(found) != 1 {
		return ""
	}
	if found[0] == "" {
		return "no other key: put it at the left edge"
	}
	return found[0]
}

// setDefaults gives v, and all it holds, the defaults of its tags.
func setDefaults(v reflect.Value, d *decoder, path string) {
	if v.Kind() != reflect.Struct {
		return
	}
	for _, f := range reflect.VisibleFields(v.Type()) {
		key := f.Tag.Get("yaml")
		if key == "" || key == "-" {
			continue
		}
		at, field := join(path, key), v.FieldByIndex(f.Index)
		l, isLeaf := leafOf(f.Type)
		switch fallback := f.Tag.Get("default"); {
		case !isLeaf:
			setDefaults(field, d, at)
		case strings.Contains(fallback, "${"):
			d.origins[at] = variableIn(fallback)
			d.text(at, fallback, field, f.Tag, l)
		case fallback != "":
			d.text(at, fallback, field, f.Tag, l)
		default:
		}
	}
}

// variableIn is the name of the variable a default refers to.
func variableIn(fallback string) string {
	_, rest, _ := strings.Cut(fallback, "${")
	name, _, _ := strings.Cut(rest, ":-")
	return name
}
