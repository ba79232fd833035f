# Logical constraints (IM 2.5.2). Rego has no recursion, so each level of nesting has its own set of rules.
#
# Level k reads the levels below k through holds_{k-1} and fails_{k-1}, which include the results of all lower levels. In Kleene's logic,
# and, or and xone are true or false only if no unknown operand can change that. andSequence means "and", because the facts of one request
# have one time. Read level 1: engine.go generates the other levels from it.
package uimgate.odrl

holds_at(1, id) if holds_1[id]

fails_at(1, id) if fails_1[id]

# --- level 1

holds_1 contains id if holds_0[id]

holds_1 contains id if {
	node := data.policy.logic[id]
	node.level == 1
	node.operator == "and"
	not doubted_1(node)
}

holds_1 contains id if {
	node := data.policy.logic[id]
	node.level == 1
	node.operator == "or"
	some operand in node.operands
	holds_0[operand]
}

holds_1 contains id if {
	node := data.policy.logic[id]
	node.level == 1
	node.operator == "xone"
	some i, operand in node.operands
	holds_0[operand]
	not rivalled_1(node, i)
}

fails_1 contains id if fails_0[id]

fails_1 contains id if {
	node := data.policy.logic[id]
	node.level == 1
	node.operator == "and"
	some operand in node.operands
	fails_0[operand]
}

fails_1 contains id if {
	node := data.policy.logic[id]
	node.level == 1
	node.operator in {"or", "xone"}
	not hoped_1(node)
}

fails_1 contains id if {
	node := data.policy.logic[id]
	node.level == 1
	node.operator == "xone"
	some i, one in node.operands
	holds_0[one]
	some j, other in node.operands
	i < j
	holds_0[other]
}

doubted_1(node) if {
	some operand in node.operands
	not holds_0[operand]
}

hoped_1(node) if {
	some operand in node.operands
	not fails_0[operand]
}

rivalled_1(node, i) if {
	some j, other in node.operands
	i != j
	not fails_0[other]
}
