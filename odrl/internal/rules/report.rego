# The full evaluation, with a report of each rule as written: matching, activity, duties and their states.
#
# data.policy.strategy  perm, prohibit or invalid; data.policy.grants: the policy's permissions permit actions
# data.policy.rules[n]  every rule and duty: n, its key, kind, the parts action, target and party (a part that is
#                       absent is a wildcard), constraints, logic, limits, duties, atoms, when, deadlines, lasting
# input.is[part]        the names of the question's action, target and party: their own, those of actions that include
#                       them and those of collections that they are part of
# input.implied         the names that the action implies, and the actions that include them (ODRL IM 2.4)
# input.given           the slots that the question has facts for, readable or not
# input.performed       acts in the world, each with its names and facts
# input.reports[key]    reported states of duties; they override the performed acts
# input.mode            fulfilled or notViolated: which duties a permission requires
#
# Premises and constraints decide whether a rule is active; refinements decide whether it applies to this question. If something is
# unknown, the polarity of the rule decides, as in semantics.rego.
package uimgate.odrl

evaluation := {
	"ruling": ruling, "premise": premise, "active": active_rules, "permitting": permitting, "prohibiting": prohibiting, "bounding": bounding, "unmet": wanting,
	"fulfilled": fulfilled, "violated": violated, "late": late_rules, "infringed": infringed, "due": due, "blocking": blocking, "holds": holds_8, "fails": fails_8,
}

parts := ["action", "target", "party"]

# --- The decision, IM 2.10 and 2.6.3: what is not permitted is denied ---------------------------------

ruling := "conflict" if {
	clash
	data.policy.strategy == "invalid"
} else := "unmet" if {
	count(wanting) > 0
} else := "prohibited" if {
	count(prohibiting) > 0
	not overruled
} else := "permit" if {
	count(permitting) > 0
} else := "none"

clash if {
	count(prohibiting) > 0
	count(permitting) > 0
}

overruled if {
	clash
	data.policy.strategy == "perm"
}

# --- Premises ---------------------------------------------------------------------------------------

premise contains [rule.n, part] if {
	some rule in data.policy.rules
	some part in parts
	on(rule, part)
}

on(rule, part) if {
	some piece in rule[part]
	meets(piece, input.is[part])
}

# A permission of an action asserts that no implied action is prohibited.
on(rule, "action") if {
	rule.kind == "prohibition"
	some piece in rule.action
	meets(piece, input.implied)
}

meets(piece, names) if {
	some name in piece.names
	name in names
}

astray(rule) if {
	some part in parts
	rule[part]
	not on(rule, part)
}

# A permission applies to the question if the refinements of its parts hold. Other rules apply unless they fail.
unsure(rule) if {
	some part in parts
	rule[part]
	not surely(rule, part)
}

surely(rule, part) if {
	some piece in rule[part]
	meets(piece, input.is[part])
	not lacking(piece)
	not over(piece)
}

outside(rule) if {
	some part in parts
	not perchance(rule, part)
}

perchance(rule, part) if not rule[part]

perchance(rule, part) if {
	some piece in rule[part]
	meets(piece, input.is[part])
	not excused(piece)
	not kept(piece)
}

perchance(rule, "action") if {
	rule.kind == "prohibition"
	some piece in rule.action
	meets(piece, input.implied)
	not excused(piece)
	not kept(piece)
}

# --- Activity ---------------------------------------------------------------------------------------

active_rules contains rule.n if {
	some rule in data.policy.rules
	alive(rule)
}

alive(rule) if {
	rule.kind == "permission"
	not astray(rule)
	not lacking(rule)
	not over(rule)
	not owing(rule)
}

alive(rule) if {
	rule.kind == "prohibition"
	not astray(rule)
	not excused(rule)
	not kept(rule)
}

alive(rule) if {
	rule.kind in {"duty", "obligation"}
	not excused(rule)
}

alive(rule) if {
	rule.kind in {"remedy", "consequence"}
	came_due(rule)
	not excused(rule)
}

permitting contains rule.n if {
	data.policy.grants
	some rule in data.policy.rules
	rule.kind == "permission"
	alive(rule)
	not unsure(rule)
	not "exceedRateLimit" in input.is.action
}

prohibiting contains rule.n if {
	some rule in data.policy.rules
	rule.kind == "prohibition"
	alive(rule)
	not outside(rule)
}

# A limit is compared only with a count in the question. Without a count, the limit becomes part of the answer.
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
	perchance(rule, "target")
	perchance(rule, "party")
	not excused(rule)
}

# --- Duties -----------------------------------------------------------------------------------------

owing(rule) if {
	some n in rule.duties
	blocks(data.policy.rules[n])
}

blocking contains rule.n if {
	some rule in data.policy.rules
	blocks(rule)
}

blocks(rule) if {
	rule.kind in {"duty", "obligation"}
	not rule.handled
	wanted(rule)
	not excused(rule)
	not met_duty(rule)
}

blocks(rule) if {
	rule.kind in {"duty", "obligation"}
	not rule.handled
	breached(rule)
}

# The gateway fulfills the duties that it handles at the time of the call, so only their deadline can block.
blocks(rule) if {
	rule.handled
	overdue(rule)
}

wanted(_) if input.mode == "fulfilled"

wanted(rule) if rule.strict

# Open obligations of this party. An obligation that the gateway handles applies only to its target.
wanting contains rule.n if {
	some rule in data.policy.rules
	rule.kind == "obligation"
	perchance(rule, "party")
	not elsewhere(rule)
	blocks(rule)
}

elsewhere(rule) if {
	rule.scoped
	not perchance(rule, "target")
}

fulfilled contains rule.n if {
	some rule in data.policy.rules
	met_duty(rule)
}

violated contains rule.n if {
	some rule in data.policy.rules
	breached(rule)
}

met_duty(rule) if performed(rule)

met_duty(rule) if cured(rule)

breached(rule) if {
	late(rule)
	not cured(rule)
}

performed(rule) if {
	rule.atoms
	not input.reports[rule.key]
	not pending(rule)
}

performed(rule) if {
	rule.sign
	not input.reports[rule.key]
	signed(rule)
}

performed(rule) if input.reports[rule.key] == "Fulfilled"

late(rule) if missed_deadline(rule)

missed_deadline(rule) if {
	not input.reports[rule.key]
	overdue(rule)
	not in_time(rule)
}

in_time(rule) if {
	rule.atoms
	performed(rule)
}

late_rules contains rule.n if {
	some rule in data.policy.rules
	missed_deadline(rule)
	not cured(rule)
}

late(rule) if input.reports[rule.key] == "Violated"

# A late duty is cured once it is performed together with all its consequences. ODRL IM 2.6.7.
cured(rule) if {
	rule.consequences
	late(rule)
	not undone(rule)
	not unpaid(rule)
}

unpaid(rule) if {
	some n in rule.consequences
	not performed(data.policy.rules[n])
}

due contains rule.n if {
	some rule in data.policy.rules
	came_due(rule)
}

came_due(rule) if {
	rule.kind == "consequence"
	some n in rule.of
	late(data.policy.rules[n])
}

came_due(rule) if {
	rule.kind == "remedy"
	some of in rule.of
	of in infringed
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
	not short(atom, act)
}

# An act with its own facts must meet the refinements. An act without facts counts as the owed one, unless the facts of the question
# contradict the refinements.
short(atom, act) if {
	refined(atom)
	not act.presumed
	lacking(atom) with input.facts as act.facts
}

short(atom, act) if {
	refined(atom)
	excused(atom) with input.facts as act.presumed
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

# An act counts only if the duty's own times hold at the time of the act.
untimely(rule, act) if {
	some id in rule.when.constraints
	not holds_8[id] with input.facts as act.facts
}

untimely(rule, act) if excused(rule.deadlines) with input.facts as act.facts

# An act before the infringement does not remedy it.
untimely(rule, act) if {
	rule.kind == "remedy"
	some [n, at] in infringements
	n in rule.of
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
	not touched(rule, act)
}

apart(rule, act) if {
	some part in parts
	rule[part]
	not near(rule, part, act)
}

near(rule, part, act) if {
	some piece in rule[part]
	meets(piece, act.is[part])
	not touched(piece, act)
}

touched(piece, act) if {
	refined(piece)
	excused(piece) with input.facts as act.facts
}

touched(piece, act) if {
	refined(piece)
	kept(piece) with input.facts as act.facts with input.given as act.given
}

refined(piece) if piece.constraints

refined(piece) if piece.logic

refined(piece) if piece.limits
