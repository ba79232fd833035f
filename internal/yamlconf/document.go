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

// Limits on the YAML text. They are checked before the parser runs, because its running time grows faster than its input.
const (
	// MaxDocument is the maximum size of a document, in bytes.
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

// parse parses a document. It rejects tags, directives, several documents and anchors that are defined twice. On error, it returns the
// position of the error, which is zero if it is unknown.
func parse(data []byte) (parsed tree, at Position, err error) {
	defer func() { // a panic of the parser must not terminate a running gateway at reload
		if r := recover(); r != nil {
			parsed, at, err = tree{}, Position{}, errors.New("cannot be read as YAML")
		}
	}()
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) // the parser would count some of these lines twice
	data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))   // also a line break, YAML 1.2.2 5.4
	if bad := firstInvalid(data); bad >= 0 {
		return tree{}, Position{1 + bytes.Count(data[:bad], []byte("\n")), 1}, errors.New("is not UTF-8: save the file as UTF-8")
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
			return tree{}, nodePosition(d.Body), errors.New("a second YAML document: only one is allowed")
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

// scan checks the number of tokens and keys and the nesting, and rejects syntax that is not permitted in a configuration.
func scan(tokens token.Tokens) (Position, error) {
	if len(tokens) > maxTokens {
		return Position{}, fmt.Errorf("has more than %d YAML tokens: use several gateways", maxTokens)
	}
	flow, keyed := 0, 0
	var columns []int // columns of the block structures around the token; there may be more columns than structures, but not fewer
	for _, tk := range tokens {
		at := Position{tk.Position.Line, tk.Position.Column}
		switch tk.Type {
		case token.TagType:
			return at, errors.New("YAML tags (!) are not supported: remove this one")
		case token.DirectiveType:
			return at, errors.New("YAML directives (%) are not supported: remove this one")
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
			return at, fmt.Errorf("has more than %d keys: use several gateways, or write short mappings in { }", maxKeyed)
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

// syntax converts an error of the parser: it removes the quoted lines of the file, which may contain secrets, and adds advice on common
// mistakes.
func syntax(err error) error {
	located, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return errors.New("is not valid YAML")
	}
	message := located.GetMessage()
	switch message {
	case "mapping value is not allowed in this context":
		message += `: put a value that contains ": " in quotes, or indent the next line like the keys around it`
	case "value is not allowed in this context":
		message += ": indent the line like the keys around it"
	case "',' or '}' must be specified":
		message += `: inside { }, put a value that contains ${…} in quotes`
	case "found character '\t' that cannot start any token":
		return errors.New("a tab where spaces are required: indent YAML only with spaces")
	}
	return fmt.Errorf("not valid YAML: %s", message)
}

// anchorCollector is an ast.Visitor that collects the anchors of a document.
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

// resolve follows anchors and aliases to the node itself. It returns an error if an alias does not come after its anchor, or if aliases are
// nested too deeply.
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
	return nil, errors.New("too many nested aliases")
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
