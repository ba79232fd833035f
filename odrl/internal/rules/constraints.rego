# Constraints (ODRL IM 2.5.1): whether facts meet a leaf. Decide and Evaluate both use this module.
#
# data.policy.leaves[id]  slot, type, operator, value; windows have from and to, odrl:policyUsage has usage and no value
# input.facts[slot]       the facts, a list; a slot without facts is unknown
# input.now               the time of use, for usage
# input.within[value]     the classes that a value is part of
package uimgate.odrl

holds_0 contains id if {
	leaf := data.policy.leaves[id]
	met(leaf.operator, leaf, input.facts[leaf.slot])
}

fails_0 contains id if {
	leaf := data.policy.leaves[id]
	missed(leaf.operator, leaf, input.facts[leaf.slot])
}

# odrl:policyUsage as right operand is the time at which the action of the rule is exercised.
holds_0 contains id if {
	leaf := data.policy.leaves[id]
	leaf.usage
	met(leaf.operator, {"type": "number", "value": input.now}, input.facts[leaf.slot])
}

fails_0 contains id if {
	leaf := data.policy.leaves[id]
	leaf.usage
	missed(leaf.operator, {"type": "number", "value": input.now}, input.facts[leaf.slot])
}

met("eq", leaf, facts) if same(leaf, facts)

met("neq", leaf, facts) if unlike(leaf, facts)

met("lt", leaf, facts) if single(leaf, facts) < leaf.value

met("lteq", leaf, facts) if single(leaf, facts) <= leaf.value

met("gt", leaf, facts) if single(leaf, facts) > leaf.value

met("gteq", leaf, facts) if single(leaf, facts) >= leaf.value

met("isAnyOf", leaf, facts) if overlaps(leaf, facts)

met("isNoneOf", leaf, facts) if disjoint(leaf, facts)

met("isAllOf", leaf, facts) if complete(leaf, facts)

# These operators compare codes, where one may contain another: a part of a value does not equal it, and does not certainly differ from it.
met("isExactly", leaf, facts) if same(leaf, facts)

met("isExactlyAny", leaf, facts) if overlaps(leaf, facts)

met("isExactlyAll", leaf, facts) if complete(leaf, facts)

missed("isExactlyAll", leaf, facts) if {
	known(leaf, facts)
	some value in leaf.value
	not reaches(leaf, value, facts)
}

# These operators compare lists of codes and other names. Whether the other names contain a fact is unknown.
met("isKnownAny", leaf, facts) if overlaps(leaf, facts)

met("isKnownAll", leaf, facts) if complete(leaf, facts)

missed("isNoneKnown", leaf, facts) if {
	known(leaf, facts)
	lands(leaf, facts)
}

met("isPartOf", leaf, facts) if {
	known(leaf, facts)
	not strays(leaf, facts)
}

met("hasPart", leaf, facts) if {
	known(leaf, facts)
	not partless(leaf, facts)
}

met("within", leaf, facts) if inside(leaf, facts)

met("outside", leaf, facts) if beyond(leaf, facts)

# Facts miss an operator if they meet its opposite.
missed(operator, leaf, facts) if met(opposites[operator], leaf, facts)

opposites := {
	"eq": "neq", "neq": "eq", "lt": "gteq", "gteq": "lt", "lteq": "gt", "gt": "lteq",
	"isAnyOf": "isNoneOf", "isNoneOf": "isAnyOf", "within": "outside", "outside": "within",
	"isExactly": "isNotPartOf", "isExactlyAny": "isNonePartOf",
	"isNotPartOf": "isPartOf", "isAnyPartOf": "isNonePartOf", "isNonePartOf": "isAnyPartOf",
	"shorter": "longer-or-same", "longer-or-same": "shorter", "longer": "shorter-or-same", "shorter-or-same": "longer",
}

missed("isAllOf", leaf, facts) if {
	known(leaf, facts)
	omits(leaf, facts)
}

# Containment is known to be complete only for codes (regions, languages). For any other value that is not equal, the result is
# unknown.
missed("isPartOf", leaf, facts) if {
	leaf.type == "code"
	known(leaf, facts)
	not touches(leaf, facts)
}

missed("hasPart", leaf, facts) if {
	leaf.type == "code"
	known(leaf, facts)
	partless(leaf, facts)
}

# If the world, the document or a vocabulary gives the classes of a value, it has no others. If none of them does, its classes are unknown.
missed("isPartOf", leaf, facts) if {
	leaf.type == "class"
	known(leaf, facts)
	not touches(leaf, facts)
	not unplaced(facts)
}

missed("hasPart", leaf, facts) if {
	leaf.type == "class"
	known(leaf, facts)
	some value in leaf.value
	input.within[value]
	not covered(leaf.type, value, facts)
}

unplaced(facts) if {
	some fact in facts
	not input.within[fact]
}

# Equality with an address range means membership in it. Inequality with a code means that the code does not contain the fact.
met("isNotPartOf", leaf, facts) if {
	known(leaf, facts)
	not touches(leaf, facts)
}

met("isAnyPartOf", leaf, facts) if {
	known(leaf, facts)
	lands(leaf, facts)
}

met("isNonePartOf", leaf, facts) if {
	known(leaf, facts)
	not lands(leaf, facts)
}

# Several facts equal a value only if all of them do, and differ from it only if all of them do.
same(leaf, facts) if {
	known(leaf, facts)
	not differs(leaf, facts)
}

unlike(leaf, facts) if {
	known(leaf, facts)
	not leaf.value in facts
}

differs(leaf, facts) if {
	some fact in facts
	fact != leaf.value
}

overlaps(leaf, facts) if {
	known(leaf, facts)
	some fact in facts
	fact in leaf.value
}

disjoint(leaf, facts) if {
	known(leaf, facts)
	not shares(leaf, facts)
}

shares(leaf, facts) if {
	some fact in facts
	fact in leaf.value
}

complete(leaf, facts) if {
	known(leaf, facts)
	not omits(leaf, facts)
}

omits(leaf, facts) if {
	some value in leaf.value
	not value in facts
}

# isPartOf and hasPart are reflexive and transitive. A code contains the codes that continue it after a hyphen.
strays(leaf, facts) if {
	some fact in facts
	not part(leaf.type, fact, leaf.value)
}

touches(leaf, facts) if {
	some fact in facts
	part(leaf.type, fact, leaf.value)
}

lands(leaf, facts) if {
	some fact in facts
	some value in leaf.value
	part(leaf.type, fact, value)
}

reaches(leaf, value, facts) if {
	some fact in facts
	part(leaf.type, fact, value)
}

partless(leaf, facts) if {
	some value in leaf.value
	not covered(leaf.type, value, facts)
}

covered(type, value, facts) if {
	some fact in facts
	part(type, value, fact)
}

part(_, piece, whole) if piece == whole

part("code", piece, whole) if startswith(piece, concat("", [whole, "-"]))

# A value is part of the classes that the world gives for it.
part("class", piece, whole) if whole in input.within[piece]

# A window contains its start but not its end. If the end precedes the start, the window includes midnight.
inside(leaf, facts) if {
	now := single(leaf, facts)
	leaf.from < leaf.to
	now >= leaf.from
	now < leaf.to
}

inside(leaf, facts) if {
	leaf.from > leaf.to
	single(leaf, facts) >= leaf.from
}

inside(leaf, facts) if {
	leaf.from > leaf.to
	single(leaf, facts) < leaf.to
}

beyond(leaf, facts) if {
	leaf.from < leaf.to
	single(leaf, facts) < leaf.from
}

beyond(leaf, facts) if {
	leaf.from < leaf.to
	single(leaf, facts) >= leaf.to
}

beyond(leaf, facts) if {
	now := single(leaf, facts)
	leaf.from > leaf.to
	now >= leaf.to
	now < leaf.from
}

# Rego orders values of different types ("abc" > 5 is true), so each comparison first checks the types.
single(leaf, facts) := facts[0] if {
	known(leaf, facts)
	count(facts) == 1
}

known(leaf, facts) if {
	is_array(facts)
	count(facts) > 0
	not foreign(leaf, facts)
}

foreign(leaf, facts) if {
	some fact in facts
	not typed(leaf.type, fact)
}

typed("text", fact) if is_string(fact)

typed("code", fact) if is_string(fact)

typed("class", fact) if is_string(fact)

typed("number", fact) if is_number(fact)

# This is a pattern instead of a count, because a partial evaluation of its negation applies it to values of any type.
typed("version", fact) if [_, _, _] = fact

# Numbers of any size, and versions, are encoded as lists with the same order.
typed("ordered", fact) if {
	is_array(fact)
	is_number(fact[0])
	not worded(fact)
}

worded(fact) if {
	some part in fact
	not is_number(part)
	not is_array(part)
}

# A duration with months has no fixed length. It is encoded as the four lengths that XML Schema 1.0 part 2, 3.2.6.2, compares. Two
# durations are ordered only if all four agree.
typed("duration", fact) if {
	is_array(fact)
	count(fact) == 4
	is_number(fact[0])
	is_number(fact[1])
	is_number(fact[2])
	is_number(fact[3])
}

met("shorter", leaf, facts) if all_less(single(leaf, facts), leaf.value)

met("shorter-or-same", leaf, facts) if none_more(single(leaf, facts), leaf.value)

met("longer", leaf, facts) if all_less(leaf.value, single(leaf, facts))

met("longer-or-same", leaf, facts) if none_more(leaf.value, single(leaf, facts))

all_less(a, b) if {
	a[0] < b[0]
	a[1] < b[1]
	a[2] < b[2]
	a[3] < b[3]
}

none_more(a, b) if {
	a[0] <= b[0]
	a[1] <= b[1]
	a[2] <= b[2]
	a[3] <= b[3]
}
