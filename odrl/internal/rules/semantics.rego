# The semantics of ODRL 2.2 for one request, over a policy in normal form.
#
# The policy is data (data.policy) and the request is input. The module reads no clock, counter or network. Section numbers refer to the
# ODRL Information Model 2.2 ("IM").
#
# data.policy.always[target]      rules of any kind that have no conditions
# data.policy.permission[target]  permissions on execute, under conditions
# data.policy.binding[target]     prohibitions and obligations, under conditions
# data.policy.signing[target]     obligations to sign (UIM core 6.2 signPayload)
# data.policy.leaves[id]          constraints (constraints.rego)
# data.policy.logic[id]           logical constraints: level, operator, operands (levels.rego)
#
# input.targets  the intent and the collections that contain it
# input.parties  the party IRIs of the agent, and "*" for everyone
# input.facts    values of left operands by slot, each a list; a slot without facts is unknown
# input.proof    the key that signed this call; absent: the call is not signed
# input.agent    the key of the agreement
#
# A constraint is true, false or unknown. Two sets, holds and fails, represent this; a constraint in neither of them is unknown. A
# permission requires every constraint to hold; a prohibition or an obligation binds unless one fails. A missing fact or one of the wrong
# type therefore never helps the agent.
package uimgate.odrl

outcome := {"active": active, "unmet": unmet, "late": late_obligations}

# IM 2.2.1, 2.3.1: a rule has a target and an assignee. Without an assignee it applies to everyone.
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

# IM 2.6.4: duties of a permission, with their own constraints.
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

# Obligations that bind this agent and that this call does not fulfill: to sign, and those whose deadline has passed.
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

# The unmet obligations whose deadline has passed.
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

# The time in a duty is its deadline (IM 2.6.3): after it the duty can no longer be fulfilled, and is not excused. The constraints in
# deadlines hold until then; lasting has the other constraints of the duty.
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

# An elided key in the policy means the key of the agreement. If an unknown fact leaves open whether a signature is in time, the
# signature does not count.
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

# --- Terms, the rules that may ever apply to an agent: facts that are not given stay open -----------

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

# --- Reasons, evaluated only after a denial ---------------------------------------------------------

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

# Permissions with duties whose deadline has passed, and the actions of these duties.
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

# --- Each constraint alone: the comparison of a plan with this module uses these rules ---------------

leaves := {"holds": leaf_holds, "fails": leaf_fails}

leaf_holds contains id if {
	some id in input.leaves
	holds_0[id]
}

leaf_fails contains id if {
	some id in input.leaves
	fails_0[id]
}
