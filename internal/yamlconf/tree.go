package yamlconf

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// A Tree is a YAML value read as the JSON value with the same meaning: map[string]any, []any, string, bool, json.Number
// or nil. Set is false where the document has no value there; a null is set.
type Tree struct {
	Value any
	Set   bool
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// treeValue reads a node as JSON; a value that JSON does not have is reported.
func (d *Document) treeValue(path string, node ast.Node) (any, bool) {
	resolved, ok := d.resolve(path, node)
	if !ok {
		return nil, false
	}
	if isNull(resolved) {
		return nil, true
	}
	switch kindOf(resolved) {
	case kindList:
		return d.treeList(path, resolved)
	case kindMapping:
		return d.treeObject(path, resolved)
	case kindOther:
		d.Errorf(path, "want a value, got %s", kindOf(resolved))
		return nil, false
	default:
		return d.treeScalar(path, resolved)
	}
}

func (d *Document) treeScalar(path string, node ast.Node) (any, bool) {
	text, _ := scalarText(node)
	switch kind := kindOf(node); {
	case kind == kindBoolean:
		return strings.EqualFold(text, "true"), true
	case kind == kindNumber && jsonNumber.MatchString(text):
		return json.Number(text), true
	case kind == kindNumber:
		d.Errorf(path, "%s is no number in JSON: write it in full, or in quotes", Quote(text))
		return nil, false
	default:
		return text, true
	}
}

func (d *Document) treeList(path string, node ast.Node) (any, bool) {
	sequence, ok := node.(*ast.SequenceNode)
	if !ok {
		return nil, false
	}
	out, good := make([]any, 0, len(sequence.Values)), true
	for i, item := range sequence.Values {
		at := path + "[" + strconv.Itoa(i) + "]"
		d.positions[at] = nodePosition(item)
		value, ok := d.treeValue(at, item)
		good = good && ok
		out = append(out, value)
	}
	return out, good
}

func (d *Document) treeObject(path string, node ast.Node) (any, bool) {
	entries, good := d.pairs(path, node)
	out := make(map[string]any, len(entries))
	for _, e := range entries {
		at := join(path, e.key)
		d.positions[at] = e.at
		value, ok := d.treeValue(at, e.value)
		good = good && ok
		out[e.key] = value
	}
	return out, good
}
