package gatetest

// RelaySettings is the block of an MRP relay with limits that no test reaches.
const RelaySettings = "mrp_relay: {listen: '127.0.0.1:0', sends_per_minute: 1000000, polls_per_minute: 1000000, requests_per_minute: 1000000," +
	" new_agents_per_hour: 1000000}\n"
