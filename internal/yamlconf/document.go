package yamlconf

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds of the YAML itself. They are checked before the parser runs, whose work grows faster than its input.
const (
	// MaxDocument bounds a document in bytes.
	MaxDocument = 1 << 20
	maxTokens   = 120_000
	maxKeyed    = 30_000 // keys outside { }, where the parser is slowest
	maxDepth    = 100
)

// A tree is one parsed YAML file: its root (nil if empty) and its anchors by name.
type tree struct {
	root    ast.Node
	anchors map[string]*ast.AnchorNode
}

// parse reads the tree. Its error has a position if there is one. It rejects tags, directives, several documents and anchors that are
// defined twice.
func parse(data []byte) (parsed tree, at Position, err error) {
	defer func() { // a panic of the parser must not end a running gateway at reload
		if r := recover(); r != nil {
			parsed, at, err = tree{}, Position{}, errors.New("cannot be read as YAML")
		}
	}()
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) // the parser counts some of these lines twice
	data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))   // YAML 1.2.2 5.4: a line break too
	if bad := firstInvalid(data); bad >= 0 {
		return tree{}, Position{1 + bytes.Count(data[:bad], []byte("\n")), 1}, errors.New("is not UTF-8: save the file in that encoding")
	}
	tokens := lexer.Tokenize(string(data))
	if at, err := scan(tokens); err != nil {
		return tree{}, at, err
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return tree{}, errorPosition(err), syntax(err)
	}
	parsed.anchors = map[string]*ast.AnchorNode{}
	for _, d := range file.Docs {
		switch {
		case d.Body == nil:
		case parsed.root != nil:
			return tree{}, nodePosition(d.Body), errors.New("a second YAML document: a configuration is one")
		default:
			parsed.root = d.Body
		}
	}
	if parsed.root != nil {
		ast.Walk(&anchorCollector{anchors: parsed.anchors, at: &at, err: &err}, parsed.root)
	}
	if err != nil {
		return tree{}, at, err
	}
	return parsed, Position{}, nil
}

// scan bounds tokens and nesting, and rejects syntax that is not permitted in a configuration.
func scan(tokens token.Tokens) (Position, error) {
	if len(tokens) > maxTokens {
		return Position{}, fmt.Errorf("holds more than %d YAML tokens: use several gateways", maxTokens)
	}
	flow, keyed := 0, 0
	var columns []int // of the block structures around the token; rather too many than too few
	for _, tk := range tokens {
		at := Position{tk.Position.Line, tk.Position.Column}
		switch tk.Type {
		case token.TagType:
			return at, errors.New("YAML tags (!) are not supported: leave it out")
		case token.DirectiveType:
			return at, errors.New("YAML directives (%) are not supported: leave it out")
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(0, flow-1)
		case token.MappingValueType, token.MappingKeyType:
			if flow == 0 {
				keyed++
			}
		default:
		}
		if flow == 0 {
			for len(columns) > 0 && columns[len(columns)-1] >= at.Column {
				columns = columns[:len(columns)-1]
			}
			columns = append(columns, at.Column)
		}
		if keyed > maxKeyed {
			return at, fmt.Errorf("holds more than %d keys: use several gateways, or write short mappings in { }", maxKeyed)
		}
		if flow+len(columns) > maxDepth {
			return at, errors.New("nested too deeply")
		}
	}
	return Position{}, nil
}

// errorPosition returns the position of a parser's error.
func errorPosition(err error) Position {
	if located, ok := errors.AsType[yaml.Error](err); ok && located.GetToken() != nil && located.GetToken().Position != nil {
		return Position{located.GetToken().Position.Line, located.GetToken().Position.Column}
	}
	return Position{}
}

// syntax returns a parser's error without the lines of the file, which may contain secrets, and with advice about frequent mistakes.
func syntax(err error) error {
	located, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return errors.New("is not valid YAML")
	}
	message := located.GetMessage()
	switch message {
	case "mapping value is not allowed in this context":
		message += `: put a value that holds ": " in quotes, or give the next line the indentation of the keys beside it`
	case "value is not allowed in this context":
		message += ": give the line the indentation of the keys beside it"
	case "',' or '}' must be specified":
		message += `: inside { } put a value that holds ${…} in quotes`
	case "found character '\t' that cannot start any token":
		return errors.New("a tab where spaces are needed: YAML indents with spaces only")
	}
	return fmt.Errorf("not valid YAML: %s", message)
}

// anchorCollector is the visitor that finds anchors.
type anchorCollector struct {
	anchors map[string]*ast.AnchorNode
	at      *Position
	err     *error
}

// Visit implements ast.Visitor.
func (c *anchorCollector) Visit(n ast.Node) ast.Visitor {
	if a, ok := n.(*ast.AnchorNode); ok && a.Name != nil {
		name := a.Name.GetToken().Value
		if c.anchors[name] != nil && *c.err == nil {
			*c.at, *c.err = nodePosition(a), fmt.Errorf("the anchor &%.40s is defined twice", name)
		}
		c.anchors[name] = a
	}
	return c
}

// resolve follows anchors and aliases to the node itself. An alias must come after its anchor.
func (t tree) resolve(n ast.Node) (ast.Node, error) {
	for range 16 {
		switch node := n.(type) {
		case *ast.AnchorNode:
			n = node.Value
		case *ast.AliasNode:
			name := node.Value.GetToken().Value
			anchor := t.anchors[name]
			if anchor == nil || anchor.GetToken().Position.Offset >= node.GetToken().Position.Offset {
				return nil, fmt.Errorf("the alias *%.40s has no anchor before it", name)
			}
			n = anchor.Value
		default:
			return n, nil
		}
	}
	return nil, errors.New("aliases of aliases of aliases")
}

// firstInvalid returns the offset of the first byte that is not UTF-8, or -1.
func firstInvalid(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}
