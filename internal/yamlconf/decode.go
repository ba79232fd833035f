package yamlconf

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/suggest"
)

// maxNodes is the maximum number of values that are read. With aliases, one value of the file may be read many times.
const maxNodes = 200_000

// Options configure Decode.
type Options struct {
	Types

	File string // name of the document in problems
	What string // kind of the document, such as "the configuration", for the problem that it is too large
	// Env looks up ${NAME}. If it is nil, ${ has no special meaning.
	Env func(name string) (value string, ok bool)
	// Needed reports whether the value at path is needed; secret is true if the type of the value hides its text. If the value is not needed,
	// ${…} in it is not resolved, the value is the zero value, and problems about path are not reported. If Needed is nil, every value is
	// needed.
	Needed func(path string, secret bool) bool
	// ReadFile returns the text of ${file:NAME}; its error is reported unchanged.
	ReadFile func(name string) (string, error)
}

// A Document is a file that was decoded into a struct. It has the positions of the keys, and the problems found so far. Checks that need
// more than one value add problems with Errorf and Warnf.
type Document struct {
	file      string
	types     Types
	env       func(string) (string, bool)
	readFile  func(string) (string, error)
	needed    func(path string, secret bool) bool
	omitted   map[string]bool // paths of secrets that are not needed
	tree      tree
	root      reflect.Type // type of the struct, in which a misplaced key is looked up
	positions Positions
	origins   map[string]string // path → flag or variable that set its value
	failed    map[string]bool   // paths with a problem
	fromFile  map[string]bool   // paths of values with ${file:…}
	nodes     int

	problems     Problems
	dropped      int // problems beyond maxFound
	droppedError bool
}

// Decode decodes data into the struct that into points to: it first sets the defaults of the tags, and then the values of the document. If
// data is not valid YAML or exceeds a limit, Decode returns a Problem and no Document. Otherwise, the Document has the problems of values.
func Decode(data []byte, into any, o Options) (*Document, *Problem) {
	if len(data) > MaxDocument {
		message := fmt.Sprintf("%s is larger than the %d bytes allowed", o.What, MaxDocument)
		return nil, &Problem{File: o.File, Level: problem.Error, Message: message}
	}
	parsed, at, err := parse(data)
	if err != nil {
		return nil, &Problem{o.File, at.Line, at.Column, problem.Error, err.Error()}
	}
	v := reflect.ValueOf(into).Elem()
	d := &Document{
		file: o.File, types: o.Types, env: o.Env, readFile: o.ReadFile, needed: o.Needed,
		omitted: map[string]bool{}, tree: parsed, root: v.Type(),
		positions: Positions{"": {1, 1}}, origins: map[string]string{}, failed: map[string]bool{},
		fromFile: map[string]bool{},
	}
	d.setDefaults(v, "")
	if parsed.root == nil || isNull(parsed.root) {
		d.missing("", v.Type(), nil)
	} else {
		d.value("", parsed.root, v, "")
	}
	d.tree = tree{} // only the positions are kept
	return d, nil
}

// Has reports whether the document contains path. A default does not count.
func (d *Document) Has(path string) bool {
	_, ok := d.positions[path]
	return ok
}

// Positions returns the positions of all keys and items. The caller must not modify them.
func (d *Document) Positions() Positions { return d.positions }

// Override records that the value at path was set by a flag or a variable: problems about path then name origin instead of the file.
func (d *Document) Override(path, origin string) { d.origins[path] = origin }

// value decodes node into v, which already has its default. A null leaves the default.
func (d *Document) value(path string, node ast.Node, v reflect.Value, tag reflect.StructTag) {
	resolved, ok := d.resolve(path, node)
	if !ok {
		return
	}
	v = held(v)
	if v.Type() == reflect.TypeFor[Tree]() {
		if value, ok := (treeReader{d, false}).value(path, resolved); ok {
			v.Set(reflect.ValueOf(Tree{value, true}))
		}
		return
	}
	if isNull(resolved) || d.setTree(path, resolved, v) {
		return
	}
	if scalar, ok := d.types.lookup(v.Type()); ok {
		d.scalar(path, resolved, v, tag, scalar)
		return
	}
	if f, ok := shortField(v.Type()); ok && (kindOf(resolved) == kindText || isBool(resolved) && f.Type.Kind() == reflect.Bool) {
		d.value(path, resolved, v.FieldByIndex(f.Index), "")
		return
	}
	switch v.Kind() {
	case reflect.Slice:
		d.list(path, resolved, v, tag)
	case reflect.Map:
		d.table(path, resolved, v, tag)
	default:
		d.structure(path, resolved, v)
	}
}

// resolve follows anchors and aliases to the node itself, and counts the node. It reports an error if it fails.
func (d *Document) resolve(path string, node ast.Node) (ast.Node, bool) {
	if d.nodes++; d.nodes > maxNodes {
		if d.nodes == maxNodes+1 {
			d.Errorf(path, "the aliases up to here expand to too many values")
		}
		return nil, false
	}
	resolved, err := d.tree.resolve(node)
	if err != nil {
		d.Errorf(path, "%v", err)
		return nil, false
	}
	return resolved, true
}

// null reports whether node means null.
func (d *Document) null(node ast.Node) bool {
	resolved, err := d.tree.resolve(node)
	return err == nil && isNull(resolved)
}

func (d *Document) list(path string, node ast.Node, v reflect.Value, tag reflect.StructTag) {
	sequence, ok := node.(*ast.SequenceNode)
	if !ok {
		d.Errorf(path, "want a list, got %s", kindOf(node))
		return
	}
	if !d.fits(path, len(sequence.Values), tag) {
		return
	}
	out := reflect.MakeSlice(v.Type(), len(sequence.Values), len(sequence.Values))
	for i, item := range sequence.Values {
		at := fmt.Sprintf("%s[%d]", path, i)
		d.positions[at] = nodePosition(item)
		d.setDefaults(out.Index(i), at)
		if d.null(item) {
			d.Errorf(at, "is empty")
			continue
		}
		d.value(at, item, out.Index(i), "")
	}
	v.Set(out)
}

// table decodes a mapping whose keys the author of the document chooses.
func (d *Document) table(path string, node ast.Node, v reflect.Value, tag reflect.StructTag) {
	entries, ok := d.pairs(path, node)
	if !ok || !d.fits(path, len(entries), tag) {
		return
	}
	out := reflect.MakeMapWithSize(v.Type(), len(entries))
	for _, e := range entries {
		at := fmt.Sprintf("%s[%s]", path, strconv.Quote(e.key))
		d.positions[at] = e.at
		item := reflect.New(v.Type().Elem()).Elem()
		d.setDefaults(item, at)
		d.value(at, e.value, item, "")
		if d.null(e.value) { // d.value did not decode it
			d.missing(at, item.Type(), nil)
		}
		out.SetMapIndex(reflect.ValueOf(e.key), item)
	}
	v.Set(out)
}

func (d *Document) fits(path string, n int, tag reflect.StructTag) bool {
	most, err := strconv.Atoi(tag.Get("max"))
	if err == nil && n > most {
		d.Errorf(path, "has %d entries: at most %d are allowed", n, most)
		return false
	}
	return true
}

// structure decodes a mapping whose keys are the fields of v.
func (d *Document) structure(path string, node ast.Node, v reflect.Value) {
	entries, ok := d.pairs(path, node)
	if !ok {
		return
	}
	fields := maps.Collect(Values(v))
	present := map[string]bool{}
	before := "" // the last known key
	for _, e := range entries {
		at := join(path, e.key)
		f, known := fields[e.key]
		if !known {
			d.unknown(path, e, v.Type(), d.emptied(before, fields, present))
			continue
		}
		before = e.key
		d.positions[at] = e.at
		delete(d.origins, at)
		present[e.key] = !d.null(e.value)
		d.value(at, e.value, f.Value, f.Tag)
	}
	d.missing(path, v.Type(), present)
}

// missing reports the required keys that are not present.
func (d *Document) missing(path string, t reflect.Type, present map[string]bool) {
	if t = d.types.structOf(t); t.Kind() != reflect.Struct {
		return
	}
	for key, f := range d.types.fields(t) {
		if f.Tag.Get("required") == "true" && !present[key] && !present[f.Tag.Get("unless")] {
			d.Errorf(join(path, key), "is required: %s", f.Tag.Get("doc"))
		}
	}
}

// emptied returns key as a pendingKey if its type is a mapping or a list of mappings, and its value is missing. If not, it returns the zero
// pendingKey.
func (d *Document) emptied(key string, fields map[string]Value, present map[string]bool) pendingKey {
	f, known := fields[key]
	if !known || present[key] {
		return pendingKey{}
	}
	t := held(f.Value).Type()
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return pendingKey{}
	}
	return pendingKey{key, t}
}

// A pendingKey is a key without a value, and the type of its value.
type pendingKey struct {
	key string
	t   reflect.Type
}

// unknown reports an unknown key. It suggests a known key: one of this mapping with a similar name, or one elsewhere with the same name.
// above is the preceding key if it has no value. Next to secrets, an unknown key may itself be a secret, so the message does not show it.
func (d *Document) unknown(path string, e pair, t reflect.Type, above pendingKey) {
	keys := d.types.keysOf(t)
	shown, hint := Quote(e.key), "known keys are "+strings.Join(keys, ", ")
	near, elsewhere := suggest.Name(e.key, keys), d.types.pathOf(d.root, e.key, path)
	switch {
	case above.t != nil && slices.Contains(d.types.keysOf(above.t), e.key):
		hint = fmt.Sprintf("it belongs under %s: indent it more than that key", above.key)
	case near != "":
		hint = fmt.Sprintf("did you mean %q?", near)
	case elsewhere != "":
		hint = fmt.Sprintf("it belongs under %s", elsewhere)
	case d.types.holdsSecrets(t):
		shown = "(not shown, because it may be a secret)"
	}
	d.errorAt(e.at, path, fmt.Sprintf("unknown key %s: %s", shown, hint))
}

// scalar decodes a scalar: it expands and parses the text, and checks the bounds.
func (d *Document) scalar(path string, node ast.Node, v reflect.Value, tag reflect.StructTag, s Scalar) {
	raw, ok := scalarText(node)
	switch {
	case !ok:
		d.Errorf(path, "want %s, got %s", s.Want, kindOf(node))
		return
	case kindOf(node) != kindText && !s.Number:
		d.Errorf(path, "want %s, got %s%s", s.wanted(tag), kindOf(node), s.instead(raw, ": put it in quotes"))
		return
	}
	d.text(path, raw, v, tag, s)
}

// needs reports whether the value at path is needed: see Options.Needed.
func (d *Document) needs(path string, secret bool) bool {
	return !d.omitted[path] && (d.needed == nil || d.needed(path, secret))
}

// wanted describes the valid values of a scalar. If any text is valid, the default of the key serves as an example.
func (s *Scalar) wanted(tag reflect.StructTag) string {
	if example := tag.Get("default"); s.Want == textScalar.Want && example != "" && !strings.Contains(example, "${") {
		return s.Want + " such as " + example
	}
	return s.Want
}

// instead returns the hint about a valid replacement for text. It returns the parameter otherwise if it finds no replacement, or if the
// text may be a secret.
func (s *Scalar) instead(text, otherwise string) string {
	if s.Hint != nil && !s.Hidden {
		if hint := s.Hint(text); hint != "" {
			return ": " + hint
		}
	}
	return otherwise
}

// text is like scalar, for a value that is already text, such as a default.
func (d *Document) text(path, raw string, v reflect.Value, tag reflect.StructTag, s Scalar) {
	text := raw
	if strings.Contains(raw, "${") && !d.needs(path, s.Hidden) {
		d.omitted[path], d.failed[path] = true, true
		v.SetZero()
		return
	}
	if d.env != nil {
		var err error
		if text, err = expand(raw, d.env, d.fileAt(path)); err != nil {
			d.Errorf(path, "%v", err)
			return
		}
	}
	if text == "" {
		d.empty(path, v, tag)
		return
	}
	shown := "the value"
	if !s.Hidden {
		shown = Quote(raw)
	}
	parsed, err := s.Parse(text)
	if err != nil {
		d.Errorf(path, "%s is not valid: want %s%s%s", shown, s.Want, s.Rule, s.instead(text, ""))
		return
	}
	if enum := tag.Get("enum"); enum != "" && !allowed(enum, text) {
		d.Errorf(path, "%s is not valid: want %s", shown, alternatives(enum))
		return
	}
	if why := boundsFault(parsed, tag, s); why != "" {
		d.Errorf(path, "%s is %s", shown, why)
		return
	}
	v.Set(reflect.ValueOf(parsed).Convert(v.Type()))
}

// fileAt returns ReadFile for the value at path. If the function is called, the value counts as a secret.
func (d *Document) fileAt(path string) func(string) (string, error) {
	return func(name string) (string, error) {
		d.fromFile[path] = true
		return d.readFile(name)
	}
}

// empty sets v to the zero value for an empty string. It reports an error if the value is required or has another default.
func (d *Document) empty(path string, v reflect.Value, tag reflect.StructTag) {
	switch fallback := tag.Get("default"); {
	case tag == "":
		d.Errorf(path, "is empty")
	case tag.Get("required") == "true":
		d.Errorf(path, "is required: %s", tag.Get("doc"))
	case fallback != "" && !strings.Contains(fallback, "${"):
		d.Errorf(path, "is empty: omit the key to use the default, %s", fallback)
	default:
		v.SetZero()
	}
}

// boundsFault describes how a value violates the bounds of its tag. It returns "" if the value is within the bounds.
func boundsFault(value any, tag reflect.StructTag, s Scalar) string {
	number := func(v any) int64 {
		if r := reflect.ValueOf(v); r.CanInt() {
			return r.Int()
		}
		return 0
	}
	if bound, err := s.Parse(tag.Get("min")); err == nil && tag.Get("min") != "" && number(value) < number(bound) {
		return "less than the minimum of " + tag.Get("min")
	}
	if bound, err := s.Parse(tag.Get("max")); err == nil && tag.Get("max") != "" && number(value) > number(bound) {
		return "more than the maximum of " + tag.Get("max")
	}
	return ""
}
