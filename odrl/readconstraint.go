package odrl

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// maxValues bounds the right operands of one constraint: each is compared with each fact of a call.
const maxValues = 1000

// constraint reads a constraint or, up to MaxNesting deep, a logical constraint.
func (r *reader) constraint(f field, depth int) *constraintNode {
	if !r.fits(&r.constraints, MaxConstraints, "constraints", f.pointer) {
		return nil
	}
	id := r.idOf(f.value)
	if r.dangling(f.value, constraintRole) {
		r.problems.Errorf("reference", f.pointer, "the constraint %s is only referred to: write it here in full, or as a node of the @graph", quote(id))
		return nil
	}
	if s, isText := f.value.(string); isText {
		if depth > 0 { // and, or, xone and andSequence take texts for literals
			r.problems.Doubtf("reference", f.pointer, "a text is no reference here: write {\"@id\": %s}", quote(s))
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
		r.problems.Errorf("cycle", f.pointer, "the constraint %s is one of its own parts", quote(id))
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

// sameConstraint is a constraint that was read before, under the IRI by which this refers to it.
func (r *reader) sameConstraint(known *constraintNode, f field, depth int) *constraintNode {
	if depth+known.depth > MaxNesting {
		r.problems.Errorf("too-deep", f.pointer, "constraints nest at most %d deep", MaxNesting)
		return nil
	}
	for range known.weight - 1 {
		if !r.fits(&r.constraints, MaxConstraints, "constraints", f.pointer) {
			return nil
		}
	}
	return known
}

func (r *reader) constraintBody(o *object, depth int) *constraintNode {
	c := &constraintNode{pointer: o.pointer, weight: 1, notes: o.notes}
	if id, ok := o.one("@id"); ok {
		c.uid = r.nodeID(id, "the uid of a constraint")
	}
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
			r.problems.Errorf("logic", o.pointer, "a logical constraint has exactly one of and, or, xone and andSequence")
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
	at := o.fields[c.logic][0].pointer
	c.operands = r.constraintList(o, c.logic, depth+1)
	o.close("a logical constraint")
	if len(c.operands) < 2 {
		r.problems.Errorf("logic", at, "%s needs at least two constraints", c.logic)
		return nil
	}
	for i, operand := range c.operands {
		c.depth = max(c.depth, operand.depth+1)
		c.weight += operand.weight
		if slices.Contains(c.operands[:i], operand) {
			r.problems.Doubtf("logic", at, "%s has the same constraint twice", c.logic)
		}
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
	referred := o.items("rightOperandReference")
	o.close("a constraint")
	if !hasLeft || !hasOp || len(right)+len(referred) == 0 {
		r.problems.Errorf("constraint", c.pointer, "a constraint needs a leftOperand, an operator and a rightOperand")
		return false
	}
	if len(right) > 0 && len(referred) > 0 {
		r.problems.Errorf("constraint", c.pointer, "a constraint has a rightOperand or a rightOperandReference, not both")
		return false
	}
	ok := r.operandAndOperator(c, left, op)
	if hasUnit {
		s, good := r.word(unit, "a unit")
		c.unit = reference{pointer: unit.pointer, iri: r.expand(s)}
		ok = ok && good
	}
	if hasType {
		s, good := r.word(dataType, "a data type")
		c.dataType = r.expand(s)
		if good && !isDatatype(c.dataType) {
			r.problems.Doubtf("datatype", dataType.pointer, "%s is no datatype: write one of XML Schema's such as xsd:decimal", quote(s))
		}
		ok = ok && good
	}
	if hasStatus {
		s, good := scalar(status.value)
		if !good {
			r.problems.Errorf("status", status.pointer, "a status is a number or its text")
		}
		c.status = s
		c.state, _ = r.literal(status)
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
	for _, f := range referred {
		iri, good := r.iri(f, "a rightOperandReference")
		c.rightRef = append(c.rightRef, reference{pointer: f.pointer, iri: iri})
		ok = ok && good
	}
	return ok
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
	if ok && c.operator == "use" && c.operand != "publicKey" {
		r.problems.Errorf("operator", op.pointer, "the operator use belongs to publicKey alone")
		return false
	}
	return ok
}

// literal reads one right operand: text, number, boolean, value object, IRI or window.
func (r *reader) literal(f field) (literal, bool) {
	switch v := f.value.(type) {
	case bool:
		return literal{pointer: f.pointer, text: strconv.FormatBool(v), json: v}, true
	case json.Number:
		return literal{pointer: f.pointer, text: string(v), json: v}, true
	case string:
		text := r.expandIRI(v)
		return literal{pointer: f.pointer, text: text, iri: text != v}, true
	case map[string]any:
		return r.valueObject(f)
	}
	r.problems.Errorf("value", f.pointer, "a right operand is a text, a number, an IRI or a window, not %s", strictjson.Kind(f.value))
	return literal{}, false
}

func (r *reader) valueObject(f field) (literal, bool) {
	o := r.object(f, "a right operand")
	lit := literal{pointer: f.pointer}
	if len(o.fields["start"])+len(o.fields["end"]) > 0 {
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
		o.items("@type")
		o.close("an IRI")
		s, ok := r.word(id, "an IRI")
		lit.text, lit.iri = r.expand(s), true
		if ok && blank(lit.text) {
			r.problems.Doubtf("value", f.pointer, "a right operand is a value or an IRI, not a blank node")
		}
		return lit, ok
	}
	value, has := o.one("@value")
	if t, ok := o.one("@type"); ok {
		if s, ok := r.word(t, "a data type"); ok {
			lit.dataType = r.expand(s)
		}
	}
	if l, ok := o.one("@language"); ok {
		lit.language, _ = r.word(l, "a language")
	}
	o.close("a right operand")
	switch v := value.value.(type) {
	case string:
		lit.text = v
		if lit.dataType == "" && lit.language == "" {
			lit.text = r.expandIRI(v)
		}
		return lit, has
	case json.Number:
		lit.text, lit.json = string(v), v
		return lit, has
	case bool:
		lit.text, lit.json = strconv.FormatBool(v), v
		return lit, has
	}
	r.problems.Errorf("value", f.pointer, "a right operand is a text, a number, an IRI or a window")
	return lit, false
}

// expandIRI writes out a known prefix of a text such as ex:research; times and UIDs stay as they are.
func (r *reader) expandIRI(s string) string {
	if e := r.expand(s); e != s && absolute(e) {
		return e
	}
	return s
}
