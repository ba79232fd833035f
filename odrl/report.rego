# The whole of evaluation, rule by rule as written: matching, activity, duties and what became of them.
#
# data.policy.rules[n]  every rule and duty: n, kind, the parts action, target and party (a part that is
#                       absent is a wildcard), constraints, logic, limits, duties, atoms, when, deadlines
# input.is[part]        the names the question's action, target and party go by: themselves, what they
#                       are included in, what they are part of
# input.implied         what the action implies, and what that is included in (ODRL IM 2.4)
# input.given           the slots that the question has facts for, readable or not
# input.performed       acts of the world, each with names and facts of its own
# input.reports         states of duties that are told and stand above what was performed
# input.mode            fulfilled or notViolated: which duties a permission waits for
#
# Premises and constraints decide whether a rule is active; refinements decide whether it is about this
# question at all. Where something is unknown, the polarity of the rule decides, as in semantics.rego.
package uimgate.odrl

evaluation := {
	"premise": premise, "active": alive, "permitting": permitting, "prohibiting": prohibiting, "bounding": bounding, "unmet": wanting,
	"fulfilled": fulfilled, "violated": violated, "infringed": infringed, "due": due, "blocking": blocking, "holds": holds_8, "fails": fails_8,
}

parts := ["action", "target", "party"]

# --- Premises ---------------------------------------------------------------------------------------

premise contains [rule.n, part] if {
	some rule in data.policy.rules
	some part in parts
	some piece in rule[part]
	meets(piece, input.is[part])
}

# A permission of one action asserts that what it implies is not prohibited.
premise contains [rule.n, "action"] if {
	some rule in data.policy.rules
	rule.kind == "prohibition"
	some piece in rule.action
	meets(piece, input.implied)
}

# The pieces whose refinements hold, and those whose refinements are not known to fail.
surely contains [rule.n, part] if {
	some rule in data.policy.rules
	rule.kind == "permission"
	some part in parts
	some piece in rule[part]
	meets(piece, input.is[part])
	not lacking(piece)
	not over(piece)
}

perhaps contains [rule.n, part] if {
	some rule in data.policy.rules
	rule.kind != "permission"
	some part in parts
	some piece in rule[part]
	meets(piece, input.is[part])
	not excused(piece)
	not kept(piece)
}

perhaps contains [rule.n, "action"] if {
	some rule in data.policy.rules
	rule.kind == "prohibition"
	some piece in rule.action
	meets(piece, input.implied)
	not excused(piece)
	not kept(piece)
}

meets(piece, names) if {
	some name in piece.names
	name in names
}

astray(rule) if {
	some part in parts
	rule[part]
	not premise[[rule.n, part]]
}

unsure(rule) if {
	some part in parts
	rule[part]
	not surely[[rule.n, part]]
}

outside(rule) if {
	some part in parts
	rule[part]
	not perhaps[[rule.n, part]]
}

elsewhere(rule) if {
	rule.party
	not perhaps[[rule.n, "party"]]
}

elsewhere(rule) if {
	rule.scoped
	rule.target
	not perhaps[[rule.n, "target"]]
}

# --- Activity ---------------------------------------------------------------------------------------

alive contains rule.n if {
	some rule in data.policy.rules
	rule.kind == "permission"
	not astray(rule)
	not lacking(rule)
	not over(rule)
	not owing(rule)
}

alive contains rule.n if {
	some rule in data.policy.rules
	rule.kind == "prohibition"
	not astray(rule)
	not excused(rule)
	not kept(rule)
}

alive contains rule.n if {
	some rule in data.policy.rules
	rule.kind in {"duty", "obligation"}
	not excused(rule)
}

alive contains n if {
	some n in due
	not excused(data.policy.rules[n])
}

permitting contains rule.n if {
	some rule in data.policy.rules
	rule.kind == "permission"
	alive[rule.n]
	not unsure(rule)
	not "exceedRateLimit" in input.is.action
}

prohibiting contains rule.n if {
	some rule in data.policy.rules
	rule.kind == "prohibition"
	alive[rule.n]
	not outside(rule)
}

# Limits are compared only with a count that the question itself gives; else they bound the answer.
over(rule) if {
	some id in rule.limits
	counted(id)
	not holds_0[id]
}

kept(rule) if {
	some id in rule.limits
	not counted(id)
}

kept(rule) if {
	some id in rule.limits
	fails_0[id]
}

counted(id) if data.policy.leaves[id].slot in input.given

bounding contains rule.n if {
	some rule in data.policy.rules
	rule.kind == "prohibition"
	some id in rule.limits
	not counted(id)
	not astray(rule)
	not outside(rule)
	not excused(rule)
}

bounding contains rule.n if {
	some rule in data.policy.rules
	rule.kind == "prohibition"
	some piece in rule.action
	meets(piece, input.is.action)
	not excused(piece)
	some id in piece.limits
	not counted(id)
	not astray(rule)
	not aside(rule)
	not excused(rule)
}

aside(rule) if {
	some part in ["target", "party"]
	rule[part]
	not perhaps[[rule.n, part]]
}

# --- Duties -----------------------------------------------------------------------------------------

owing(rule) if {
	some n in rule.duties
	blocking[n]
}

blocking contains rule.n if {
	some rule in data.policy.rules
	rule.kind in {"duty", "obligation"}
	not rule.handled
	wanted(rule)
	not excused(rule)
	not fulfilled[rule.n]
}

blocking contains rule.n if {
	some rule in data.policy.rules
	rule.kind in {"duty", "obligation"}
	not rule.handled
	violated[rule.n]
}

wanted(_) if input.mode == "fulfilled"

wanted(rule) if rule.strict

wanting contains rule.n if {
	some rule in data.policy.rules
	rule.kind == "obligation"
	blocking[rule.n]
	not elsewhere(rule)
}

fulfilled contains n if some n in performed

fulfilled contains n if some n in cured

violated contains n if {
	some n in late
	not cured[n]
}

told contains report.n if some report in input.reports

performed contains rule.n if {
	some rule in data.policy.rules
	rule.atoms
	not told[rule.n]
	not pending(rule)
}

performed contains rule.n if {
	some rule in data.policy.rules
	rule.sign
	not told[rule.n]
	signed(rule)
}

performed contains report.n if {
	some report in input.reports
	report.state == "Fulfilled"
}

late contains rule.n if {
	some rule in data.policy.rules
	rule.atoms
	not told[rule.n]
	not performed[rule.n]
	some id in rule.deadlines
	fails_0[id]
}

late contains report.n if {
	some report in input.reports
	report.state == "Violated"
}

# A late duty is cured by doing it after all, and every consequence with it. ODRL IM 2.6.7.
cured contains rule.n if {
	some rule in data.policy.rules
	late[rule.n]
	rule.consequences
	not undone(rule)
	not unpaid(rule)
}

unpaid(rule) if {
	some n in rule.consequences
	not performed[n]
}

due contains n if {
	some rule in data.policy.rules
	late[rule.n]
	some n in rule.consequences
}

due contains n if {
	some rule in data.policy.rules
	infringed[rule.n]
	some n in rule.remedies
}

pending(rule) if {
	some atom in rule.atoms
	not done(rule, atom)
}

done(rule, atom) if {
	some act in input.performed
	accomplishes(act, atom)
	not untimely(rule, act)
}

undone(rule) if {
	some atom in rule.atoms
	not ever(atom)
}

ever(atom) if {
	some act in input.performed
	accomplishes(act, atom)
}

accomplishes(act, atom) if {
	atom.action in act.is.action
	not beyond_now(act)
	by(atom, act)
	not upon_another(atom, act)
	not lacking(atom) with input.facts as act.facts
}

by(atom, act) if {
	some name in atom.party
	name in act.is.party
}

by(atom, act) if {
	not atom.party
	input.party in act.is.party
}

upon_another(atom, act) if {
	atom.target
	not upon(atom, act)
}

upon(atom, act) if {
	some name in atom.target
	name in act.is.target
}

beyond_now(act) if act.at > input.now

# When an act counts: the duty's own times hold at the time of the act.
untimely(rule, act) if {
	some id in rule.when.constraints
	not holds_8[id] with input.facts as act.facts
}

# What was done before the infringement is no remedy of it.
untimely(rule, act) if {
	rule.kind == "remedy"
	some [n, at] in infringements
	n == rule.of
	not act.at >= at
}

# --- Infringements ----------------------------------------------------------------------------------

infringed contains n if some [n, _] in infringements

infringements contains [rule.n, act.at] if {
	some rule in data.policy.rules
	rule.kind == "prohibition"
	some act in input.performed
	not beyond_now(act)
	not apart(rule, act)
	not excused(rule) with input.facts as act.facts
	not kept(rule) with input.facts as act.facts with input.given as act.given
}

apart(rule, act) if {
	some part in parts
	rule[part]
	not touched(rule, part, act)
}

touched(rule, part, act) if {
	some piece in rule[part]
	meets(piece, act.is[part])
	not excused(piece) with input.facts as act.facts
	not kept(piece) with input.facts as act.facts with input.given as act.given
}

# --- Constraints that only a question as a whole can have -------------------------------------------

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

# A value is part of what the world says it is part of.
part("class", piece, whole) if whole in input.within[piece]

# Numbers of any size and versions are written as lists that sort as they do.
typed("ordered", fact) if is_array(fact)

typed("class", fact) if is_string(fact)

# A duration with months has no one length: it is written as the four that XML Schema 1.0 part 2,
# 3.2.6.2, compares by. Two are ordered only where all four agree.
typed("duration", fact) if {
	is_array(fact)
	count(fact) == 4
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
