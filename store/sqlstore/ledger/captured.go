package ledger

// firstBelow selects the number of the first entry of a chain whose time is at or after a given time, and whose number is below end_k.
const firstBelow = `(SELECT l.k FROM ledger l WHERE l.service = b.service AND l.agent_id = b.agent_id AND l.at >= ?
	AND l.currency = b.currency AND l.k >= 0 AND l.k < b.end_k ORDER BY l.at, l.seq LIMIT 1)`

// SelectCaptured reads the captured charges of an agent in a period, grouped by currency, intent, rule and price. Its columns are these
// four and the number of calls. From each chain, it selects the part that a statement for the period covers if the statement is made just
// before the first entry whose time is at or after a given time. The arguments are the beginning and the end of the period, the given time,
// the service and the agent; then the service, the agent, the beginning and the end again.
const SelectCaptured = `SELECT l.currency, l.intent, l.rule, l.amount, CAST(COUNT(*) AS BIGINT) FROM
	(SELECT b.service, b.agent_id, b.currency, COALESCE(` + firstBelow + `, b.end_k) AS first_k,
		COALESCE(` + firstBelow + `, b.end_k) AS end_k FROM
		(SELECT a.service, a.agent_id, a.currency, COALESCE((SELECT MIN(l.k) FROM ledger l WHERE l.service = a.service AND l.agent_id = a.agent_id
			AND l.currency = a.currency AND l.k >= 0 AND l.at >= ?), a.lines) AS end_k FROM accounts a WHERE a.service = ? AND a.agent_id = ?) b) p
	JOIN ledger l ON l.service = p.service AND l.agent_id = p.agent_id AND l.currency = p.currency AND l.k >= p.first_k AND l.k < p.end_k
		AND l.k >= 0 WHERE l.to_state = 'captured' GROUP BY l.currency, l.intent, l.rule, l.amount
	UNION ALL SELECT currency, intent, rule, amount, CAST(COUNT(*) AS BIGINT) FROM ledger
		WHERE service = ? AND agent_id = ? AND k < 0 AND at >= ? AND at < ? AND to_state = 'captured' GROUP BY currency, intent, rule, amount`
