//go:build !soak

package daemon

// How much the tests send.
const (
	ConcurrentAgents = 50 // number of agents that call at the same time
	ReloadsAmidCalls = 5
	LargeNonsense    = 200 // thousandths of the parts that fit into a body
)
