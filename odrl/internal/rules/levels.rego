# Logical constraints, IM 2.5.2, one set of rules per level of nesting (Rego has no recursion).
#
# Level k reads levels below k through holds_{k-1} and fails_{k-1}, which pass on what lower levels
# say. Kleene's logic: and, or and xone are true or false only where no unknown operand could change
# that. andSequence is "and": the facts of one request have one time. Level 1 is the one to read; the
# others are the same text, which a test holds them to.
package uimgate.odrl

holds_at(1, id) if holds_1[id]

fails_at(1, id) if fails_1[id]

holds_at(2, id) if holds_2[id]

fails_at(2, id) if fails_2[id]

holds_at(3, id) if holds_3[id]

fails_at(3, id) if fails_3[id]

holds_at(4, id) if holds_4[id]

fails_at(4, id) if fails_4[id]

holds_at(5, id) if holds_5[id]

fails_at(5, id) if fails_5[id]

holds_at(6, id) if holds_6[id]

fails_at(6, id) if fails_6[id]

holds_at(7, id) if holds_7[id]

fails_at(7, id) if fails_7[id]

holds_at(8, id) if holds_8[id]

fails_at(8, id) if fails_8[id]

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

# --- level 2

holds_2 contains id if holds_1[id]

holds_2 contains id if {
	node := data.policy.logic[id]
	node.level == 2
	node.operator == "and"
	not doubted_2(node)
}

holds_2 contains id if {
	node := data.policy.logic[id]
	node.level == 2
	node.operator == "or"
	some operand in node.operands
	holds_1[operand]
}

holds_2 contains id if {
	node := data.policy.logic[id]
	node.level == 2
	node.operator == "xone"
	some i, operand in node.operands
	holds_1[operand]
	not rivalled_2(node, i)
}

fails_2 contains id if fails_1[id]

fails_2 contains id if {
	node := data.policy.logic[id]
	node.level == 2
	node.operator == "and"
	some operand in node.operands
	fails_1[operand]
}

fails_2 contains id if {
	node := data.policy.logic[id]
	node.level == 2
	node.operator in {"or", "xone"}
	not hoped_2(node)
}

fails_2 contains id if {
	node := data.policy.logic[id]
	node.level == 2
	node.operator == "xone"
	some i, one in node.operands
	holds_1[one]
	some j, other in node.operands
	i < j
	holds_1[other]
}

doubted_2(node) if {
	some operand in node.operands
	not holds_1[operand]
}

hoped_2(node) if {
	some operand in node.operands
	not fails_1[operand]
}

rivalled_2(node, i) if {
	some j, other in node.operands
	i != j
	not fails_1[other]
}

# --- level 3

holds_3 contains id if holds_2[id]

holds_3 contains id if {
	node := data.policy.logic[id]
	node.level == 3
	node.operator == "and"
	not doubted_3(node)
}

holds_3 contains id if {
	node := data.policy.logic[id]
	node.level == 3
	node.operator == "or"
	some operand in node.operands
	holds_2[operand]
}

holds_3 contains id if {
	node := data.policy.logic[id]
	node.level == 3
	node.operator == "xone"
	some i, operand in node.operands
	holds_2[operand]
	not rivalled_3(node, i)
}

fails_3 contains id if fails_2[id]

fails_3 contains id if {
	node := data.policy.logic[id]
	node.level == 3
	node.operator == "and"
	some operand in node.operands
	fails_2[operand]
}

fails_3 contains id if {
	node := data.policy.logic[id]
	node.level == 3
	node.operator in {"or", "xone"}
	not hoped_3(node)
}

fails_3 contains id if {
	node := data.policy.logic[id]
	node.level == 3
	node.operator == "xone"
	some i, one in node.operands
	holds_2[one]
	some j, other in node.operands
	i < j
	holds_2[other]
}

doubted_3(node) if {
	some operand in node.operands
	not holds_2[operand]
}

hoped_3(node) if {
	some operand in node.operands
	not fails_2[operand]
}

rivalled_3(node, i) if {
	some j, other in node.operands
	i != j
	not fails_2[other]
}

# --- level 4

holds_4 contains id if holds_3[id]

holds_4 contains id if {
	node := data.policy.logic[id]
	node.level == 4
	node.operator == "and"
	not doubted_4(node)
}

holds_4 contains id if {
	node := data.policy.logic[id]
	node.level == 4
	node.operator == "or"
	some operand in node.operands
	holds_3[operand]
}

holds_4 contains id if {
	node := data.policy.logic[id]
	node.level == 4
	node.operator == "xone"
	some i, operand in node.operands
	holds_3[operand]
	not rivalled_4(node, i)
}

fails_4 contains id if fails_3[id]

fails_4 contains id if {
	node := data.policy.logic[id]
	node.level == 4
	node.operator == "and"
	some operand in node.operands
	fails_3[operand]
}

fails_4 contains id if {
	node := data.policy.logic[id]
	node.level == 4
	node.operator in {"or", "xone"}
	not hoped_4(node)
}

fails_4 contains id if {
	node := data.policy.logic[id]
	node.level == 4
	node.operator == "xone"
	some i, one in node.operands
	holds_3[one]
	some j, other in node.operands
	i < j
	holds_3[other]
}

doubted_4(node) if {
	some operand in node.operands
	not holds_3[operand]
}

hoped_4(node) if {
	some operand in node.operands
	not fails_3[operand]
}

rivalled_4(node, i) if {
	some j, other in node.operands
	i != j
	not fails_3[other]
}

# --- level 5

holds_5 contains id if holds_4[id]

holds_5 contains id if {
	node := data.policy.logic[id]
	node.level == 5
	node.operator == "and"
	not doubted_5(node)
}

holds_5 contains id if {
	node := data.policy.logic[id]
	node.level == 5
	node.operator == "or"
	some operand in node.operands
	holds_4[operand]
}

holds_5 contains id if {
	node := data.policy.logic[id]
	node.level == 5
	node.operator == "xone"
	some i, operand in node.operands
	holds_4[operand]
	not rivalled_5(node, i)
}

fails_5 contains id if fails_4[id]

fails_5 contains id if {
	node := data.policy.logic[id]
	node.level == 5
	node.operator == "and"
	some operand in node.operands
	fails_4[operand]
}

fails_5 contains id if {
	node := data.policy.logic[id]
	node.level == 5
	node.operator in {"or", "xone"}
	not hoped_5(node)
}

fails_5 contains id if {
	node := data.policy.logic[id]
	node.level == 5
	node.operator == "xone"
	some i, one in node.operands
	holds_4[one]
	some j, other in node.operands
	i < j
	holds_4[other]
}

doubted_5(node) if {
	some operand in node.operands
	not holds_4[operand]
}

hoped_5(node) if {
	some operand in node.operands
	not fails_4[operand]
}

rivalled_5(node, i) if {
	some j, other in node.operands
	i != j
	not fails_4[other]
}

# --- level 6

holds_6 contains id if holds_5[id]

holds_6 contains id if {
	node := data.policy.logic[id]
	node.level == 6
	node.operator == "and"
	not doubted_6(node)
}

holds_6 contains id if {
	node := data.policy.logic[id]
	node.level == 6
	node.operator == "or"
	some operand in node.operands
	holds_5[operand]
}

holds_6 contains id if {
	node := data.policy.logic[id]
	node.level == 6
	node.operator == "xone"
	some i, operand in node.operands
	holds_5[operand]
	not rivalled_6(node, i)
}

fails_6 contains id if fails_5[id]

fails_6 contains id if {
	node := data.policy.logic[id]
	node.level == 6
	node.operator == "and"
	some operand in node.operands
	fails_5[operand]
}

fails_6 contains id if {
	node := data.policy.logic[id]
	node.level == 6
	node.operator in {"or", "xone"}
	not hoped_6(node)
}

fails_6 contains id if {
	node := data.policy.logic[id]
	node.level == 6
	node.operator == "xone"
	some i, one in node.operands
	holds_5[one]
	some j, other in node.operands
	i < j
	holds_5[other]
}

doubted_6(node) if {
	some operand in node.operands
	not holds_5[operand]
}

hoped_6(node) if {
	some operand in node.operands
	not fails_5[operand]
}

rivalled_6(node, i) if {
	some j, other in node.operands
	i != j
	not fails_5[other]
}

# --- level 7

holds_7 contains id if holds_6[id]

holds_7 contains id if {
	node := data.policy.logic[id]
	node.level == 7
	node.operator == "and"
	not doubted_7(node)
}

holds_7 contains id if {
	node := data.policy.logic[id]
	node.level == 7
	node.operator == "or"
	some operand in node.operands
	holds_6[operand]
}

holds_7 contains id if {
	node := data.policy.logic[id]
	node.level == 7
	node.operator == "xone"
	some i, operand in node.operands
	holds_6[operand]
	not rivalled_7(node, i)
}

fails_7 contains id if fails_6[id]

fails_7 contains id if {
	node := data.policy.logic[id]
	node.level == 7
	node.operator == "and"
	some operand in node.operands
	fails_6[operand]
}

fails_7 contains id if {
	node := data.policy.logic[id]
	node.level == 7
	node.operator in {"or", "xone"}
	not hoped_7(node)
}

fails_7 contains id if {
	node := data.policy.logic[id]
	node.level == 7
	node.operator == "xone"
	some i, one in node.operands
	holds_6[one]
	some j, other in node.operands
	i < j
	holds_6[other]
}

doubted_7(node) if {
	some operand in node.operands
	not holds_6[operand]
}

hoped_7(node) if {
	some operand in node.operands
	not fails_6[operand]
}

rivalled_7(node, i) if {
	some j, other in node.operands
	i != j
	not fails_6[other]
}

# --- level 8

holds_8 contains id if holds_7[id]

holds_8 contains id if {
	node := data.policy.logic[id]
	node.level == 8
	node.operator == "and"
	not doubted_8(node)
}

holds_8 contains id if {
	node := data.policy.logic[id]
	node.level == 8
	node.operator == "or"
	some operand in node.operands
	holds_7[operand]
}

holds_8 contains id if {
	node := data.policy.logic[id]
	node.level == 8
	node.operator == "xone"
	some i, operand in node.operands
	holds_7[operand]
	not rivalled_8(node, i)
}

fails_8 contains id if fails_7[id]

fails_8 contains id if {
	node := data.policy.logic[id]
	node.level == 8
	node.operator == "and"
	some operand in node.operands
	fails_7[operand]
}

fails_8 contains id if {
	node := data.policy.logic[id]
	node.level == 8
	node.operator in {"or", "xone"}
	not hoped_8(node)
}

fails_8 contains id if {
	node := data.policy.logic[id]
	node.level == 8
	node.operator == "xone"
	some i, one in node.operands
	holds_7[one]
	some j, other in node.operands
	i < j
	holds_7[other]
}

doubted_8(node) if {
	some operand in node.operands
	not holds_7[operand]
}

hoped_8(node) if {
	some operand in node.operands
	not fails_7[operand]
}

rivalled_8(node, i) if {
	some j, other in node.operands
	i != j
	not fails_7[other]
}
