// Package store holds the records that outlive a request: executions, charges, limits, nonces and leases. The records
// of agreements and tokens belong to package pat; an engine keeps both kinds. There are no interfaces here: each caller
// of an engine declares the methods that it needs.
//
// # Promises
//
// Every engine keeps these, also when its process is killed at any moment:
//   - Begin takes the nonce, the idempotency key, one unit of every limit, and the charge: all of them, or none.
//   - What Begin took is durable before it returns, and so is what Settle wrote.
//   - An execution moves held → captured | released | unresolved and unresolved → captured | released. Each move
//     depends on the state before it, so that exactly one of two concurrent settlements succeeds.
//   - No window of a limit ever contains more units than its Max, whatever clocks do, and however many processes
//     share the state.
//   - The accounts are at all times the sums over the ledger, and what is held is the sum over the executions held
//     and unresolved.
//   - Where the engine cannot determine whether something was done, the error is ErrUnavailable, and the caller has
//     to deny.
//
// # Engines
//
//   - store/sqlstore is SQLite for one process, or PostgreSQL for any number of them. It records every call.
//   - store/lease is placed before it in each process and takes units of limits in advance, so that a call that is
//     only counted is admitted from memory. What a crash leaves of a lease stays counted as used.
//
// The suite in internal/test/store tries to break each promise on every engine.
//
// # Units
//
// Times are UTC and of the store's clock, durations are counted from the start of the caller's request, money is in
// billionths of a unit with its currency (internal/money), and a limit counts as internal/limit describes. Ids are
// compared byte by byte.
package store
