package curation

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// edited returns the text that was read, with all changes applied to its syntax tree.
func (f *File) edited() (out []byte, err error) {
	defer func() { // a panic of the parser or printer
		if r := recover(); r != nil {
			out, err = nil, errors.New("the file cannot be edited automatically in its present form")
		}
	}()
	text := bytes.ReplaceAll(bytes.TrimPrefix(f.text, []byte("\xef\xbb\xbf")), []byte("\r\n"), []byte("\n"))
	file, err := parser.ParseBytes(text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var root *ast.MappingNode
	for _, d := range file.Docs {
		if m, ok := d.Body.(*ast.MappingNode); ok {
			root = m
		}
	}
	if root == nil { // empty, or only comments
		return append(append(bytes.TrimRight(text, "\n"), '\n'), f.whole()...), nil
	}
	if err := f.editSelection(root); err != nil {
		return nil, err
	}
	if err := f.editOperations(root); err != nil {
		return nil, err
	}
	return []byte(strings.TrimRight(file.String(), "\n") + "\n"), nil
}

func (f *File) editSelection(root *ast.MappingNode) error {
	was, now := selectionMembers(f.read.Selection), selectionMembers(f.Selection)
	for i := range now {
		if was[i] == now[i] {
			continue
		}
		selection, err := below(root, "selection")
		if err == nil {
			err = put(selection, now[i])
		}
		if err != nil {
			return fmt.Errorf("selection.%s: %w", now[i].key, err)
		}
	}
	return nil
}

func (f *File) editOperations(root *ast.MappingNode) error {
	if entry := find(root, "operations"); entry == nil || isEmpty(entry.Value) {
		return f.firstOperations(root, entry)
	}
	operations, err := below(root, "operations")
	if err != nil {
		return err
	}
	was := maps.Clone(f.read.Operations)
	for from, to := range f.renamed {
		entry := find(operations, from)
		fresh, err := pairOf(member{to, "x"}, false)
		if err != nil || entry == nil {
			return errors.Join(err, errors.New("operations: a key is missing"))
		}
		*fresh.Key.GetToken().Position = *entry.Key.GetToken().Position
		fresh.Key.GetToken().Prev = entry.Key.GetToken().Prev
		if c := entry.Key.GetComment(); c != nil {
			_ = fresh.Key.SetComment(c) // it never fails for a scalar
		}
		entry.Key = fresh.Key
		was[to] = was[from]
	}
	for _, key := range slices.Sorted(maps.Keys(was)) {
		now, there := f.Operations[key]
		if !there || was[key] == now {
			continue
		}
		entry, err := below(operations, key)
		if err != nil {
			return fmt.Errorf("operations.%s: %w", key, err)
		}
		before, after := operationMembers(was[key]), operationMembers(now)
		for i := range after {
			if before[i] == after[i] {
				continue
			}
			if err := put(entry, after[i]); err != nil {
				return fmt.Errorf("operations.%s.%s: %w", key, after[i].key, err)
			}
		}
	}
	for _, key := range f.added {
		line, err := parsed(f.line(key))
		if err != nil {
			return err
		}
		adopt(operations, line.Values[0])
	}
	return nil
}

// firstOperations adds the operations to a file that had none. entry is the empty entry for operations, or nil.
func (f *File) firstOperations(root *ast.MappingNode, entry *ast.MappingValueNode) error {
	if len(f.added) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("operations:\n")
	for _, key := range f.added {
		b.WriteString("  " + f.line(key) + "\n")
	}
	whole, err := parsed(b.String())
	if err != nil {
		return err
	}
	fresh := whole.Values[0]
	if entry == nil {
		root.Values = append(root.Values, fresh)
		return nil
	}
	if entry.Value != nil && entry.Value.GetComment() != nil {
		_ = entry.Key.SetComment(entry.Value.GetComment()) // it never fails for a scalar
	}
	entry.Value = fresh.Value
	return nil
}

// below returns the mapping at a key of m. If the key is missing or its value is empty, below adds an empty mapping. It returns an error if
// the value is not a mapping.
func below(m *ast.MappingNode, key string) (*ast.MappingNode, error) {
	entry := find(m, key)
	if entry == nil || isEmpty(entry.Value) {
		fresh, err := pairOf(member{key, "{}"}, true)
		if err != nil {
			return nil, err
		}
		inner, _ := fresh.Value.(*ast.MappingNode)
		if m.Start != nil && entry == nil {
			adopt(m, fresh)
		} else {
			inner.GetToken().Position.IndentLevel = entry.Key.GetToken().Position.IndentLevel
			entry.Value = inner
		}
		return inner, nil
	}
	inner, ok := entry.Value.(*ast.MappingNode)
	if !ok {
		return nil, errors.New("the value has no keys of its own, for example because it is an alias: write out its keys and values")
	}
	return inner, nil
}

func isEmpty(n ast.Node) bool {
	m, mapping := n.(*ast.MappingNode)
	_, null := n.(*ast.NullNode)
	return null || n == nil || mapping && len(m.Values) == 0
}

func find(m *ast.MappingNode, key string) *ast.MappingValueNode {
	for _, v := range m.Values {
		text := v.Key.GetToken().Value
		if s, ok := v.Key.(*ast.StringNode); ok {
			text = s.Value
		}
		if text == key {
			return v
		}
	}
	return nil
}

// put sets one member of a mapping, and keeps the comment on the line of that member. An empty value becomes null.
func put(m *ast.MappingNode, to member) error {
	have := find(m, to.key)
	if to.value == "" {
		to.value = "null"
	}
	fresh, err := pairOf(to, m.IsFlowStyle)
	if err != nil {
		return err
	}
	if have == nil {
		adopt(m, fresh)
		return nil
	}
	if c := have.Value.GetComment(); c != nil {
		if err := fresh.Value.SetComment(c); err != nil {
			return err
		}
	}
	level(fresh.Value, have.Key.GetToken())
	have.Value = fresh.Value
	return nil
}

// adopt appends an entry to a mapping, aligned with the other entries.
func adopt(m *ast.MappingNode, entry *ast.MappingValueNode) {
	if len(m.Values) > 0 {
		beside := m.Values[0].Key.GetToken()
		entry.AddColumn(beside.Position.Column - entry.Key.GetToken().Position.Column)
		entry.Key.GetToken().Position.IndentLevel = beside.Position.IndentLevel
	} else if !m.IsFlowStyle || m.Start == nil || m.Start.Position.IndentLevel == 0 {
		m.SetIsFlowStyle(false)
	}
	level(entry.Value, entry.Key.GetToken())
	m.Values = append(m.Values, entry)
}

// level sets the indentation level of a value, which the printer uses, to that of its key.
func level(value ast.Node, key *token.Token) {
	value.GetToken().Position.IndentLevel = key.Position.IndentLevel
}

func pairOf(m member, flow bool) (*ast.MappingValueNode, error) {
	text := scalarText(m.key) + ": " + m.value
	if flow {
		text = "{" + text + "}"
	}
	node, err := parsed(text)
	if err != nil {
		return nil, err
	}
	return node.Values[0], nil
}

func parsed(text string) (*ast.MappingNode, error) {
	file, err := parser.ParseBytes([]byte(text), parser.ParseComments)
	if err != nil {
		return nil, err
	}
	if m, ok := file.Docs[0].Body.(*ast.MappingNode); ok && len(m.Values) == 1 {
		return m, nil
	}
	return nil, errors.New("a key cannot be written in YAML")
}

// verify parses the edited text, and returns an error unless it has the intended content and all comments of the text that was read.
func (f *File) verify(out []byte) error {
	back, err := Read(out)
	if err != nil {
		return fmt.Errorf("the file cannot be edited automatically in its present form: %w", err)
	}
	if !reflect.DeepEqual(selectionMembers(back.Selection), selectionMembers(f.Selection)) ||
		!reflect.DeepEqual(back.Operations, f.Operations) {
		return errors.New("the file cannot be edited automatically in its present form: write each operation on separate lines")
	}
	left := comments(out)
	for text, n := range comments(f.text) {
		if left[text] < n {
			return fmt.Errorf("the comment %.80q would be lost: move it to a line above the key", text)
		}
	}
	return nil
}

func comments(text []byte) map[string]int {
	out := map[string]int{}
	for _, t := range lexer.Tokenize(string(text)) {
		if t.Type == token.CommentType {
			out[strings.TrimSpace(t.Value)]++
		}
	}
	return out
}
