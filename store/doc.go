// Package store defines the records that outlive a request: executions, charges, limits, nonces and leases. Package pat defines the records
// of agreements and tokens; an engine stores both. The package has no interfaces, because each caller declares the methods that it needs
// from an engine.
//
// # Promises
//
// Every engine keeps these promises, even if its process is killed at any moment:
//
//   - Begin takes the nonce, the idempotency key, the units of every limit, and the charge: either all of them or none.
//   - The result of Begin is durable before Begin returns, and so is that of Settle.
//   - An execution moves from held to captured, released or unresolved, and from unresolved to captured or released. Each
//     move depends on the previous state, so exactly one of two concurrent settlements succeeds.
//   - No window of a limit ever contains more units than its Max, whatever clocks do, and however many processes share the
//     state.
//   - Each account always equals the sum of its ledger entries, and the amount that is held always equals the sum over the
//     held and unresolved executions.
//   - If the engine cannot determine whether a change was made, the error wraps ErrUnavailable, and the caller must deny the call.
//
// # Engines
//
//   - store/sqlstore uses SQLite for one process, or PostgreSQL for any number of processes. It writes every unit, nonce and charge that a
//     call takes to the database.
//   - store/lease runs in front of sqlstore in each process. It takes units of limits in advance, so that a call that only counts towards
//     limits is admitted from memory. Units that are leased when a process crashes stay counted as used.
//
// The suite in internal/test/store tries to break each promise on every engine.
//
// # Units
//
// Times are in UTC and from the store's clock. Durations count from the start of the caller's request. Amounts of money are in billionths
// of a unit of their currency (internal/money). Limits count as internal/limit describes. Ids are compared byte by byte.
package store
