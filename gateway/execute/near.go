package execute

import "github.com/uimgate/uimgate/internal/limit"

// nearEnd returns the limits and budgets that are used to at least 80 %. It omits limits without a maximum.
func nearEnd(standing []limit.Status) []limit.Status {
	var list []limit.Status
	for _, l := range standing {
		if l.Stage() != limit.Open && (l.Kind != limit.Policy || l.Max != limit.MaxCount) {
			list = append(list, l)
		}
	}
	return list
}
