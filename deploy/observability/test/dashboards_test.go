package observability_test

// ownFaults and upstreamFaults are those of rules.yaml.
const (
	ownFaults      = `reason=~"GRANT_EXPIRED|INTERNAL|OVERLOADED|STORE_UNAVAILABLE"`
	upstreamFaults = `reason=~"BREAKER_OPEN|RESPONSE_INVALID|UPSTREAM_BUSY|UPSTREAM_ERROR|UPSTREAM_TIMEOUT|UPSTREAM_UNREACHABLE"`
)

// quantiles returns queries for the median and the slowest of a histogram.
func quantiles(metric, by string) []query {
	of := func(q string) string {
		return `histogram_quantile(` + q + `, sum by (le` + by + `) (rate(` + metric + `[$__rate_interval])))`
	}
	legend := ""
	if by != "" {
		legend = " {{" + by[2:] + "}}"
	}
	return []query{{of("0.5"), "half" + legend}, {of("0.99"), "99 of 100" + legend}}
}

// boards are the dashboards.
var boards = []board{overviewBoard, upstreamBoard, moneyBoard, processBoard}

var overviewBoard = board{
	uid: "uimgate-overview", title: "uimgate: overview",
	description: "Start here: what is wrong now, what agents call, and what they get.",
	rows: []row{
		{"Now", []panel{
			{number, "Gateways", "short", "Gateways that Prometheus can read.", []query{{`sum(up{instance})`, ""}}, 0},
			{
				number, "Alerts", "short", "Alerts of uimgate that fire. The table below has their names.",
				[]query{{`count(ALERTS{alertname=~"Uimgate.*", alertstate="firing"})`, ""}},
				1,
			},
			{
				number, "Failed by the gateway", "percentunit", "Share of the calls of the last five minutes that the gateway itself failed. The objective is below 0.1%.",
				[]query{{`sum(rate(uimgate_decisions_total{service, ` + ownFaults + `}[5m])) / sum(rate(uimgate_decisions_total{service}[5m]))`, ""}},
				0.001,
			},
			{
				number, "Failed by the service", "percentunit", "Share of the calls of the last five minutes that failed because of your API.",
				[]query{{`sum(rate(uimgate_decisions_total{service, ` + upstreamFaults + `}[5m])) / sum(rate(uimgate_decisions_total{service}[5m]))`, ""}},
				0.05,
			},
			{
				number, "Open breakers", "short", "Intents whose calls the gateway has stopped, because they failed several times in a row.",
				[]query{{`sum(uimgate_upstream_breakers{service})`, ""}},
				1,
			},
			{
				number, "Unresolved charges", "short", "Calls that cost money and whose outcome is unknown. Resolve them with uimgate usage resolve.",
				[]query{{`sum(max by (service) (uimgate_unresolved_charges{service}))`, ""}},
				1,
			},
			{
				number, "Agents that wait", "short", "Agents that agreed and wait for your approval.",
				[]query{{`sum(max by (service) (uimgate_agents_waiting{service}))`, ""}},
				0,
			},
			{
				number, "Calls", "reqps", "Calls a second, in the last five minutes.",
				[]query{{`sum(rate(uimgate_decisions_total{service}[5m]))`, ""}},
				0,
			},
		}},
		{"Calls", []panel{
			{
				stacked, "Calls by decision", "reqps", "permit: the policy permitted the call, and the gateway sent it. deny: the gateway refused it before that.",
				[]query{{`sum by (decision) (rate(uimgate_decisions_total{service}[$__rate_interval]))`, "{{decision}}"}},
				0,
			},
			{
				stacked, "Refused and failed calls by reason", "reqps", "The ten most frequent reasons. docs/reference/errors.md explains each reason.",
				[]query{{`topk(10, sum by (reason) (rate(uimgate_decisions_total{service, reason!=""}[$__rate_interval])))`, "{{reason}}"}},
				0,
			},
			{
				graph, "Time to answer a call", "s", "From the request of the agent to the answer, with the time of your API.",
				quantiles(`uimgate_http_request_duration_seconds_bucket{instance, route="/api/intents/execute"}`, ""), 0,
			},
			{
				stacked, "Calls by intent", "reqps", "The ten most frequent intents.",
				[]query{{`topk(10, sum by (intent) (rate(uimgate_decisions_total{service}[$__rate_interval])))`, "{{intent}}"}},
				0,
			},
			{
				stacked, "Calls refused by a limit", "reqps", "Calls beyond a limit of the policy, of the token or of the service, by the period of the limit. Agents get 429.",
				[]query{{`sum by (period) (rate(uimgate_limit_rejections_total{service}[$__rate_interval]))`, "{{period}}"}},
				0,
			},
			{
				stacked, "Shed requests by cause", "reqps", "Valid requests that the gateway refused: for lack of capacity, or because a caller sent too many.",
				[]query{{`sum by (cause) (rate(uimgate_shed_total{instance}[$__rate_interval])) > 0`, "{{cause}}"}},
				0,
			},
		}},
		{"Alerts and versions", []panel{
			{
				rows, "Alerts that fire", "short", "Their sections in docs/operate/troubleshoot.md explain what to do.",
				[]query{{`sum by (alertname, severity, instance, service) (ALERTS{alertname=~"Uimgate.*", alertstate="firing"})`, ""}},
				0,
			},
			{
				rows, "What runs", "short", "The version and the configuration of each gateway. Gateways on one database must have the same.",
				[]query{
					{`sum by (instance, version, commit, go) (uimgate_build_info{instance})`, ""},
					{`sum by (instance, hash) (uimgate_config_info{instance})`, ""},
				},
				0,
			},
		}},
	},
}

var moneyBoard = board{
	uid: "uimgate-money", title: "uimgate: agreements and money",
	description: "Agreements, refused agents, charges, and records of them.",
	rows: []row{
		{"Agreements and agents", []panel{
			{
				stacked, "Issued tokens", "reqps", "agreement: an agent agreed to the policy. renewal: it exchanged its token before the end. A peak of agreements follows a changed policy.",
				[]query{{`sum by (how) (rate(uimgate_pat_issued_total{instance}[$__rate_interval]))`, "{{how}}"}},
				0,
			},
			{
				stacked, "Refused requests for tokens", "reqps", "By operation and reason. Many AGENT_ID_TAKEN indicate that somebody probes for ids.",
				[]query{{`sum by (operation, reason) (rate(uimgate_pat_refused_total{instance}[$__rate_interval]))`, "{{operation}} {{reason}}"}},
				0,
			},
			{
				graph, "Agents that wait for approval", "short", "They cannot call until you approve them: uimgate agents list --status waiting.",
				[]query{{`max by (service) (uimgate_agents_waiting{service})`, "{{service}}"}},
				0,
			},
		}},
		{"Charges", []panel{
			{
				stacked, "Charges by state", "reqps", "The state when the call ended. captured: paid. released: not charged, because the call failed. pending: not settled yet.",
				[]query{{`sum by (state) (rate(uimgate_charges_total{service}[$__rate_interval]))`, "{{state}}"}},
				0,
			},
			{
				graph, "Charges without an outcome", "short", "The gateway holds these charges until you resolve them. It should be 0.",
				[]query{{`max by (service) (uimgate_unresolved_charges{service})`, "{{service}}"}},
				0,
			},
			{
				stacked, "Payments", "short", "Payments in an hour, by the state that they reached. unknown and unclaimed need a decision: uimgate usage payments.",
				[]query{{`sum by (rail, state) (increase(uimgate_payments_total{instance}[1h]))`, "{{rail}} {{state}}"}},
				0,
			},
			{
				graph, "Refused for receipts and payments", "reqps", "receipts: the gateway has no key to sign them, or a ledger was altered. facilitator: it does not respond, and nothing was paid.",
				[]query{{`sum by (cause) (rate(uimgate_shed_total{instance, cause=~"facilitator|receipts"}[$__rate_interval])) > 0`, "{{cause}}"}},
				0,
			},
			{
				graph, "Shared credit used up", "short", "Calls in an hour that were refused because unapproved agents together had used up their credit.",
				[]query{{`sum by (service) (increase(uimgate_newcomers_exhausted_total{service}[1h]))`, "{{service}}"}},
				0,
			},
			{
				graph, "Lines that are not in the log", "short", "Lines of the ledger that the log of their service lacks. It falls to 0 within seconds.",
				[]query{{`max(uimgate_log_lag_lines{instance})`, "lines"}},
				0,
			},
			{
				graph, "Late outcomes", "short", "Calls whose outcome could not be stored at once, each hour. stored: it was stored later. given_up: the charge is unresolved.",
				[]query{
					{`sum(increase(uimgate_unsettled_total{instance}[1h]))`, "late"},
					{`sum by (became) (increase(uimgate_late_ends_total{instance}[1h]))`, "{{became}}"},
				},
				0,
			},
		}},
		{"Records", []panel{
			{
				graph, "Failed writes of the audit stream", "short", "Failed writes in five minutes. The gateway tries again each second. It should be 0.",
				[]query{{`sum by (instance) (increase(uimgate_audit_write_failures_total{instance}[5m]))`, "{{instance}}"}},
				0,
			},
			{
				graph, "Lost audit records", "short", "Records that the gateway dropped in an hour, because more than 4 MiB waited.",
				[]query{{`sum by (instance) (increase(uimgate_audit_records_lost_total{instance}[1h]))`, "{{instance}}"}},
				0,
			},
			{
				graph, "Answers that cannot be repeated", "short", "Answers in an hour that an idempotency key does not return again: over 1 MiB, or beyond what the gateway keeps.",
				[]query{{`sum by (instance) (increase(uimgate_answers_not_kept_total{instance}[1h]))`, "{{instance}}"}},
				0,
			},
		}},
		{"Evidence", []panel{
			{
				graph, "Lag of the log", "s", "Waiting time of the oldest line of the ledger that is in no log yet. It should stay below 10 seconds, which agents expect.",
				[]query{{`max(uimgate_log_lag_seconds{instance})`, "lag"}},
				0,
			},
			{
				graph, "Size of the log", "short", "Entries in the log of each service. It never falls, except after a restore, which begins another log.",
				[]query{{`max by (service) (uimgate_log_size{service})`, "{{service}}"}},
				0,
			},
			{
				graph, "Charges without a receipt", "short", "Charged calls in an hour that got no receipt, because the gateway could not sign one. It should be 0. Agents can fetch the receipts later.",
				[]query{{`sum by (instance) (increase(uimgate_receipts_missing_total{instance}[1h]))`, "{{instance}}"}},
				0,
			},
			{
				graph, "Age of the last cosignature", "s", "Time since a witness last signed a checkpoint of the log of each service. Without new charges it rises. It is empty without witnesses.",
				[]query{{`time() - max by (service) (uimgate_log_cosigned_timestamp_seconds{service})`, "{{service}}"}},
				0,
			},
		}},
	},
}
