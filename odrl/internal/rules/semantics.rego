# What ODRL 2.2 means, for one request, over a policy in normal form.
#
# The policy is data (data.policy), the request is input; nothing here reads a clock, a counter or a
# network. Section numbers are those of the ODRL Information Model 2.2 ("IM").
#
# data.policy.always[target]      rules of any kind that have no conditions
# data.policy.permission[target]  permissions on execute, under conditions
# data.policy.binding[target]     prohibitions and obligations, under conditions
# data.policy.signing[target]     obligations to sign (UIM core 6.2 signPayload)
# data.policy.leaves[id]          constraints: slot, type, operator, value
# data.policy.logic[id]           logical constraints: level, operator, operands (levels.rego)
#
# input.targets  the collections this intent belongs to, itself included
# input.parties  the party IRIs the agent is known under, and "*", which is everyone
# input.facts    values of left operands by slot, each a list; a slot without facts is unknown
# input.proof    the key that signed this call; absent: none did
# input.agent    the key of the agreement
#
# A constraint is true, false or unknown. That is kept as two positive sets, holds and fails, never as
# a negation of one: what stands in neither is unknown. A permission needs every constraint to hold; a
# prohibition or an obligation binds unless one fails. So a missing or wrong-typed fact never helps.
package uimgate.odrl

outcome := {"active": active, "unmet": unmet}

# IM 2.2.1, 2.3.1: a rule is about a target and an assignee; one that names no assignee is for everyone.
active contains rule.n if {
	some target in input.targets
	some rule in data.policy.always[target]
	rule.assignee in input.parties
}

# IM 2.6.1: a permission applies when its constraints hold and its signing duties are fulfilled.
active contains rule.n if {
	some target in input.targets
	some rule in data.policy.permission[target]
	rule.assignee in input.parties
	not lacking(rule)
}

# IM 2.6.4: duties of a permission that are owed under constraints of their own.
active contains duty.n if {
	some target in input.targets
	some rule in data.policy.permission[target]
	some duty in rule.duties
	not excused(duty)
}

# IM 2.6.2, 2.6.3: prohibitions and obligations.
active contains rule.n if {
	some target in input.targets
	some rule in data.policy.binding[target]
	rule.assignee in input.parties
	not excused(rule)
}

# Obligations to sign that bind this agent and that this call does not fulfil.
unmet contains rule.n if {
	some target in input.targets
	some rule in data.policy.signing[target]
	rule.assignee in input.parties
	not excused(rule)
	not signed(rule)
}

lacking(rule) if {
	some id in rule.constraints
	not holds_0[id]
}

lacking(rule) if {
	some node in rule.logic
	not holds_at(node.level, node.id)
}

lacking(rule) if {
	some duty in rule.signing
	not excused(duty)
	not signed(duty)
}

excused(rule) if {
	some id in rule.constraints
	fails_0[id]
}

excused(rule) if {
	some node in rule.logic
	fails_at(node.level, node.id)
}

# An elided key in the policy stands for the key of the agreement.
signed(duty) if input.proof in duty.keys

signed(duty) if {
	duty.elided
	input.proof == input.agent
}

# --- What an agent may ever do: facts not given stay open -------------------------------------------

terms := {"possible": possible, "certain": certain}

possible contains rule.n if {
	some kind in ["always", "permission", "binding", "signing"]
	some target in input.targets
	some rule in data.policy[kind][target]
	rule.assignee in input.parties
	not excused(rule)
}

possible contains duty.n if {
	some target in input.targets
	some rule in data.policy.permission[target]
	some duty in rule.duties
	not excused(duty)
}

certain contains rule.n if {
	some kind in ["always", "binding"]
	some target in input.targets
	some rule in data.policy[kind][target]
	rule.assignee in input.parties
	not lacking(rule)
}

# --- Why not: asked only after a denial -------------------------------------------------------------

reasons := {"unsatisfied": unsatisfied, "unsigned": unsigned}

unsatisfied contains [rule.n, id] if {
	some target in input.targets
	some rule in data.policy.permission[target]
	rule.assignee in input.parties
	some id in rule.constraints
	not holds_0[id]
}

unsatisfied contains [rule.n, node.id] if {
	some target in input.targets
	some rule in data.policy.permission[target]
	rule.assignee in input.parties
	some node in rule.logic
	not holds_at(node.level, node.id)
}

unsigned contains rule.n if {
	some target in input.targets
	some rule in data.policy.permission[target]
	rule.assignee in input.parties
	some duty in rule.signing
	not excused(duty)
	not signed(duty)
}

# --- Each constraint by itself: by this a plan is compared with this module --------------------------

leaves := {"holds": leaf_holds, "fails": leaf_fails}

leaf_holds contains id if {
	some id in input.leaves
	holds_0[id]
}

leaf_fails contains id if {
	some id in input.leaves
	fails_0[id]
}

# --- Constraints, IM 2.5.1 --------------------------------------------------------------------------

holds_0 contains id if {
	leaf := data.policy.leaves[id]
	met(leaf.operator, leaf, input.facts[leaf.slot])
}

fails_0 contains id if {
	leaf := data.policy.leaves[id]
	missed(leaf.operator, leaf, input.facts[leaf.slot])
}

met("eq", leaf, facts) if same(leaf, facts)

met("neq", leaf, facts) if unlike(leaf, facts)

met("lt", leaf, facts) if single(leaf, facts) < leaf.value

met("lteq", leaf, facts) if single(leaf, facts) <= leaf.value

met("gt", leaf, facts) if single(leaf, facts) > leaf.value

met("gteq", leaf, facts) if single(leaf, facts) >= leaf.value

met("isAnyOf", leaf, facts) if overlaps(leaf, facts)

met("isNoneOf", leaf, facts) if disjoint(leaf, facts)

met("isAllOf", leaf, facts) if {
	known(leaf, facts)
	not omits(leaf, facts)
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

missed("eq", leaf, facts) if unlike(leaf, facts)

missed("neq", leaf, facts) if same(leaf, facts)

missed("lt", leaf, facts) if single(leaf, facts) >= leaf.value

missed("lteq", leaf, facts) if single(leaf, facts) > leaf.value

missed("gt", leaf, facts) if single(leaf, facts) <= leaf.value

missed("gteq", leaf, facts) if single(leaf, facts) < leaf.value

missed("isAnyOf", leaf, facts) if disjoint(leaf, facts)

missed("isNoneOf", leaf, facts) if overlaps(leaf, facts)

missed("isAllOf", leaf, facts) if {
	known(leaf, facts)
	omits(leaf, facts)
}

# Only codes (regions, languages) have a containment that is known to be complete. Of any other value
# that is not the same, nothing is known.
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

# Of ranges of addresses: to be equal to one is to be in it.
met("isNotPartOf", leaf, facts) if {
	known(leaf, facts)
	not touches(leaf, facts)
}

missed("isNotPartOf", leaf, facts) if {
	known(leaf, facts)
	not strays(leaf, facts)
}

met("isAnyPartOf", leaf, facts) if {
	known(leaf, facts)
	lands(leaf, facts)
}

missed("isAnyPartOf", leaf, facts) if {
	known(leaf, facts)
	not lands(leaf, facts)
}

met("isNonePartOf", leaf, facts) if {
	known(leaf, facts)
	not lands(leaf, facts)
}

missed("isNonePartOf", leaf, facts) if {
	known(leaf, facts)
	lands(leaf, facts)
}

missed("within", leaf, facts) if beyond(leaf, facts)

missed("outside", leaf, facts) if inside(leaf, facts)

# Several facts are equal to a value only if each is, and unequal only if none is.
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

omits(leaf, facts) if {
	some value in leaf.value
	not value in facts
}

# isPartOf, hasPart: reflexive and transitive; codes contain what continues them after a hyphen.
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

# Windows hold their start and not their end; one whose end comes first runs over midnight.
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

# Rego orders values across types ("abc" > 5 is true), so every comparison passes a guard first.
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

typed("number", fact) if is_number(fact)

# A pattern, and no count: what negates this in a partial evaluation is asked of values of any type.
typed("version", fact) if [_, _, _] = fact

# Numbers of any size and versions are written as lists that sort as they do.
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

# A duration with months has no one length: it is written as the four that XML Schema 1.0 part 2,
# 3.2.6.2, compares by. Two are ordered only where all four agree.
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

missed("shorter", leaf, facts) if none_more(leaf.value, single(leaf, facts))

missed("shorter-or-same", leaf, facts) if all_less(leaf.value, single(leaf, facts))

missed("longer", leaf, facts) if none_more(single(leaf, facts), leaf.value)

missed("longer-or-same", leaf, facts) if all_less(single(leaf, facts), leaf.value)

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
