package yamlconf

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// A Tree is a YAML value that was converted to the JSON value with the same meaning: map[string]any, []any, string, bool, json.Number or
// nil. Set is false if the document does not have the key; a null counts as set.
type Tree struct {
	Value any
	Set   bool
}

// A TreeSetter is a field that is decoded like a Tree, with ${…} expanded in its strings. It may hold a secret, so no message shows a part
// of it. SetTree is called with the value, which is not null. Its error is reported unchanged.
type TreeSetter interface{ SetTree(value any) error }

// setTree decodes node into v if v is a TreeSetter, and reports whether it is one.
func (d *Document) setTree(path string, node ast.Node, v reflect.Value) bool {
	if !v.CanAddr() {
		return false
	}
	setter, ok := reflect.TypeAssert[TreeSetter](v.Addr())
	if !ok {
		return false
	}
	value, good := treeReader{d, true}.value(path, node)
	if !good {
		return true
	}
	if err := setter.SetTree(value); err != nil {
		d.Errorf(path, "%v", err)
	}
	return true
}

// A treeReader converts nodes to JSON values. If hidden is set, it expands their texts, and no message shows any of them.
type treeReader struct {
	*Document

	hidden bool
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// value converts a node to a JSON value. If JSON has no such value, it reports an error and returns false.
func (d treeReader) value(path string, node ast.Node) (any, bool) {
	resolved, ok := d.resolve(path, node)
	if !ok {
		return nil, false
	}
	if isNull(resolved) {
		return nil, true
	}
	switch kindOf(resolved) {
	case kindList:
		return d.list(path, resolved)
	case kindMapping:
		return d.object(path, resolved)
	case kindOther:
		d.Errorf(path, "want a value, got %s", kindOf(resolved))
		return nil, false
	default:
		return d.scalar(path, resolved)
	}
}

func (d treeReader) scalar(path string, node ast.Node) (any, bool) {
	text, _ := scalarText(node)
	switch kind := kindOf(node); {
	case kind == kindBoolean:
		return strings.EqualFold(text, "true"), true
	case kind == kindNumber && jsonNumber.MatchString(text):
		return json.Number(text), true
	case kind == kindNumber:
		shown := Quote(text)
		if d.hidden {
			shown = "the value"
		}
		d.Errorf(path, "%s is not a valid JSON number: write it in full, or in quotes", shown)
		return nil, false
	case d.hidden && d.env != nil:
		expanded, err := expand(text, d.env, d.readFile)
		if err != nil {
			d.Errorf(path, "%v", err)
			return nil, false
		}
		return expanded, true
	default:
		return text, true
	}
}

func (d treeReader) list(path string, node ast.Node) (any, bool) {
	sequence, ok := node.(*ast.SequenceNode)
	if !ok {
		return nil, false
	}
	out, good := make([]any, 0, len(sequence.Values)), true
	for i, item := range sequence.Values {
		at := path + "[" + strconv.Itoa(i) + "]"
		d.positions[at] = nodePosition(item)
		value, ok := d.value(at, item)
		good = good && ok
		out = append(out, value)
	}
	return out, good
}

func (d treeReader) object(path string, node ast.Node) (any, bool) {
	entries, good := d.pairs(path, node)
	out := make(map[string]any, len(entries))
	for _, e := range entries {
		at := join(path, e.key)
		d.positions[at] = e.at
		value, ok := d.value(at, e.value)
		good = good && ok
		out[e.key] = value
	}
	return out, good
}
