//go:build soak

package daemon

// How much the tests send. The documents are as large as a gateway accepts.
const (
	ConcurrentAgents = 500 // number of agents that call at the same time
	ReloadsAmidCalls = 20
	LargeNonsense    = 1000 // thousandths of the parts that fit into a body
)
