// Package plan evaluates the rules of a policy without OPA. It partially evaluates the semantics module for one policy, and turns the
// result into formulas over the values of a request.
//
//	input      Request → the values that the rules read, in OPA's form
//	partial    the module, partially evaluated for one policy with only the input unknown: its Residual
//	residual   the Residual → formulas, each created once
//	plan       formulas → a Plan, with the entries that concern each intent (intent)
//	fill       Request → Frame, the values that the formulas read (value); eval evaluates formulas over a frame
//	check      compares a plan with OPA before the plan is used
package plan
