package odrl

import "github.com/uimgate/uimgate/odrl/internal/model"

// A Source is the source of the values of a left operand when a gateway decides a call. BuiltIn reports whether every call has a value
// without any configuration, and Fixed whether no other source can be configured.
type Source = model.Source

// SourceOf returns the source of the left operand with the given local name. For an operand that ODRL and UIM do not define, the source is
// the configuration.
func SourceOf(operand string) Source { return model.LeftOperand(operand).Source }
