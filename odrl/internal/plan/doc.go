// Package plan decides by a policy's rules without OPA: the result of partially evaluating the semantics module for one policy becomes
// formulas over the values of a request.
//
//	input      Request → the values that the rules read, in OPA's form
//	partial    the module partially evaluated for one policy when only the input is unknown: its Residual
//	residual   the Residual → formulas, each made once
//	plan       formulas → a Plan, with the entries that concern each intent (intent)
//	fill       Request → Frame, the values that the formulas read (value); eval: the formulas over a frame
//	check      a plan is compared with OPA before it is used
package plan
