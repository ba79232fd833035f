package observability_test

var upstreamBoard = board{
	uid: "uimgate-upstream", title: "uimgate: upstream and store",
	description: "What the gateway depends on: your API and the database.",
	rows: []row{
		{"Your API", []panel{
			{
				stacked, "Calls to the API by outcome", "reqps", "done: a complete 2xx answer. failed: another answer. not_sent: no connection. unknown: the call broke off.",
				[]query{{`sum by (outcome) (rate(uimgate_upstream_outcomes_total{service}[$__rate_interval]))`, "{{outcome}}"}},
				0,
			},
			{
				stacked, "Failed calls by intent and reason", "reqps", "Calls that failed because of the API, or that a breaker stopped.",
				[]query{{`topk(10, sum by (intent, reason) (rate(uimgate_decisions_total{service, ` + upstreamFaults + `}[$__rate_interval])))`, "{{intent}} {{reason}}"}},
				0,
			},
			{
				graph, "Time of the API", "s", "The time of a call to the API, with all attempts. It cannot exceed upstream.timeout.",
				quantiles(`uimgate_upstream_request_duration_seconds_bucket{service}`, ", service"), 0,
			},
			{
				graph, "Calls at the API now", "short", "under_way is bounded by upstream.concurrency. Calls that are waiting have reached that bound, and wait for up to two seconds.",
				[]query{{`sum by (service, state) (uimgate_upstream_calls{service})`, "{{service}} {{state}}"}},
				0,
			},
			{
				graph, "Intents with a breaker", "short", "open: the gateway refuses all calls to the intent. half-open: it lets one call through as a trial.",
				[]query{{`sum by (service, state) (uimgate_upstream_breakers{service})`, "{{service}} {{state}}"}},
				0,
			},
			{
				graph, "Answers that do not fit", "short", "Answers in an hour that lack outputs, have members that the intent does not declare, or repeat a credential.",
				[]query{
					{`sum by (intent) (increase(uimgate_missing_outputs_total{service}[1h]))`, "{{intent}} lacks outputs"},
					{`sum by (intent) (increase(uimgate_undeclared_members_total{service}[1h]))`, "{{intent}} has undeclared members"},
					{`sum by (intent) (increase(uimgate_concealed_answers_total{service}[1h]))`, "{{intent}} repeats a credential"},
				},
				0,
			},
		}},
		{"MCP servers as upstream", []panel{
			{
				graph, "Tools that do not match", "short", "misfits: intents whose tool is missing or has changed. unlisted: the server does not list its tools (1). Both should be 0.",
				[]query{
					{`sum by (service) (uimgate_upstream_tool_misfits{service})`, "{{service}} misfits"},
					{`sum by (service) (uimgate_upstream_tools_unlisted{service})`, "{{service}} unlisted"},
				},
				0,
			},
			{
				graph, "Restarts of MCP servers", "short", "How often the gateway started the process of a server again, in an hour. Calls during the pause before a start fail.",
				[]query{{`sum by (service) (increase(uimgate_upstream_restarts_total{service}[1h]))`, "{{service}}"}},
				0,
			},
		}},
		{"Store", []panel{
			{
				graph, "Time of the store", "s", "begin: takes limits and charges before a call. settle: stores its end. lease: takes units of limits in advance.",
				quantiles(`uimgate_store_duration_seconds_bucket{instance}`, ", operation"), 0,
			},
			{
				stacked, "Operations of the store", "ops", "Free calls under leased limits do not need the store.",
				[]query{{`sum by (operation) (rate(uimgate_store_duration_seconds_count{instance}[$__rate_interval]))`, "{{operation}}"}},
				0,
			},
			{
				graph, "Refused for the store", "reqps", "store: it did not respond in time. store_queue: too many writes wait. revocations: the list of revocations is too old.",
				[]query{{`sum by (cause) (rate(uimgate_shed_total{instance, cause=~"revocations|store|store_queue"}[$__rate_interval]))`, "{{cause}}"}},
				0,
			},
			{
				graph, "Clock steps and lost commits", "short", "In an hour. Both should be 0: the first holds limits back, the second ends every token.",
				[]query{
					{`sum by (direction) (increase(uimgate_clock_steps_total{instance}[1h]))`, "clock set {{direction}}"},
					{`sum(increase(uimgate_lost_commits_total{instance}[1h]))`, "lost commits"},
				},
				0,
			},
		}},
	},
}

var processBoard = board{
	uid: "uimgate-process", title: "uimgate: doors and process",
	description: "How agents arrive, and what the process uses.",
	rows: []row{
		{"Doors", []panel{
			{
				stacked, "Calls by door", "reqps", "The protocol by which agents call: http is UIM itself.",
				[]query{{`sum by (door) (rate(uimgate_decisions_total{service}[$__rate_interval]))`, "{{door}}"}},
				0,
			},
			{
				graph, "Failed calls by door", "percentunit", "Share of the calls of each door that the gateway refused or that failed.",
				[]query{{`sum by (door) (rate(uimgate_decisions_total{service, reason!=""}[$__rate_interval])) / sum by (door) (rate(uimgate_decisions_total{service}[$__rate_interval]))`, "{{door}}"}},
				0,
			},
			{
				graph, "Answers sent later", "reqps", "Answers that doors such as uAgents send after the request, by outcome. All but delivered did not arrive.",
				[]query{{`sum by (door, became) (rate(uimgate_answers_delivered_total{instance}[$__rate_interval]))`, "{{door}} {{became}}"}},
				0,
			},
			{
				stacked, "Requests by route", "reqps", "The ten most frequent routes of all listeners.",
				[]query{{`topk(10, sum by (route) (rate(uimgate_http_requests_total{instance}[$__rate_interval])))`, "{{route}}"}},
				0,
			},
			{
				stacked, "Requests by status", "reqps", "5xx come from the gateway or from your API, 4xx from agents.",
				[]query{{`sum by (code) (rate(uimgate_http_requests_total{instance}[$__rate_interval]))`, "{{code}}"}},
				0,
			},
			{
				graph, "Callers that send too much", "reqps", "Requests refused by a bound on one caller or address. admin_tokens: somebody tries tokens at the admin listener.",
				[]query{{`sum by (cause) (rate(uimgate_shed_total{instance, cause=~"admin_tokens|agent_ids|agreements_address|almanac_address|connections_address|failing|requests_address"}[$__rate_interval])) > 0`, "{{cause}}"}},
				0,
			},
		}},
		{"Process", []panel{
			{
				graph, "CPU", "short", "CPUs that the process uses.",
				[]query{{`rate(process_cpu_seconds_total{instance}[$__rate_interval])`, "{{instance}}"}},
				0,
			},
			{
				graph, "Memory", "bytes", "The memory of the process, and the part of it that the Go heap uses. The heap falls after each collection.",
				[]query{
					{`process_resident_memory_bytes{instance}`, "{{instance}} process"},
					{`go_memstats_heap_alloc_bytes{instance}`, "{{instance}} heap"},
				},
				0,
			},
			{
				graph, "Goroutines and files", "short", "Both grow with connections. Growth without more connections is a leak: report it.",
				[]query{{`go_goroutines{instance}`, "{{instance}} goroutines"}, {`process_open_fds{instance}`, "{{instance}} files"}},
				0,
			},
			{
				graph, "Days until the certificate expires", "d", "Empty without TLS. The gateway serves a renewed certificate at once.",
				[]query{{`(uimgate_certificate_expires_timestamp_seconds{instance} - time()) / 86400`, "{{instance}}"}},
				0,
			},
			{
				graph, "Configuration", "short", "refused: the gateway refused its last configuration (1), and serves the one before. restart: settings that wait for a restart.",
				[]query{
					{`1 - uimgate_config_last_reload_successful{instance}`, "{{instance}} refused"},
					{`uimgate_config_settings_need_restart{instance}`, "{{instance}} restart"},
				},
				0,
			},
			{
				graph, "Lost telemetry", "short", "Spans and log entries that the collector did not accept, in five minutes. It should be 0.",
				[]query{{`sum by (signal) (increase(uimgate_telemetry_lost_total{instance}[5m]))`, "{{signal}}"}},
				0,
			},
		}},
		{"Operation", []panel{
			{
				graph, "Stops", "short", "What the operator has stopped: services, intents, agents, doors or charging. uimgate stop list shows them.",
				[]query{{`max by (kind) (uimgate_stops{instance})`, "{{kind}}"}},
				0,
			},
			{
				graph, "Age of the configuration", "s", "The time since the gateway last loaded its configuration.",
				[]query{{`time() - uimgate_config_last_reload_success_timestamp_seconds{instance}`, "{{instance}}"}},
				0,
			},
			{
				graph, "Decisions by engine", "ops", "plan: compiled terms, a few microseconds. opa: the general engine, about a hundred times slower. The policy determines which one.",
				[]query{{`sum by (engine) (rate(uimgate_policy_evaluations_total{instance}[$__rate_interval]))`, "{{engine}}"}},
				0,
			},
			{
				graph, "Notices", "short", "Attempts in an hour to post notices to your webhooks. The gateway repeats those that failed.",
				[]query{{`sum by (event, result) (increase(uimgate_notices_total{instance}[1h]))`, "{{event}} {{result}}"}},
				0,
			},
			{
				graph, "Export of the audit stream", "short", "Audit records that the collector accepted, and attempts that failed, in an hour.",
				[]query{{`sum by (result) (increase(uimgate_audit_exported_total{instance}[1h]))`, "{{result}}"}},
				0,
			},
			{
				graph, "Lag of the audit export", "s", "The age of the oldest record that the collector has not accepted. Records that a rotation removes are lost.",
				[]query{{`uimgate_audit_export_lag_seconds{instance}`, "{{instance}}"}},
				0,
			},
			{
				graph, "Orders of certificates", "short", "Orders from the CA in a day. The gateway repeats an order that failed, after a pause.",
				[]query{{`sum by (result) (increase(uimgate_certificate_orders_total{instance}[1d]))`, "{{result}}"}},
				0,
			},
			{
				graph, "Requests that why cannot find", "short", "Requests in an hour that are not in the index, because it was full or the store did not respond.",
				[]query{{`sum(increase(uimgate_index_skipped_total{instance}[1h]))`, "skipped"}},
				0,
			},
		}},
	},
}
