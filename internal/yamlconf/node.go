package yamlconf

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// A pair is one entry of a mapping.
type pair struct {
	key   string
	at    Position
	value ast.Node
}

// pairs returns the entries of a mapping. It reports an error for each entry whose key is not text or is a duplicate, and omits the entry.
// If node is not a mapping, pairs reports an error and returns false.
func (d *Document) pairs(path string, node ast.Node) ([]pair, bool) {
	var values []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	default:
		d.Errorf(path, "want keys and values, got %s", kindOf(node))
		return nil, false
	}
	first := make(map[string]int, len(values))
	entries := make([]pair, 0, len(values))
	for _, v := range values {
		key, fault := keyText(v.Key)
		at := nodePosition(v.Key)
		if line, twice := first[key]; fault == "" && twice {
			fault = fmt.Sprintf("duplicate key: it is already on line %d", line)
		}
		if fault != "" {
			d.errorAt(at, path, fault)
			continue
		}
		first[key] = at.Line
		entries = append(entries, pair{key, at, v.Value})
	}
	return entries, true
}

// keyText returns the text of a key, or describes what is wrong with the key.
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

func isBool(n ast.Node) bool {
	_, is := n.(*ast.BoolNode)
	return is
}

func isNull(n ast.Node) bool {
	_, null := n.(*ast.NullNode)
	return null || n == nil
}

// scalarText returns the text of a scalar, with quotes and folding undone.
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

// A kind is the kind of a node, in words for messages.
type kind string

const (
	kindText    kind = "text"
	kindNumber  kind = "a number"
	kindBoolean kind = "true or false"
	kindList    kind = "a list"
	kindMapping kind = "keys and values"
	kindOther   kind = "something else"
)

func kindOf(n ast.Node) kind {
	switch n.(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return kindText
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return kindNumber
	case *ast.BoolNode:
		return kindBoolean
	case *ast.SequenceNode:
		return kindList
	case *ast.MappingNode, *ast.MappingValueNode:
		return kindMapping
	default:
		return kindOther
	}
}

// maxQuoted is how much of a value or key a message shows, in bytes.
const maxQuoted = 60

// Quote returns s in quotes, for a message. It shortens a longer string to its first 60 bytes, and appends an ellipsis.
func Quote(s string) string {
	if len(s) > maxQuoted {
		return strconv.Quote(strings.ToValidUTF8(s[:maxQuoted], "")) + "…"
	}
	return strconv.Quote(s)
}

// nodePosition returns the position of the beginning of a node. For a block mapping, it is the position of the first key.
func nodePosition(n ast.Node) Position {
	switch node := n.(type) {
	case *ast.MappingNode:
		if len(node.Values) > 0 && !node.IsFlowStyle {
			return nodePosition(node.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return nodePosition(node.Key)
	}
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return Position{}
	}
	return Position{n.GetToken().Position.Line, n.GetToken().Position.Column}
}
