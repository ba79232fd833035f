# What ODRL 2.2 means, for one request, over a policy in normal form.
#
# The policy is data (data.policy), the request is input; nothing here reads a clock, a counter or a
# network. Section numbers are those of the ODRL Information Model 2.2 ("IM").
#
# data.policy.always[target]      rules of any kind that have no conditions
# data.policy.permission[target]  permissions on execute, under conditions
# data.policy.binding[target]     prohibitions and obligations, under conditions
# data.policy.signing[target]     obligations to sign (UIM core 6.2 signPayload)
# data.policy.leaves[id]          constraints (constraints.rego)
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

outcome := {"active": active, "unmet": unmet, "late": late_obligations}

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

# Obligations that bind this agent and that this call does not fulfil: to sign, and those whose time is past.
unmet contains rule.n if {
	some target in input.targets
	some rule in data.policy.signing[target]
	rule.assignee in input.parties
	not excused(rule)
	not signed(rule)
}

unmet contains rule.n if {
	some kind in ["binding", "signing"]
	some target in input.targets
	some rule in data.policy[kind][target]
	rule.assignee in input.parties
	overdue(rule)
}

# Of these, the ones whose time is past.
late_obligations contains rule.n if {
	some kind in ["binding", "signing"]
	some target in input.targets
	some rule in data.policy[kind][target]
	rule.assignee in input.parties
	overdue(rule)
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

lacking(rule) if {
	some duty in rule.dated
	overdue(duty)
}

# The time in a duty is its deadline (IM 2.6.3): after it the duty cannot be fulfilled any more, and is not excused. deadlines
# hold until then, lasting are the conditions of the duty without its times.
overdue(duty) if {
	excused(duty.deadlines)
	not excused(duty.lasting)
}

excused(rule) if {
	some id in rule.constraints
	fails_0[id]
}

excused(rule) if {
	some node in rule.logic
	fails_at(node.level, node.id)
}

# An elided key in the policy stands for the key of the agreement. A signature that may be too late, because
# a fact is unknown, does not count.
signed(duty) if {
	input.proof in duty.keys
	not untimed(duty)
}

signed(duty) if {
	duty.elided
	input.proof == input.agent
	not untimed(duty)
}

untimed(duty) if {
	some id in duty.when.constraints
	not holds_0[id]
}

untimed(duty) if {
	some node in duty.when.logic
	not holds_at(node.level, node.id)
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

reasons := {"unsatisfied": unsatisfied, "unsigned": unsigned, "late": late_duties}

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

# Permissions with duties whose time is past, and what these duties are to do.
late_duties contains [rule.n, duty.action] if {
	some target in input.targets
	some rule in data.policy.permission[target]
	rule.assignee in input.parties
	some duty in rule.dated
	overdue(duty)
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
