package discovery_test

import (
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/uimgate/uimgate/discovery"
)

// The operator of a service prints the records once, for the zone file.
func ExampleRecords() {
	records, err := discovery.Records(discovery.Service{
		Domain: "shop.example", AgentsFile: "https://shop.example/agents.json", Policy: "https://shop.example/api/policy",
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(strings.ReplaceAll(discovery.Zone(records, time.Hour), "\t", " "))
	// Output:
	// _uim.shop.example. 3600 IN TXT "uim-agents=https://shop.example/agents.json"
	// _uim.shop.example. 3600 IN TXT "uim-policy=https://shop.example/api/policy"
	// shop.example. 3600 IN TXT "uim-agents-file=https://shop.example/agents.json"
	// shop.example. 3600 IN TXT "uim-policy-file=https://shop.example/api/policy"
}
