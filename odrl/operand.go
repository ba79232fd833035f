package odrl

import "github.com/uimgate/uimgate/odrl/internal/model"

// A Source is where the values of a left operand come from while a gateway decides a call. BuiltIn reports that every
// call has them, Fixed that they have no other source.
type Source = model.Source

// SourceOf is the source of the left operand with the local name. One of another vocabulary has what is configured.
func SourceOf(operand string) Source { return model.LeftOperand(operand).Source }
