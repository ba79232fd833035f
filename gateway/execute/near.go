package execute

import "github.com/uimgate/uimgate/internal/limit"

// nearEnd returns the limits and budgets that are used to 80 % or more. It omits limits without a maximum.
func nearEnd(standing []limit.Status) []limit.Status {
	var list []limit.Status
	for _, l := range standing {
		if l.Stage() != limit.Open && (l.Kind != limit.Policy || l.Max != limit.MaxCount) {
			list = append(list, l)
		}
	}
	return list
}
