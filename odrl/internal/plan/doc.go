// Package plan decides by a policy's rules without OPA: what partial evaluation leaves of the semantics module for one
// policy becomes formulas over the values of a request.
//
//	input      Request → the values that the rules read, as OPA takes them
//	partial    what is left of the module for one policy when only the input is unknown: its Residual
//	residual   that rest → formulas, each made once
//	plan       formulas → a Plan, with the entries that concern each intent (intent)
//	fill       Request → Frame, the values that the formulas read (value); eval: the formulas over a frame
//	check      a plan is held against OPA before it decides
package plan
