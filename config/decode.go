package config

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/uimgate/uimgate/internal/nearest"
	"github.com/uimgate/uimgate/internal/problem"
)

const (
	maxNodes    = 200_000 // read in all: aliases may repeat what stands in the file once
	maxProblems = 100     // told
	maxFound    = 2_000   // kept, to be put in the order of their lines
)

// A decoder reads one document into a Config and collects everything wrong with it.
type decoder struct {
	file      string
	doc       document
	env       func(string) (string, bool)
	files     *reader
	positions map[string]position
	origins   map[string]string // path → flag or variable its value came from
	problems  Problems
	failed    map[string]bool // paths that have a problem
	nodes     int
	root      reflect.Type // of the document, whose keys are looked through for misplaced ones

	dropped      int // problems beyond maxFound
	droppedError bool
}

// errorf adds an error at the place of path.
func (d *decoder) errorf(path, format string, args ...any) {
	d.add(problem.Error, path, fmt.Sprintf(format, args...))
}

func (d *decoder) warnf(path, format string, args ...any) {
	d.add(problem.Warning, path, fmt.Sprintf(format, args...))
}

func (d *decoder) add(level problem.Level, path, message string) {
	if origin, ok := d.origins[path]; ok {
		d.keep(Problem{origin, 0, 0, level, message}, path)
		return
	}
	at := nearestPosition(d.positions, path)
	d.keep(Problem{d.file, at.line, at.column, level, message}, path)
}

// errorAt adds an error about path at a place of its own.
func (d *decoder) errorAt(at position, path, message string) {
	d.keep(Problem{d.file, at.line, at.column, problem.Error, message}, path)
}

// keep adds a problem about path, unless there are so many that nobody would read it.
func (d *decoder) keep(p Problem, path string) {
	d.failed[path] = true
	if len(d.problems) == maxFound {
		d.dropped++
		d.droppedError = d.droppedError || p.Level == problem.Error
		return
	}
	if path != "" {
		p.Message = path + ": " + p.Message
	}
	d.problems = append(d.problems, p)
}

// sorted is the problems in the order of the lines, those without line last, and not too many.
func (d *decoder) sorted() Problems {
	key := func(p Problem) int { return cmp.Or(p.Line, math.MaxInt) }
	slices.SortStableFunc(d.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(key(a), key(b)), cmp.Compare(a.Column, b.Column))
	})
	if more := len(d.problems) - maxProblems + d.dropped; more > 0 {
		level := problem.Warning
		if d.droppedError || d.problems[maxProblems:].Failed() {
			level = problem.Error
		}
		d.problems = append(d.problems[:maxProblems:maxProblems], Problem{d.file, 0, 0, level, fmt.Sprintf("and %d more problems", more)})
	}
	return d.problems
}

// value reads node into v, which already holds its default. A null stands for the default.
func (d *decoder) value(path string, node ast.Node, v reflect.Value, tag reflect.StructTag) {
	if d.nodes++; d.nodes > maxNodes {
		if d.nodes == maxNodes+1 {
			d.errorf(path, "the aliases up to here stand for too many values")
		}
		return
	}
	resolved, err := d.doc.resolve(node)
	if err != nil {
		d.errorf(path, "%v", err)
		return
	}
	if v.Type() == reflect.TypeFor[Tree]() {
		d.tree(path, resolved, v)
		return
	}
	if isNull(resolved) {
		return
	}
	l, isLeaf := leafOf(v.Type())
	switch {
	case isLeaf:
		d.scalar(path, resolved, v, tag, l)
	case v.Type() == reflect.TypeFor[Allowed]() && kindOf(resolved) == "text":
		d.value(path, resolved, v.FieldByName("Key"), "")
	case v.Kind() == reflect.Slice:
		d.list(path, resolved, v, tag)
	case v.Kind() == reflect.Map:
		d.table(path, resolved, v, tag)
	default:
		d.structure(path, resolved, v)
	}
}

func (d *decoder) list(path string, node ast.Node, v reflect.Value, tag reflect.StructTag) {
	sequence, ok := node.(*ast.SequenceNode)
	if !ok {
		d.errorf(path, "want a list, got %s", described(node))
		return
	}
	if !d.fits(path, len(sequence.Values), tag) {
		return
	}
	out := reflect.MakeSlice(v.Type(), len(sequence.Values), len(sequence.Values))
	for i, item := range sequence.Values {
		at := fmt.Sprintf("%s[%d]", path, i)
		d.positions[at] = nodePosition(item)
		setDefaults(out.Index(i), d, at)
		if resolved, err := d.doc.resolve(item); err == nil && isNull(resolved) {
			d.errorf(at, "is empty")
			continue
		}
		d.value(at, item, out.Index(i), "")
	}
	v.Set(out)
}

// table reads a mapping whose keys are the operator's.
func (d *decoder) table(path string, node ast.Node, v reflect.Value, tag reflect.StructTag) {
	entries, ok := d.pairs(path, node)
	if !ok || !d.fits(path, len(entries), tag) {
		return
	}
	out := reflect.MakeMapWithSize(v.Type(), len(entries))
	for _, e := range entries {
		at := fmt.Sprintf("%s[%s]", path, strconv.Quote(e.key))
		d.positions[at] = e.at
		item := reflect.New(v.Type().Elem()).Elem()
		setDefaults(item, d, at)
		d.value(at, e.value, item, "")
		d.requirePresent(at, e.value, item.Type())
		out.SetMapIndex(reflect.ValueOf(e.key), item)
	}
	v.Set(out)
}

// requirePresent reports the required keys of an entry that is null, and so was not read at all.
func (d *decoder) requirePresent(path string, node ast.Node, t reflect.Type) {
	if resolved, err := d.doc.resolve(node); err == nil && isNull(resolved) {
		d.missing(path, t, nil)
	}
}

func (d *decoder) fits(path string, n int, tag reflect.StructTag) bool {
	most, err := strconv.Atoi(tag.Get("max"))
	if err == nil && n > most {
		d.errorf(path, "has %d entries: at most %d", n, most)
		return false
	}
	return true
}

// structure reads a mapping whose keys are the fields of v.
func (d *decoder) structure(path string, node ast.Node, v reflect.Value) {
	entries, ok := d.pairs(path, node)
	if !ok {
		return
	}
	fields := fieldsOf(v.Type())
	present := map[string]bool{}
	for _, e := range entries {
		at := join(path, e.key)
		f, known := fields[e.key]
		if !known {
			d.unknown(path, e, v.Type())
			continue
		}
		d.positions[at] = e.at
		delete(d.origins, at)
		if resolved, err := d.doc.resolve(e.value); err != nil || !isNull(resolved) {
			present[e.key] = true
		}
		d.value(at, e.value, v.FieldByIndex(f.Index), f.Tag)
	}
	d.missing(path, v.Type(), present)
}

// missing reports the required keys that are not present.
func (d *decoder) missing(path string, t reflect.Type, present map[string]bool) {
	for _, f := range reflect.VisibleFields(t) {
		if key := f.Tag.Get("yaml"); f.Tag.Get("required") == "true" && !present[key] {
			d.errorf(join(path, key), "is required: %s", f.Tag.Get("doc"))
		}
	}
}

// unknown reports a key no field has, with the one that was probably meant: near in spelling here, or
// of the same name elsewhere. Where secrets belong, a stray key may be one, and is not shown.
func (d *decoder) unknown(path string, e pair, t reflect.Type) {
	keys := keysOf(t)
	shown, hint := quote(e.key), "known are "+strings.Join(keys, ", ")
	near := nearest.Name(e.key, keys)
	switch {
	case near != "":
		hint = fmt.Sprintf("did you mean %q?", near)
	case elsewhere(d.root, e.key) != "":
		hint = fmt.Sprintf("it belongs under %s", elsewhere(d.root, e.key))
	case holdsSecrets(t):
		shown = "(not shown, it may be a secret)"
	}
	d.errorAt(e.at, path, fmt.Sprintf("unknown key %s: %s", shown, hint))
}

// scalar reads one value: expanded, parsed, within its bounds.
func (d *decoder) scalar(path string, node ast.Node, v reflect.Value, tag reflect.StructTag, l leaf) {
	raw, ok := scalarText(node)
	kind := kindOf(node)
	switch {
	case !ok:
		d.errorf(path, "want %s, got %s", l.want, described(node))
		return
	case kind != "text" && !l.number:
		d.errorf(path, "want %s, got %s: put it in quotes", l.want, described(node))
		return
	}
	d.text(path, raw, v, tag, l)
}

// text is scalar for a value that is already text, such as a default or a flag.
func (d *decoder) text(path, raw string, v reflect.Value, tag reflect.StructTag, l leaf) {
	text := raw
	if d.env != nil { // else variables have no meaning here
		var err error
		if text, err = expand(raw, d.env, d.files.secret); err != nil {
			d.errorf(path, "%v", err)
			return
		}
	}
	shown := "the value"
	if !l.hidden {
		shown = quote(raw)
	}
	if text == "" {
		switch fallback := tag.Get("default"); {
		case tag == "":
			d.errorf(path, "is empty")
		case tag.Get("required") == "true":
			d.errorf(path, "is required: %s", tag.Get("doc"))
		case fallback != "" && !strings.Contains(fallback, "${"):
			d.errorf(path, "is empty: leave the key out for the default, %s", fallback)
		default:
			v.SetZero()
		}
		return
	}
	parsed, err := l.parse(text)
	if err != nil {
		d.errorf(path, "%s is not valid: want %s%s", shown, l.want, l.rule)
		return
	}
	if enum := tag.Get("enum"); enum != "" {
		known := strings.Split(enum, ",")
		if !slices.Contains(known, text) {
			d.errorf(path, "%s is not valid: want %s", shown, alternatives(known))
			return
		}
	}
	if why := outside(parsed, tag, l); why != "" {
		d.errorf(path, "%s is %s", shown, why)
		return
	}
	v.Set(reflect.ValueOf(parsed).Convert(v.Type()))
}

// outside says how a value leaves the bounds of its tag, or "".
func outside(value any, tag reflect.StructTag, l leaf) string {
	number := func(v any) int64 {
		if r := reflect.ValueOf(v); r.CanInt() {
			return r.Int()
		}
		return 0
	}
	if bound, err := l.parse(tag.Get("min")); err == nil && tag.Get("min") != "" && number(value) < number(bound) {
		return "less than " + tag.Get("min") + ", the least allowed"
	}
	if bound, err := l.parse(tag.Get("max")); err == nil && tag.Get("max") != "" && number(value) > number(bound) {
		return "more than " + tag.Get("max") + ", the most allowed"
	}
	return ""
}
