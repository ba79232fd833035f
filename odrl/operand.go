package odrl

import "github.com/uimgate/uimgate/odrl/internal/model"

// A Source is the source of the values of a left operand when a gateway decides a call. BuiltIn reports that every call has them, Fixed
// that they have no other source.
type Source = model.Source

// SourceOf returns the source of the left operand with the local name. One of another vocabulary has the configured values.
func SourceOf(operand string) Source { return model.LeftOperand(operand).Source }
