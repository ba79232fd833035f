package odrl

import (
	"slices"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// maxValues bounds the right operands of one constraint: each is compared with each fact of a call.
const maxValues = 1000

// constraint reads a constraint or, up to MaxNesting deep, a logical constraint.
func (r *reader) constraint(f field, depth int) *constraintNode {
	if !r.fits(&r.constraints, MaxConstraints, "constraints", f.pointer) {
		return nil
	}
	if s, isText := f.value.(string); isText {
		r.problems.Errorf("reference", f.pointer, "the constraint %s is only referred to: write it here in full", quote(s))
		return nil
	}
	o := r.object(f, "a constraint")
	if o == nil {
		return nil
	}
	c := &constraintNode{pointer: f.pointer}
	c.uid = r.uid(o, "a constraint")
	for _, t := range o.items("@type") {
		if s, ok := r.word(t, "a type"); ok {
			if name, ok := r.local(s, r.namespaces); !ok || name != "Constraint" && name != "LogicalConstraint" {
				r.problems.Errorf("type", t.pointer, "a constraint cannot be of type %s", quote(s))
			}
		}
	}
	for _, logic := range logics {
		if _, has := o.fields[logic]; !has {
			continue
		}
		if c.logic != "" {
			r.problems.Errorf("logic", f.pointer, "a logical constraint has exactly one of and, or, xone and andSequence")
			return nil
		}
		c.logic = logic
	}
	if c.logic != "" {
		return r.logical(o, c, depth)
	}
	if !r.comparison(o, c) {
		return nil
	}
	return c
}

func (r *reader) logical(o *object, c *constraintNode, depth int) *constraintNode {
	if depth >= MaxNesting {
		r.problems.Errorf("too-deep", c.pointer, "constraints nest at most %d deep", MaxNesting)
		return nil
	}
	at := o.fields[c.logic].pointer
	c.operands = r.constraintList(o, c.logic, depth+1)
	o.close("a logical constraint")
	if len(c.operands) < 2 {
		r.problems.Errorf("logic", at, "%s needs at least two constraints", c.logic)
		return nil
	}
	for _, operand := range c.operands {
		c.depth = max(c.depth, operand.depth+1)
	}
	return c
}

func (r *reader) comparison(o *object, c *constraintNode) bool {
	left, hasLeft := o.one("leftOperand")
	op, hasOp := o.one("operator")
	right := o.items("rightOperand")
	unit, hasUnit := o.one("unit")
	dataType, hasType := o.one("dataType")
	status, hasStatus := o.one("status")
	_, referred := o.fields["rightOperandReference"]
	o.close("a constraint")
	if !hasLeft || !hasOp || len(right) == 0 && !referred {
		r.problems.Errorf("constraint", c.pointer, "a constraint needs a leftOperand, an operator and a rightOperand")
		return false
	}
	ok := r.operandAndOperator(c, left, op)
	if hasUnit {
		s, good := r.word(unit, "a unit")
		c.unit = reference{unit.pointer, r.expand(s)}
		ok = ok && good
	}
	if hasType {
		s, good := r.word(dataType, "a data type")
		c.dataType = r.expand(s)
		ok = ok && good
	}
	if hasStatus {
		s, good := scalar(status.value)
		if !good {
			r.problems.Errorf("status", status.pointer, "a status is a number or its text")
		}
		c.status = s
		ok = ok && good
	}
	if len(right) > maxValues {
		r.problems.Errorf("too-large", c.pointer, "a constraint has at most %d right operands", maxValues)
		return false
	}
	for _, f := range right {
		lit, good := r.literal(f)
		c.right = append(c.right, lit)
		ok = ok && good
	}
	return ok && !referred
}

func (r *reader) operandAndOperator(c *constraintNode, left, op field) bool {
	ok := false
	if s, good := r.word(left, "a left operand"); good {
		c.operand, ok = r.term(operandClass, left, s)
	}
	if s, good := r.word(op, "an operator"); good {
		name, found := r.term(operatorClass, op, s)
		c.operator = name
		ok = ok && found
	} else {
		ok = false
	}
	if !ok {
		return false
	}
	if c.operator == "use" && c.operand != "publicKey" {
		r.problems.Errorf("operator", op.pointer, "the operator use belongs to publicKey alone")
		return false
	}
	return true
}

// literal reads one right operand: text, number, boolean, value object, IRI or window.
func (r *reader) literal(f field) (literal, bool) {
	switch v := f.value.(type) {
	case bool:
		return literal{pointer: f.pointer, text: map[bool]string{true: "true", false: "false"}[v]}, true
	case map[string]any:
		return r.valueObject(f, v)
	}
	if s, ok := scalar(f.value); ok {
		return literal{pointer: f.pointer, text: r.expandIRI(s)}, true
	}
	r.problems.Errorf("value", f.pointer, "a right operand is a text, a number, an IRI or a window, not %s", strictjson.Kind(f.value))
	return literal{}, false
}

func (r *reader) valueObject(f field, v map[string]any) (literal, bool) {
	o := r.object(f, "a right operand")
	lit := literal{pointer: f.pointer}
	if _, isWindow := o.fields["start"]; isWindow || o.fields["end"].pointer != "" {
		start, hasStart := o.one("start")
		end, hasEnd := o.one("end")
		o.close("a window")
		var ok, ok2 bool
		lit.start, ok = scalar(start.value)
		lit.end, ok2 = scalar(end.value)
		lit.window = true
		if !hasStart || !hasEnd || !ok || !ok2 {
			r.problems.Errorf("window", f.pointer, "a window has a start and an end")
			return lit, false
		}
		return lit, true
	}
	id, isIRI := o.one("@id")
	if isIRI {
		o.close("an IRI")
		s, ok := r.word(id, "an IRI")
		lit.text = r.expand(s)
		return lit, ok
	}
	value, has := o.one("@value")
	o.items("@type")
	o.items("@language")
	o.close("a right operand")
	s, ok := scalar(value.value)
	if !has || !ok {
		r.problems.Errorf("value", f.pointer, "a right operand is a text, a number, an IRI or a window; members read: %d", len(v))
		return lit, false
	}
	lit.text = r.expandIRI(s)
	return lit, true
}

// expandIRI writes out a known prefix of a text such as ex:research; times and UIDs stay as they are.
func (r *reader) expandIRI(s string) string {
	if e := r.expand(s); e != s && absolute(e) {
		return e
	}
	return s
}

// texts are the right operands as texts, sorted.
func (c *constraintNode) texts() []string {
	var list []string
	for _, l := range c.right {
		if l.window {
			list = append(list, l.start+"/"+l.end)
			continue
		}
		list = append(list, l.text)
	}
	slices.Sort(list)
	return list
}
