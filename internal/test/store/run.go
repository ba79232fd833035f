package storetest

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Run runs the tests of the suite in parallel.
func Run(t *testing.T, open Opener) {
	t.Helper()
	run(t, open, slices.Collect(maps.Keys(suites))...)
}

// RunExcept is like Run without some scenarios, whose names have the form topic/scenario with underscores for spaces. With the build tag
// soak, it runs the whole suite.
func RunExcept(t *testing.T, without map[string]bool, open Opener) {
	t.Helper()
	x := &exceptions{without: without}
	left.Store(t.Name(), x)
	t.Cleanup(func() { x.check(t) })
	Run(t, open)
}

// left are the exceptions of tests: the name of the test → *exceptions.
var left sync.Map

// exceptions are the scenarios that a test leaves out.
type exceptions struct {
	without map[string]bool
	met     sync.Map // the topics that ran, and all of their scenarios → nothing
}

// check reports names that are not those of scenarios. A run of some topics shows only theirs.
func (x *exceptions) check(t *testing.T) {
	t.Helper()
	for name := range x.without {
		topic, _, _ := strings.Cut(name, "/")
		_, ran := x.met.Load(topic)
		if _, met := x.met.Load(name); suites[topic] == nil || ran && !met {
			t.Errorf("there is no scenario %s to leave out", name)
		}
	}
}

// leavesOut reports whether a test of a topic leaves out a scenario.
func leavesOut(t *testing.T, scenario string) bool {
	t.Helper()
	i := strings.LastIndexByte(t.Name(), '/')
	of, _ := left.Load(t.Name()[:max(0, i)])
	x, ok := of.(*exceptions)
	if !ok {
		return false
	}
	topic := t.Name()[i+1:]
	name := topic + "/" + strings.ReplaceAll(scenario, " ", "_")
	x.met.Store(topic, nil)
	x.met.Store(name, nil)
	return x.without[name] && !wholeSuite
}

// RunLimits runs the tests of calls that count against limits. An engine that differs from another one, which passes Run, only in the
// limits that it leases must pass them. With the build tag soak, RunLimits runs the whole suite.
func RunLimits(t *testing.T, open Opener) {
	t.Helper()
	if wholeSuite {
		Run(t, open)
		return
	}
	run(t, open, "limits", "executions", "budgets", "restored", "concurrency", "models", "leases")
}

func run(t *testing.T, open Opener, names ...string) {
	t.Helper()
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suites[name](t, open)
		})
	}
}

// suites are the tests of the suite by topic.
var suites = map[string]func(*testing.T, Opener){
	"limits":      testLimits,
	"executions":  testExecutions,
	"chains":      testChains,
	"billing":     testBilling,
	"refunds":     testRefunds,
	"moves":       testMoves,
	"invoices":    testInvoices,
	"payments":    testPayments,
	"budgets":     testBudgets,
	"agreements":  testAgreements,
	"tokens":      testTokens,
	"changes":     testChanges,
	"upkeep":      testUpkeep,
	"statements":  testStatements,
	"restored":    testRestored,
	"concurrency": testConcurrency,
	"models":      testModels,
	"leases":      testLeases,
	"listings":    testListings,
	"consents":    testConsents,
	"confirm":     testConfirmations,
	"console":     testConsole,
	"processes":   testProcesses,
	"almanac":     testAlmanac,
	"uses":        testUses,
	"requests":    testRequests,
	"logs":        testLogs,
}
