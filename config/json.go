package config

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// A Tree is a YAML value taken as the JSON value of the same meaning: map[string]any, []any, string, bool,
// json.Number or nil. Set tells a null from nothing.
type Tree struct {
	Value any
	Set   bool
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// tree reads a node as JSON; what JSON cannot hold is reported.
func (d *decoder) tree(path string, node ast.Node, v reflect.Value) {
	value, ok := d.jsonValue(path, node)
	if ok {
		v.Set(reflect.ValueOf(Tree{value, true}))
	}
}

func (d *decoder) jsonValue(path string, node ast.Node) (any, bool) {
	if d.nodes++; d.nodes > maxNodes {
		if d.nodes == maxNodes+1 {
			d.errorf(path, "the aliases up to here stand for too many values")
		}
		return nil, false
	}
	resolved, err := d.doc.resolve(node)
	if err != nil {
		d.errorf(path, "%v", err)
		return nil, false
	}
	switch kind := kindOf(resolved); {
	case isNull(resolved):
		return nil, true
	case kind == "list":
		return d.jsonList(path, resolved)
	case kind == "mapping":
		return d.jsonObject(path, resolved)
	case kind == "other":
		d.errorf(path, "want a value, got %s", described(resolved))
		return nil, false
	default:
		return d.jsonScalar(path, resolved, kind)
	}
}

func (d *decoder) jsonScalar(path string, node ast.Node, kind string) (any, bool) {
	text, _ := scalarText(node)
	switch {
	case kind == "boolean":
		return strings.EqualFold(text, "true"), true
	case kind == "number" && jsonNumber.MatchString(text):
		return json.Number(text), true
	case kind == "number":
		d.errorf(path, "%s is no number in JSON: write it in full, or in quotes", quote(text))
		return nil, false
	default:
		return text, true
	}
}

func (d *decoder) jsonList(path string, node ast.Node) (any, bool) {
	sequence, ok := node.(*ast.SequenceNode)
	if !ok {
		return nil, false
	}
	out, good := make([]any, 0, len(sequence.Values)), true
	for i, item := range sequence.Values {
		at := path + "[" + strconv.Itoa(i) + "]"
		d.positions[at] = nodePosition(item)
		value, ok := d.jsonValue(at, item)
		good = good && ok
		out = append(out, value)
	}
	return out, good
}

func (d *decoder) jsonObject(path string, node ast.Node) (any, bool) {
	entries, good := d.pairs(path, node)
	out := make(map[string]any, len(entries))
	for _, e := range entries {
		at := join(path, e.key)
		d.positions[at] = e.at
		value, ok := d.jsonValue(at, e.value)
		good = good && ok
		out[e.key] = value
	}
	return out, good
}
