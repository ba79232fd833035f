package model

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// maxValues is the maximum number of right operands of one constraint, because each is compared with each fact of a call.
const maxValues = 1000

// constraint reads a constraint or a logical constraint. Logical constraints may be nested up to MaxNesting deep. If the constraint cannot
// be read, the problem is reported and the result is nil.
func (r *reader) constraint(f Field, depth int) *Constraint {
	if !r.fits(&r.constraints, MaxConstraints, "constraints", f.Pointer) {
		return nil
	}
	id := r.idOf(f.Value)
	if r.dangling(f.Value, constraintRole) {
		r.Problems.Errorf("reference", f.Pointer, "the constraint %s is referenced but not defined: define it here, or as a node in the @graph",
			Quote(id))
		return nil
	}
	if s, isText := f.Value.(string); isText {
		if depth > 0 { // for and, or, xone and andSequence, a string is a literal
			r.Problems.Doubtf("reference", f.Pointer, "a string is not a reference here: write {\"@id\": %s}", Quote(s))
		}
	}
	if known, ok := r.readConstraints[id]; ok && id != "" {
		return r.sameConstraint(known, f, depth)
	}
	o := r.node(f, "a constraint", constraintRole)
	if o == nil {
		return nil
	}
	if r.reading[id] {
		r.Problems.Errorf("cycle", f.Pointer, "the constraint %s contains itself", Quote(id))
		return nil
	}
	if id != "" {
		r.reading[id] = true
		defer delete(r.reading, id)
	}
	c := r.constraintBody(o, depth)
	if c != nil && id != "" {
		r.readConstraints[id] = c
	}
	return c
}

// sameConstraint returns a constraint that was already read under the IRI of f. It counts the constraints in it again.
func (r *reader) sameConstraint(known *Constraint, f Field, depth int) *Constraint {
	if depth+known.Depth > MaxNesting {
		r.Problems.Errorf("too-deep", f.Pointer, "constraints may be nested at most %d deep", MaxNesting)
		return nil
	}
	for range known.weight - 1 {
		if !r.fits(&r.constraints, MaxConstraints, "constraints", f.Pointer) {
			return nil
		}
	}
	return known
}

func (r *reader) constraintBody(o *object, depth int) *Constraint {
	c := &Constraint{Pointer: o.pointer, weight: 1, notes: o.notes}
	if id, ok := o.one("@id"); ok {
		c.UID = r.nodeID(id, "the uid of a constraint")
	}
	for _, t := range o.items("@type") {
		if s, ok := r.word(t, "a type"); ok {
			if name, ok := r.Local(s, r.Namespaces); !ok || name != "Constraint" && name != "LogicalConstraint" {
				r.Problems.Errorf("type", t.Pointer, "a constraint cannot be of type %s", Quote(s))
			}
		}
	}
	for _, logic := range logics {
		if _, has := o.fields[logic]; !has {
			continue
		}
		if c.Logic != "" {
			r.Problems.Errorf("logic", o.pointer, "a logical constraint must have exactly one of and, or, xone and andSequence")
			return nil
		}
		c.Logic = logic
	}
	if c.Logic != "" {
		return r.logical(o, c, depth)
	}
	if !r.comparison(o, c) {
		return nil
	}
	return c
}

func (r *reader) logical(o *object, c *Constraint, depth int) *Constraint {
	if depth >= MaxNesting {
		r.Problems.Errorf("too-deep", c.Pointer, "constraints may be nested at most %d deep", MaxNesting)
		return nil
	}
	at := o.fields[c.Logic][0].Pointer
	written := 0
	for _, f := range o.fields[c.Logic] {
		written += len(ListOf(f))
	}
	before := r.Problems.errors
	c.Operands = r.constraintList(o, c.Logic, depth+1)
	o.close("a logical constraint")
	switch single := c.Logic == "and" || c.Logic == "or"; {
	case len(c.Operands) == 1 && single && r.Problems.errors == before:
		r.Problems.Warnf("logic", at, "%s has no effect, because it has only one constraint", c.Logic)
	case len(c.Operands) < 2 && written > 1 && r.Problems.errors > before:
		return nil // enough are written, and their problems have been reported
	case len(c.Operands) < 2:
		r.Problems.Errorf("logic", at, "%s needs at least two constraints", c.Logic)
		return nil
	}
	for i, operand := range c.Operands {
		c.Depth = max(c.Depth, operand.Depth+1)
		c.weight += operand.weight
		if slices.Contains(c.Operands[:i], operand) {
			r.Problems.Doubtf("logic", at, "%s has the same constraint twice", c.Logic)
		}
	}
	return c
}

func (r *reader) comparison(o *object, c *Constraint) bool {
	left, hasLeft := o.one("leftOperand")
	op, hasOp := o.one("operator")
	right := o.items("rightOperand")
	unit, hasUnit := o.one("unit")
	dataType, hasType := o.one("dataType")
	status, hasStatus := o.one("status")
	referred := o.items("rightOperandReference")
	o.close("a constraint")
	if !hasLeft || !hasOp || len(right)+len(referred) == 0 {
		r.Problems.Errorf("constraint", c.Pointer, "a constraint needs a leftOperand, an operator and a rightOperand")
		return false
	}
	if len(right) > 0 && len(referred) > 0 {
		r.Problems.Errorf("constraint", c.Pointer, "a constraint cannot have both a rightOperand and a rightOperandReference")
		return false
	}
	ok := r.operandAndOperator(c, left, op)
	if hasUnit {
		s, good := r.word(unit, "a unit")
		c.Unit = Reference{Pointer: unit.Pointer, IRI: r.Expand(s)}
		ok = ok && good
	}
	if hasType {
		s, good := r.word(dataType, "a data type")
		c.DataType = r.Expand(s)
		if good && !isDatatype(c.DataType) {
			r.Problems.Doubtf("datatype", dataType.Pointer, "%s is not a datatype: use one of XML Schema, such as xsd:decimal", Quote(s))
		}
		ok = ok && good
	}
	if hasStatus {
		s, good := Scalar(status.Value)
		if !good {
			r.Problems.Errorf("status", status.Pointer, "a status must be a number or a string")
		}
		c.Status = s
		c.state, _ = r.literal(status)
		ok = ok && good
	}
	if len(right) > maxValues {
		r.Problems.Errorf("too-large", c.Pointer, "a constraint may have at most %d right operands", maxValues)
		return false
	}
	for _, f := range right {
		lit, good := r.literal(f)
		c.Right = append(c.Right, lit)
		ok = ok && good
	}
	for _, f := range referred {
		iri, good := r.iri(f, "a rightOperandReference")
		c.RightRef = append(c.RightRef, Reference{Pointer: f.Pointer, IRI: iri})
		ok = ok && good
	}
	return ok
}

func (r *reader) operandAndOperator(c *Constraint, left, op Field) bool {
	ok := false
	if s, good := r.word(left, "a left operand"); good {
		c.Operand, ok = r.term(operandClass, left, s)
		c.row = r.added.rows[c.Operand]
	}
	if s, good := r.word(op, "an operator"); good {
		name, found := r.term(operatorClass, op, s)
		c.Operator = name
		ok = ok && found
	} else {
		ok = false
	}
	if ok && c.Operator == "use" && c.Operand != "publicKey" {
		r.Problems.Errorf("operator", op.Pointer, "the operator use is valid only with publicKey")
		return false
	}
	return ok
}

// literal reads one right operand: a string, a number, a boolean, a value object, an IRI or a window. It reports any other value and
// returns false.
func (r *reader) literal(f Field) (Literal, bool) {
	switch v := f.Value.(type) {
	case bool:
		return Literal{Pointer: f.Pointer, Text: strconv.FormatBool(v), json: v}, true
	case json.Number:
		return Literal{Pointer: f.Pointer, Text: string(v), json: v}, true
	case string:
		text := r.expandIRI(v)
		return Literal{Pointer: f.Pointer, Text: text, iri: text != v}, true
	case map[string]any:
		return r.valueObject(f)
	}
	r.Problems.Errorf("value", f.Pointer, "a right operand must be a string, a number, an IRI or a window, not %s", strictjson.Kind(f.Value))
	return Literal{}, false
}

func (r *reader) valueObject(f Field) (Literal, bool) {
	o := r.object(f, "a right operand")
	lit := Literal{Pointer: f.Pointer}
	if len(o.fields["start"])+len(o.fields["end"]) > 0 {
		start, hasStart := o.one("start")
		end, hasEnd := o.one("end")
		o.close("a window")
		var ok, ok2 bool
		lit.Start, ok = Scalar(start.Value)
		lit.End, ok2 = Scalar(end.Value)
		lit.Window = true
		if !hasStart || !hasEnd || !ok || !ok2 {
			r.Problems.Errorf("window", f.Pointer, "a window needs a start and an end")
			return lit, false
		}
		return lit, true
	}
	id, isIRI := o.one("@id")
	if isIRI {
		o.items("@type")
		o.close("an IRI")
		s, ok := r.word(id, "an IRI")
		lit.Text, lit.iri = r.Expand(s), true
		if ok && blank(lit.Text) {
			r.Problems.Doubtf("value", f.Pointer, "a right operand must be a value or an IRI, not a blank node")
		}
		return lit, ok
	}
	value, has := o.one("@value")
	if t, ok := o.one("@type"); ok {
		if s, ok := r.word(t, "a data type"); ok {
			lit.dataType = r.Expand(s)
		}
	}
	if l, ok := o.one("@language"); ok {
		lit.language, _ = r.word(l, "a language")
	}
	o.close("a right operand")
	switch v := value.Value.(type) {
	case string:
		lit.Text = v
		if lit.dataType == "" && lit.language == "" {
			lit.Text = r.expandIRI(v)
		}
		return lit, has
	case json.Number:
		lit.Text, lit.json = string(v), v
		return lit, has
	case bool:
		lit.Text, lit.json = strconv.FormatBool(v), v
		return lit, has
	}
	r.Problems.Errorf("value", f.Pointer, "a right operand must be a string, a number, an IRI or a window")
	return lit, false
}

// expandIRI expands a known prefix in a string such as ex:research. It returns other strings unchanged, including times and UIDs.
func (r *reader) expandIRI(s string) string {
	if e := r.Expand(s); e != s && Absolute(e) {
		return e
	}
	return s
}
